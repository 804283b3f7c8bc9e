#!/usr/bin/env bash
# Every C++ file as clang-format would write it, every TypeScript file as prettier would, and the latter well typed.
set -euo pipefail
cd "$(dirname "$0")/../.."
git ls-files '*.cpp' '*.h' '*.cu' | xargs clang-format --dry-run --Werror
cd wasm
npx --no-install prettier --check --log-level warn .
npx --no-install tsc
cd ../web  # what it says of types needs the package, and is asked where that is built
npx --no-install prettier --check --log-level warn .
