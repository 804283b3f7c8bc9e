#!/usr/bin/env bash
# test.sh [FOLDER]: as root, installs the Debian packages in FOLDER (default build/packages) in an empty Debian 12, and computes
# the same table of digits there with the program, and from C, C++ and Python. Needs mmdebstrap.
set -euo pipefail
cd "$(dirname "$0")/.."
packages=$(realpath "${1:-build/packages}")
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

cat /etc/apt/sources.list /etc/apt/sources.list.d/*.sources 2>/dev/null >"$root.sources" || true
mmdebstrap --quiet --variant=apt bookworm "$root" "$root.sources"
rm "$root.sources"
cp /etc/apt/apt.conf.d/* "$root/etc/apt/apt.conf.d/" 2>/dev/null || true
mkdir "$root/work"
cp "$packages"/*.deb demos/digits/* demos/c/digits.c demos/python/digits.py "$root/work"
cp -r tests/consumer demos "$root/work"

chroot "$root" /bin/bash -euo pipefail -s <<'END'
cd /work
export DEBIAN_FRONTEND=noninteractive LC_ALL=C
apt-get update -qq
apt-get install -y -qq ./probust_*.deb >/dev/null
digits="digits.onnx points.npz"
probust estimate $digits --sigma 0.1,0.2,0.4 --estimator auto,taylor,mc:10000 --limit 20 --format csv --quiet |
  awk -F, 'NR > 1 { printf "%d %d %.4f\n", $1, $3, $8 }' >program.txt
[ "$(wc -l <program.txt)" -eq 180 ]
echo "the program: 180 rows, $(probust version | sed -n 's/^ *build *//p')"

apt-get install -y -qq ./libprobust-dev_*.deb g++ cmake make pkg-config >/dev/null
cc digits.c $(pkg-config --cflags --libs probust) -o from_c
cmake -S consumer -B build -DSOURCES=OFF -DPROBUST=/work >/dev/null
cmake --build build >/dev/null
for program in ./from_c build/consumer_in_c; do
  $program $digits | awk 'NR > 1 { printf "%d %d %.4f\n", $1, $3, $6 }' | cmp - program.txt
  echo "$program: the same table"
done
build/digits $digits | awk 'NR > 1 { print $1, $2, $5 }' | cmp - program.txt
echo "build/digits: the same table"
apt-get install -y -qq ./python3-probust_*.deb >/dev/null
python3 digits.py $digits | awk 'NR > 1 { printf "%d %d %.4f\n", $1, $3, $6 }' | cmp - program.txt
echo "from Python: the same table"
END
