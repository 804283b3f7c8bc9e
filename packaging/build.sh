#!/usr/bin/env bash
# build.sh [FOLDER]: creates Debian packages and a tarball in FOLDER (default build/packages) that run on any processor of this
# architecture. The program and the C library are compiled for each instruction set below; the loader of glibc 2.33 and later
# chooses the best one. CMAKE_ARGUMENTS are passed on, such as -DPROBUST_CUDA=ON.
set -euo pipefail
cd "$(dirname "$0")/.."
packages=$(realpath -m "${1:-build/packages}")

case $(uname -m) in
  x86_64) variants=(x86-64 x86-64-v3 x86-64-v4) ;;
  *) variants=("") ;;
esac

projects=
for variant in "${variants[@]}"; do
  folder=build/package/${variant:-own}
  # shellcheck disable=SC2086  # CMAKE_ARGUMENTS must be split into words
  cmake -S . -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_UNITY_BUILD=ON -DCMAKE_INSTALL_PREFIX=/usr -DPROBUST_TESTS=OFF \
    -DPROBUST_DISPATCH=ON -DPROBUST_ARCH="$variant" ${CMAKE_ARGUMENTS:-} >/dev/null
  targets=(all)
  if [ "$variant" != "${variants[0]}" ]; then
    targets=(probust_program_library probust_c)
    ! cmake --build "$folder" --target help | grep -q '^probust_python:' || targets+=(probust_python)
  fi
  cmake --build "$folder" --target "${targets[@]}"
  projects+="$PWD/$folder;probust;ALL;/;"
done
cpack --config "build/package/${variants[0]:-own}/CPackConfig.cmake" -B "$packages" -D CPACK_INSTALL_CMAKE_PROJECTS="${projects%;}"
rm -rf "$packages/_CPack_Packages"
