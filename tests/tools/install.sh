#!/usr/bin/env bash
# Installs missing Debian 12 packages. Usage: install.sh build|test. "build" installs what is needed to build the command line;
# "test" also installs Emscripten, linters, MPI, and the reference implementations with which tests compare results.
set -euo pipefail

build=(g++ cmake ninja-build ccache libeigen3-dev libprotozero-dev libfmt-dev libcli11-dev nlohmann-json3-dev zlib1g-dev libsqlite3-dev libstb-dev libpng-dev)
tests=(libgtest-dev libbenchmark-dev emscripten nodejs npm chromium clang libclang-rt-dev clang-format clang-tidy python3 python3-numpy python3-pil libopenmpi-dev openmpi-bin pkg-config curl pybind11-dev python3-dev python3-pytest)

wanted=("${build[@]}")
[ "${1:-build}" = test ] && wanted+=("${tests[@]}")

installed() {
  # Any other installation of node and npm is as good as Debian's.
  [ "$1" = nodejs ] && command -v node >/dev/null && return 0
  [ "$1" = npm ] && command -v npm >/dev/null && return 0
  dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q 'ok installed'
}

missing=()
for package in "${wanted[@]}"; do
  installed "$package" || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
command -v apt-get >/dev/null || { echo "install.sh: these are missing: ${missing[*]}; install them with your package manager" >&2; exit 1; }
echo "installing ${missing[*]}"
# Waits up to ten minutes for other processes that install packages. apt itself waits for dpkg's lock, but not for the lock of
# the package lists.
apt() { "${as_root[@]}" env LC_ALL=C DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 -qq "$@"; }
until told=$(apt update 2>&1); do
  [[ $told == *"Could not get lock"* ]] && [ "$SECONDS" -lt 600 ] || { echo "$told" >&2; exit 1; }
  echo "waiting for another installation"
  sleep 10
done
apt install -y --no-install-recommends "${missing[@]}" >/dev/null
