#!/usr/bin/env bash
# Runs everything that needs an NVIDIA GPU, in the folder that tests/gpu/pack.sh creates: tests on the device, compute-sanitizer
# if it is installed, the command line and the benchmark. It needs only CUDA's libraries. Each step has a time limit in seconds;
# together, the limits are under nine minutes. The last line is "N passed, N failed".
set -uo pipefail
cd "$(dirname "$0")"
passed=0 failed=0

# step SECONDS NAME COMMAND...: runs one step and shows its output.
step() {
  local limit=$1
  echo "== $2"
  shift 2
  if timeout "$limit" "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED: $*"; fi
}

# CUDA's libraries may be in a toolkit's folder or in Python packages. If /proc is not mounted, the loader does not find the
# folder lib by itself.
for folder in /usr/local/cuda/lib64 /usr/local/cuda/targets/*/lib $(python3 -c 'import glob, site
for root in site.getsitepackages(): print(*glob.glob(root + "/nvidia/*/lib"))' 2>/dev/null) "$PWD/lib"; do
  LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folder
done
export LD_LIBRARY_PATH PROBUST_SHARED=$PWD/shared

version=$(bin/probust version) || { echo "the programs do not start"; echo "0 passed, 1 failed"; exit 1; }
echo "$version"
grep -q 'cuda:0' <<<"$version" || { echo "there is no CUDA device; the line 'cuda' above says why"; echo "0 passed, 1 failed"; exit 1; }
step 120 "tests on the device" bin/probust-gpu-tests --gtest_brief=1
if command -v compute-sanitizer >/dev/null; then
  # Kernels of CUDA's libraries are not checked, because that takes too long. initcheck then does not see what they write, so it
  # runs only tests that do not use them. probust's kernels do not share memory between threads, so racecheck is not needed.
  step 75 "compute-sanitizer memcheck" compute-sanitizer --tool memcheck --kernel-regex kns=probust --error-exitcode 1 \
    bin/probust-gpu-tests --gtest_brief=1 --gtest_filter='CudaDevice.*:CudaNoise.*:CudaNormal.*:CudaExecutor.CallsAgreeForEveryNoise'
  step 75 "compute-sanitizer initcheck" compute-sanitizer --tool initcheck --kernel-regex kns=probust --error-exitcode 1 \
    bin/probust-gpu-tests --gtest_brief=1 --gtest_filter='CudaNoise.*'
else
  echo "== compute-sanitizer is not here: skipped"
fi
step 30 "the command line" bin/probust estimate demo/digits.onnx demo/points.npz --sigma 0.2 --estimator taylor,mc:10000,auto --limit 5 --device cuda --format table
for precision in bf16 tf32 float32; do step 70 "benchmark, $precision" bin/probust-cuda-bench --precision "$precision"; done
echo
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
