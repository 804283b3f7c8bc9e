#!/usr/bin/env bash
# Runs the tests: installs missing packages, checks formatting, builds the native programs, the npm package and the explorer,
# and tests all of them, also in node and Chromium. The last line is "N passed, N failed" (or "..., N skipped"). With --quick,
# only checks formatting, builds natively and tests the core. With --full, it also runs sanitizers, lint, slow tests and those
# of PROBUST_FULL_TESTS (tests/, wasm/ and web/CMakeLists.txt).
set -uo pipefail
cd "$(dirname "$0")/.."
case "$*" in
  "" | --quick | --full) ;;
  *) echo "usage: tests/run.sh [--quick|--full]" >&2 && exit 2 ;;
esac
extent=${1:-}
full=OFF left_out=slow
[ "$extent" != --full ] || full=ON left_out=none

tests/tools/install.sh test || exit 1
export NODE_PATH=${NODE_PATH:-/usr/share/nodejs}
passed=0 failed=0 skipped=0
failures=()

# count NAME STATUS LOG: counts one step as passed if STATUS, its exit status, is 0.
count() {
  if [ "$2" -eq 0 ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    failures+=("$1")
    tail -n 60 "$3"
  fi
}

# check NAME COMMAND...: runs one step.
check() {
  local name=$1
  shift
  echo "== $name, from second $SECONDS"
  "$@" >build/check.log 2>&1
  count "$name" $? build/check.log
}

# await NAME: waits for a step of build_all.sh.
await() {
  local status="build/steps/$1.status"
  while [ ! -e "$status" ] && kill -0 "$builds" 2>/dev/null; do sleep 0.5; done
  echo "== $1, ended by second $SECONDS"
  count "$1" "$(cat "$status" || echo 1)" "build/steps/$1.log"
}

# run_tests PRESET [CTEST OPTIONS]: runs ctest and adds up its counts.
run_tests() {
  local preset=$1
  shift
  echo "== tests, $preset, from second $SECONDS"
  ctest --preset "$preset" -j2 "$@" >build/ctest.log 2>&1
  # ctest counts skipped tests as passed, so the counts come from each test's own line.
  local ok bad idle
  ok=$(grep -cE '^ *[0-9]+/[0-9]+ Test .* Passed ' build/ctest.log)
  idle=$(grep -cE '^ *[0-9]+/[0-9]+ Test .*\*\*\*Skipped' build/ctest.log)
  bad=$(grep -cE '^ *[0-9]+/[0-9]+ Test .*\*\*\*(Failed|Exception|Timeout|Not Run)' build/ctest.log)
  passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + idle))
  echo "   $ok passed, $bad failed, $idle skipped"
  sed -nE 's/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: ([^ ]+) .*\*\*\*Skipped.*/   skipped for want of data or programs: \1/p' build/ctest.log
  if [ "$bad" -gt 0 ] || [ $((ok + idle)) -eq 0 ]; then
    [ "$bad" -gt 0 ] || failed=$((failed + 1))
    failures+=("tests, $preset")
    grep -vE ' Passed | Start ' build/ctest.log | tail -n 150
  fi
}

finish() {
  for failure in "${failures[@]:-}"; do [ -z "$failure" ] || echo "FAILED: $failure"; done
  echo
  if [ "$skipped" -gt 0 ]; then
    echo "$passed passed, $failed failed, $skipped skipped"
  else
    echo "$passed passed, $failed failed"
  fi
  [ "$failed" -eq 0 ]
  exit
}

rm -rf build/steps
mkdir -p build/steps
setsid tests/tools/build_all.sh $full $extent &
builds=$!
trap 'kill -- -$builds 2>/dev/null' EXIT
# Not "npm ci", which would remove the installed packages first.
folders="wasm web"
[ $full = OFF ] || folders+=" docs"
for folder in $folders; do check "npm packages of $folder" npm --prefix $folder install --no-save; done
touch build/steps/packages
check "formatting" tests/tools/check_format.sh
await "build, release"
if [ "$extent" = --quick ]; then
  run_tests release -L core -LE $left_out
  finish
fi
run_tests release -LE $left_out
await "build, wasm"
run_tests wasm -LE $left_out
if [ $full = ON ]; then
  await "build, asan"
  run_tests asan -LE slow
  await "lint"
fi
finish
