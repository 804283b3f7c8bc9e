#!/usr/bin/env bash
# Runs clang-tidy with the checks of .clang-tidy on the sources of the release build.
set -euo pipefail
cd "$(dirname "$0")/../.."
# One file at a time, and without tests, which compile some sources again.
cmake --preset release -B build/lint -DPROBUST_TESTS=OFF -DCMAKE_UNITY_BUILD=OFF >/dev/null
# Ignores GCC flags unknown to clang, and disables vector intrinsics, which only slow the analysis down.
git ls-files 'core/*.cpp' 'native/*.cpp' |
  xargs -P "$(nproc)" -n 4 clang-tidy --quiet -p build/lint --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-ignored-optimization-argument \
    --extra-arg=-march=x86-64 --extra-arg=-DEIGEN_DONT_VECTORIZE 2> >(grep -v 'warnings\? generated' >&2)
