#!/usr/bin/env bash
# Builds the npm package, after installing what the build needs. Does nothing if PROBUST_PACKAGE is set to a package that is
# already staged.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -z "${PROBUST_PACKAGE:-}" ] || exit 0

tests/tools/install.sh test # includes Emscripten
npm --prefix wasm install --no-save
cmake --preset wasm
cmake --build --preset wasm --target probust-npm
