#!/usr/bin/env bash
# Checks that C++ files are formatted by clang-format and TypeScript files by prettier, and that TypeScript type-checks.
set -euo pipefail
cd "$(dirname "$0")/../.."
git ls-files '*.cpp' '*.h' '*.cu' | xargs clang-format --dry-run --Werror
cd wasm
npx --no-install prettier --check --log-level warn .
npx --no-install tsc
cd ../web  # its types need the npm package, so the test explorer-types checks them
npx --no-install prettier --check --log-level warn .
