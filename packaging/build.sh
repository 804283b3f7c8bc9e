#!/usr/bin/env bash
# build.sh [FOLDER]: makes Debian packages and a tarball in FOLDER (default build/packages) that run on any processor of this kind.
# The program and the C library are compiled for each instruction set below; the loader of glibc 2.33 and later takes the best one.
# CMAKE_ARGUMENTS are passed on, such as -DPROBUST_CUDA=ON.
set -euo pipefail
cd "$(dirname "$0")/.."
packages=$(realpath -m "${1:-build/packages}")

case $(uname -m) in
  x86_64) variants=(x86-64 x86-64-v3 x86-64-v4) ;;
  *) variants=("") ;;
esac

# entries FOLDER COMPONENT...: what CPack installs from a build.
entries() {
  for component in "${@:2}"; do printf '%s;probust;%s;/;' "$PWD/$1" "$component"; done
}

projects=
for variant in "${variants[@]}"; do
  folder=build/package/${variant:-own}
  # shellcheck disable=SC2086  # arguments are words
  cmake -S . -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_UNITY_BUILD=ON -DCMAKE_INSTALL_PREFIX=/usr -DPROBUST_TESTS=OFF \
    -DPROBUST_DISPATCH=ON -DPROBUST_ARCH="$variant" -DPROBUST_CUDA=OFF ${CMAKE_ARGUMENTS:-} >/dev/null
  if [ "$variant" = "${variants[0]}" ]; then
    cmake --build "$folder"
    components=$(sed -n 's/^set(CPACK_COMPONENTS_ALL "\(.*\)")/\1/p' "$folder/CPackConfig.cmake")
    # shellcheck disable=SC2086
    projects+=$(entries "$folder" ${components//;/ })
  else
    targets=(probust_house probust_c) further=(program_library library)
    case $components in *python*) targets+=(probust_python) further+=(python_library) ;; esac
    cmake --build "$folder" --target "${targets[@]}"
    projects+=$(entries "$folder" "${further[@]}")
  fi
done
cpack --config "build/package/${variants[0]:-own}/CPackConfig.cmake" -B "$packages" -D CPACK_INSTALL_CMAKE_PROJECTS="${projects%;}"
rm -rf "$packages/_CPack_Packages"
