#!/usr/bin/env bash
# Runs clang-tidy with the checks of .clang-tidy on all sources of core/ and native/. The files of a folder are checked
# together, as unity builds compile them. Otherwise, clang-tidy would parse Eigen again for each file, which takes almost all of
# the time.
set -euo pipefail
cd "$(dirname "$0")/../.."
cmake --preset release -B build/lint -DPROBUST_TESTS=OFF -DPROBUST_WARNINGS=ON >/dev/null

# Each source belongs to a batch, or is checked alone because this build does not compile it.
mapfile -t batches < <(sed -nE 's/^ *"file": "(.*\/build\/lint\/(core|native)\/.*\.cxx)".*/\1/p' build/lint/compile_commands.json)
batched=$(sed -nE "s|^#include \"$PWD/(.*)\"|\1|p" "${batches[@]}" | sort)
mapfile -t alone < <(comm -13 <(echo "$batched") <(git ls-files 'core/*.cpp' 'native/*.cpp' | sort))

# Ignores GCC flags that clang does not know, and disables vector intrinsics, which only make the analysis slower.
printf '%s\n' "${batches[@]}" "${alone[@]}" |
  xargs -P "$(nproc)" -n 1 clang-tidy --quiet -p build/lint --extra-arg=-march=x86-64 \
    --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-ignored-optimization-argument --extra-arg=-Wno-unused-command-line-argument \
    --extra-arg=-DEIGEN_DONT_VECTORIZE 2> >(grep -v 'warnings\? generated' >&2)
