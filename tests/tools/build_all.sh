#!/usr/bin/env bash
# build_all.sh ON|OFF [--quick]: builds everything and, with ON (PROBUST_FULL_TESTS), checks lint, one step after another, for run.sh, which
# runs the tests of each build meanwhile. The output of step NAME is build/steps/NAME.log. When it ends, build/steps/NAME.status appears,
# with its exit status.
set -uo pipefail
cd "$(dirname "$0")/../.."
# Tests come first: some wait for a browser. Linux divides time between sessions before it looks at "nice".
renice -n 19 $$ >/dev/null
{ echo 19 >/proc/self/autogroup; } 2>/dev/null

full=$1
step() {
  local name=$1 status
  shift
  "$@" >"build/steps/$name.log" 2>&1
  status=$?
  echo "$status" >"build/steps/$name.part"
  mv "build/steps/$name.part" "build/steps/$name.status"
}

build() {
  cmake --preset "$1" -DPROBUST_FULL_TESTS=$full && cmake --build --preset "$1"
}

step "build, release" build release
[ "${2:-}" != --quick ] || exit 0
until [ -e build/steps/packages ]; do sleep 1; done  # npm's, which run.sh installs
step "build, wasm" build wasm
[ "$full" = ON ] || exit 0
# Tests in a browser leave the processors idle at times, which the longest build fills.
step "build, asan" build asan
step "lint" tests/tools/check_lint.sh
