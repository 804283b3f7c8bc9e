#!/usr/bin/env bash
# Packs what a machine with an NVIDIA GPU needs to test probust into the folder .gpu (at most 64 MiB, ignored by git): programs of
# the preset `cuda`, the libraries that they were linked with but for CUDA's and the C library, a demo, and the shared models with
# the first rows of their data. That machine needs no network, no compiler and no other package: copy the folder and start its
# run.sh. With --built, packs what is in build/cuda/bin.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=.gpu
programs="probust probust-gpu-tests probust-cuda-bench"
shared=${PROBUST_SHARED:-../shared}

if [ "${1:-}" != --built ]; then
  # Machine code for two kinds of cards keeps the folder small; other cards need their own, or take what the second compiles to.
  cmake --preset cuda -DPROBUST_CUDA_ARCHITECTURES="${PROBUST_CUDA_ARCHITECTURES:-80-real;90}"
  cmake --build --preset cuda --target probust_program probust_cuda_module probust-gpu-tests probust-cuda-bench
fi

rm -rf "$folder"
mkdir -p "$folder/bin" "$folder/lib" "$folder/demo"
for program in $programs probust_cuda.so; do strip -o "$folder/bin/$program" "build/cuda/bin/$program"; done
chmod +x "$folder/bin/"*
cp demos/digits/digits.onnx demos/digits/points.npz "$folder/demo"
cp tests/gpu/run.sh "$folder"
# What a bare machine lacks. CUDA's own libraries are large and belong to its driver.
for program in $programs; do ldd "$folder/bin/$program"; done |
  awk '$3 ~ /^\// && $1 !~ /^(libc|libm|libpthread|libdl|librt|libresolv|libutil|ld-linux.*|libcuda.*|libcublas.*|libcudnn.*|libnv.*)\.so/ { print $3 }' | sort -u | xargs -r -I{} cp -L {} "$folder/lib"
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
