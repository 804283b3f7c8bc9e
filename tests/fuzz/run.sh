#!/usr/bin/env bash
# Fuzzes import for SECONDS (600) of wall time on one core, starting from models made on the spot. Needs clang. Findings are left in
# build/fuzz/findings; a finding that is mended becomes a test in tests/onnx_reject_test.cpp.
set -euo pipefail
cd "$(dirname "$0")/../.."
cmake --preset fuzz >/dev/null
cmake --build --preset fuzz --target probust-import-fuzz probust-fuzz-corpus
mkdir -p build/fuzz/corpus build/fuzz/findings
build/fuzz/bin/probust-fuzz-corpus build/fuzz/seeds
build/fuzz/bin/probust-import-fuzz -max_total_time="${1:-600}" -max_len=8192 -timeout=20 -rss_limit_mb=3000 -malloc_limit_mb=1500 \
  -print_final_stats=1 -artifact_prefix=build/fuzz/findings/ build/fuzz/corpus build/fuzz/seeds
