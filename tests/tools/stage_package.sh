#!/usr/bin/env bash
# Builds the WebAssembly package, and installs what that needs. Does nothing if PROBUST_PACKAGE names a package that is staged
# already.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -z "${PROBUST_PACKAGE:-}" ] || exit 0

tests/tools/install.sh test # it holds Emscripten
npm --prefix wasm install --no-save
cmake --preset wasm
cmake --build --preset wasm --target probust-npm
