#!/usr/bin/env bash
# run_node_tests.sh PROGRAM FOLDER: unpacks ONNX's node tests from the shared test data into FOLDER and runs PROGRAM on them.
# If the shared test data are missing, the exit status is 77, which ctest counts as skipped.
set -euo pipefail
program=$1 folder=$2
archive=${PROBUST_SHARED:-$(dirname "$0")/../../../shared}/conformance/onnx-node-tests.tar.gz
if [ ! -f "$archive" ]; then
  echo "ONNX's node tests are not there: no '$archive'; set PROBUST_SHARED"
  exit 77
fi
rm -rf "$folder"
mkdir -p "$folder"
tar -xzf "$archive" -C "$folder"
"$program" "$folder"
