#!/usr/bin/env bash
# Packs everything that is needed to test probust on an NVIDIA GPU into the folder .gpu (at most 64 MiB, ignored by git): an
# installation of the preset `cuda-tests` with its test programs, the libraries with which they were linked except the C
# library, a demo, and the shared models with the first rows of their data. The system with the GPU needs CUDA's libraries, but
# no compiler and no other package: copy the folder there and start its run.sh. With --built, packs the existing build in
# build/cuda-tests.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ $# -eq 0 ] || [ "$*" = --built ] || { echo "usage: tests/gpu/pack.sh [--built]" >&2; exit 2; }
folder=.gpu
build=build/cuda-tests
shared=${PROBUST_SHARED:-../shared}

if [ "${1:-}" != --built ]; then
  # Machine code for two architectures keeps the folder small. For other GPUs, set PROBUST_CUDA_ARCHITECTURES; newer ones can
  # also use the PTX of the second architecture.
  cmake --preset cuda-tests -DPROBUST_CUDA_ARCHITECTURES="${PROBUST_CUDA_ARCHITECTURES:-80-real;90}"
  cmake --build --preset cuda-tests --target probust_program probust-gpu-tests probust-cuda-bench
fi

rm -rf "$folder"
mkdir -p "$folder/lib" "$folder/demo"
for component in program gpu_tests; do cmake --install "$build" --prefix "$folder" --strip --component "$component" >/dev/null; done
cp demos/digits/digits.onnx demos/digits/points.npz "$folder/demo"
cp tests/gpu/run.sh "$folder"
# Libraries that may not be installed on the other system. The programs look for them in lib.
for program in "$folder"/bin/*; do ldd "$program"; done |
  awk '$3 ~ /^\// && $1 !~ /^(libc|libm|libpthread|libdl|librt|libresolv|libutil|ld-linux.*)\.so/ { print $3 }' | sort -u | xargs -r -I{} cp -L {} "$folder/lib"
if [ -d "$shared/models" ]; then
  python3 tests/gpu/pack_models.py "$shared" "$folder/shared"
else
  echo "skipped: the shared models are not in $shared; set PROBUST_SHARED"
fi

kilobytes=$(du -sk "$folder" | cut -f1)
echo "$folder: $((kilobytes / 1024)) MiB"
if [ "$kilobytes" -gt $((64 * 1024)) ]; then
  echo "$folder is larger than 64 MiB" >&2
  exit 1
fi
