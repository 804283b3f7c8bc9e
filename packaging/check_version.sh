#!/usr/bin/env bash
# check_version.sh TAG: fails unless TAG is "v" followed by the project's version in CMakeLists.txt.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$(sed -nE 's/^project\(probust VERSION ([0-9.]+) .*/\1/p' CMakeLists.txt)
[ "$1" = "v$version" ] || { echo "check_version.sh: the tag is $1, but CMakeLists.txt says $version" >&2; exit 1; }
