#!/usr/bin/env bash
# run.sh [SECONDS [TARGET...]]: fuzzes each target (default: all) for SECONDS of wall time (default 3600), one after another,
# starting from generated files. Needs clang. Findings are written to build/fuzz/findings; the exit status is 1 if there are
# any. When a finding is fixed, add a test to the test suite.
set -uo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-3600}
shift || true
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(import npy npz csv idx cifar image run text)

cmake --preset fuzz >/dev/null && cmake --build --preset fuzz --target probust-fuzz-seeds "${targets[@]/#/probust-fuzz-}" || exit 1
rm -rf build/fuzz/seeds
build/fuzz/bin/probust-fuzz-seeds build/fuzz/seeds || exit 1
mkdir -p build/fuzz/findings
status=0
for target in "${targets[@]}"; do
  corpus=build/fuzz/corpus/$target log=build/fuzz/$target.log
  mkdir -p "$corpus"
  longest=8192
  [ "$target" != run ] || longest=65536  # pages of SQLite
  if build/fuzz/bin/probust-fuzz-"$target" -max_total_time="$seconds" -max_len=$longest -timeout=20 -rss_limit_mb=3000 -malloc_limit_mb=1500 \
    -print_final_stats=1 -artifact_prefix="build/fuzz/findings/$target-" "$corpus" "build/fuzz/seeds/$target" >"$log" 2>&1; then
    echo "$target: no finding; $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs, $(grep -oE 'cov: [0-9]+' "$log" | tail -n 1)"
  else
    echo "$target: FOUND: $(grep -E 'SUMMARY|ERROR' "$log" | head -n 1) ($log)"
    status=1
  fi
done
exit "$status"
