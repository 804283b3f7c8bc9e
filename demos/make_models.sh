#!/usr/bin/env bash
# Makes the project's trained networks again, and the demo's points: web/models/ and demos/digits/. With --check, compares with the
# files that are there. web/scripts/make-models.mjs has the recipes. PROBUST_PACKAGE names a package that is staged already.
set -euo pipefail
cd "$(dirname "$0")/.."

tests/tools/stage_package.sh
node web/scripts/make-models.mjs "$@"
