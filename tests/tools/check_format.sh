#!/usr/bin/env bash
# Every C++ file as clang-format would write it.
set -euo pipefail
cd "$(dirname "$0")/../.."
git ls-files '*.cpp' '*.h' '*.cu' | xargs clang-format --dry-run --Werror
