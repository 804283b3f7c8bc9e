#!/usr/bin/env bash
# Rebuilds the trained networks of the project and the demo's points: web/models/ and demos/digits/. With --check, compares them
# with the existing files. The recipes are in web/scripts/make-models.mjs. PROBUST_PACKAGE names a package that is already
# staged.
set -euo pipefail
cd "$(dirname "$0")/.."

tests/tools/stage_package.sh
node web/scripts/make-models.mjs "$@"
