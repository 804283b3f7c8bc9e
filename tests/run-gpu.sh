#!/usr/bin/env bash
# Everything that needs an NVIDIA GPU: builds the `cuda` preset, runs the CUDA tests on the device, then under compute-sanitizer,
# and the benchmark. Needs no network. With --built, uses the programs that are already in build/cuda/bin. Every step has its own
# time limit, in seconds; together they are under nine minutes. The last line is "N passed, N failed".
set -uo pipefail
cd "$(dirname "$0")/.."
passed=0 failed=0
bin=build/cuda/bin

# step SECONDS NAME COMMAND...: runs one step and shows its output.
step() {
  local limit=$1
  echo "== $2"
  shift 2
  if timeout "$limit" "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED: $*"; fi
}

if [ "${1:-}" != --built ]; then
  mkdir -p build
  timeout 30 cmake --preset cuda >build/gpu.log 2>&1 &&
    timeout 180 cmake --build --preset cuda --target probust_program probust_cuda_module probust-gpu-tests probust-cuda-bench >>build/gpu.log 2>&1 ||
    { tail -n 40 build/gpu.log; echo "0 passed, 1 failed"; exit 1; }
fi
# Other places for the libraries than where they were linked from: a toolkit's folder, or Python packages.
for folder in /usr/local/cuda/lib64 $(python3 -c 'import glob, site
for root in site.getsitepackages(): print(*glob.glob(root + "/nvidia/*/lib"))' 2>/dev/null); do
  LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folder
done
export LD_LIBRARY_PATH

$bin/probust version | grep -q 'cuda:0' || { $bin/probust version; echo "there is no CUDA device"; echo "0 passed, 1 failed"; exit 1; }
step 60 "tests on the device" $bin/probust-gpu-tests --gtest_brief=1
if command -v compute-sanitizer >/dev/null; then
  few='CudaProgram.*:CudaDevice.*:CudaNoise.*:CudaNormal.*:CudaExecutor.CallsAgreeForEveryNoise'
  step 60 "compute-sanitizer memcheck" compute-sanitizer --tool memcheck --error-exitcode 1 $bin/probust-gpu-tests --gtest_brief=1 --gtest_filter="$few"
  step 60 "compute-sanitizer initcheck" compute-sanitizer --tool initcheck --error-exitcode 1 $bin/probust-gpu-tests --gtest_brief=1 --gtest_filter="$few"
  step 40 "compute-sanitizer racecheck" compute-sanitizer --tool racecheck --error-exitcode 1 $bin/probust-gpu-tests --gtest_brief=1 --gtest_filter="$few"
else
  echo "== compute-sanitizer is not here: skipped"
fi
step 20 "the command line" $bin/probust estimate demos/digits/digits.onnx demos/digits/points.npz --sigma 0.2 --estimator taylor,mc:10000,auto --limit 5 --device cuda --format table
step 80 "benchmark" $bin/probust-cuda-bench
echo
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
