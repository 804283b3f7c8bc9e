#!/usr/bin/env bash
# build_all.sh ON|OFF [--quick]: builds everything for run.sh, which tests each build as soon as it is complete. With ON
# (PROBUST_FULL_TESTS), also checks lint. The output of step NAME is in build/steps/NAME.log. When the step ends, its exit
# status is written to build/steps/NAME.status.
set -uo pipefail
cd "$(dirname "$0")/../.."
# Builds have a lower priority than tests, some of which wait for a browser. Linux first divides time between autogroups, so the
# priority of this autogroup is set, too.
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
until [ -e build/steps/packages ]; do sleep 1; done  # run.sh installs the npm packages
step "build, wasm" build wasm
[ "$full" = ON ] || exit 0
# The longest build runs during the browser tests, which leave the CPU idle at times.
step "build, asan" build asan
step "lint" tests/tools/check_lint.sh
