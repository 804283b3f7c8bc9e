#!/usr/bin/env bash
# Usage: run.sh [SECONDS]. Fuzzes import on one core for SECONDS of wall time (default 600), starting from generated models. Needs
# clang. Findings are written to build/fuzz/findings; add a test to tests/onnx_reject_test.cpp for each one that is fixed.
set -euo pipefail
cd "$(dirname "$0")/../.."
cmake --preset fuzz >/dev/null
cmake --build --preset fuzz --target probust-import-fuzz probust-fuzz-corpus
mkdir -p build/fuzz/corpus build/fuzz/findings
build/fuzz/bin/probust-fuzz-corpus build/fuzz/seeds
build/fuzz/bin/probust-import-fuzz -max_total_time="${1:-600}" -max_len=8192 -timeout=20 -rss_limit_mb=3000 -malloc_limit_mb=1500 \
  -print_final_stats=1 -artifact_prefix=build/fuzz/findings/ build/fuzz/corpus build/fuzz/seeds
