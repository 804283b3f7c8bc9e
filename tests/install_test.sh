#!/usr/bin/env bash
# install_test.sh CMAKE BUILD FOLDER MODULE...: installs BUILD into an empty folder under FOLDER, moves it, and runs the
# installed program, which must find its modules (MODULE..., those that this build has). Builds programs in C and C++ with the
# installation, using find_package and pkg-config. Also checks that probust installs nothing if it is a subproject.
set -euo pipefail
cmake=$1 build=$2 folder=$3
shift 3
source=$(cd "$(dirname "$0")/.." && pwd)

fail() {
  echo "install_test.sh: $*" >&2
  exit 1
}

# refused STATUS TEXT COMMAND...: the command must end with STATUS and one line on stderr that contains TEXT.
refused() {
  local status=0
  "${@:3}" >out.txt 2>err.txt || status=$?
  [ "$status" -eq "$1" ] || fail "'${*:3}' ended with status $status instead of $1: $(cat err.txt)"
  [ "$(wc -l <err.txt)" -eq 1 ] || fail "'${*:3}' printed more than one line: $(cat err.txt)"
  grep -qF -- "$2" err.txt || fail "'${*:3}' did not say '$2': $(cat err.txt)"
}

rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
"$cmake" --install "$build" --prefix "$PWD/here" >install.txt
mv here there  # an installation can be moved
printf '%s\n' bin/probust bin/probust-reproduce share/doc/probust/LICENSE share/doc/probust/LICENSES-OF-COMPONENTS "${@/#/lib/probust/}" share/man/man1/probust.1 \
  share/bash-completion/completions/probust share/fish/vendor_completions.d/probust.fish share/zsh/site-functions/_probust \
  include/probust.h lib/libprobust-core.a lib/libprobust.so.X lib/pkgconfig/probust.pc \
  lib/cmake/probust/probust-{config,config-version,targets,targets-release}.cmake | sort >expected.txt
(cd there && find . \( -path ./include/probust -o -path './lib/python*' \) -prune -o -type f -printf '%P\n') | sed 's/\.so\.[0-9.]*$/.so.X/' | sort >installed.txt
diff expected.txt installed.txt || fail "these files are missing (<) or too many (>)"

there/bin/probust version >version.txt
(
  . there/share/bash-completion/completions/probust
  COMP_WORDS=(probust estimate --sig) COMP_CWORD=2
  _probust
  [ "${COMPREPLY[*]}" = --sigma ] || fail "--sig is completed as '${COMPREPLY[*]}'"
)
if nm -D --defined-only there/lib/libprobust.so | awk '{ print $3 }' | grep -v '^probust_' >exported.txt; then
  fail "the C library also exports $(head -n 3 exported.txt)"
fi
ln -s there/bin/probust linked
digits=("$source/demos/digits/digits.onnx" "$source/demos/digits/points.npz" --sigma 0.2 --estimator mc:100 --limit 1 --quiet)
./linked estimate "${digits[@]}" --format csv >rows.csv
[ "$(wc -l <rows.csv)" -eq 2 ] || fail "estimate printed $(wc -l <rows.csv) lines instead of a header and a row"

on_gpu=(./linked estimate "${digits[@]}" --device cuda)
if [ ! -e there/lib/probust/probust_cuda.so ]; then
  refused 5 "probust_cuda.so is not installed" "${on_gpu[@]}"
else
  if ! grep -q 'cuda:0' version.txt; then
    refused 5 "no CUDA device was found (" "${on_gpu[@]}"
  else
    "${on_gpu[@]}" >rows.csv
  fi
  # Without the module, the command must fail, which shows that the estimate above used it. A module in the working directory
  # must not be loaded.
  mv there/lib/probust/probust_cuda.so .
  refused 5 "probust_cuda.so is not installed" "${on_gpu[@]}"
fi
if [ -e there/lib/probust/probust_mpi.so ]; then
  mv there/lib/probust/probust_mpi.so .
  OMPI_COMM_WORLD_SIZE=1 refused 5 "needs MPI, which this build does not have" ./linked estimate "${digits[@]}"
  mv probust_mpi.so there/lib/probust
  # One process, with the environment in which mpirun would start it.
  OMPI_COMM_WORLD_SIZE=1 ./linked estimate "${digits[@]}" >rows.csv 2>err.txt || fail "the MPI module cannot be used: $(cat err.txt)"
fi

# The table must be the same from the program, from C and from C++.
table() { awk -F, 'NR > 1 { printf "%d %d %.4f\n", $1, $3, $8 }' "$1"; }
digits=("$source/demos/digits/digits.onnx" "$source/demos/digits/points.npz")
./linked estimate "${digits[@]}" --sigma 0.1,0.2,0.4 --estimator auto,taylor,mc:10000 --limit 20 --format csv --quiet >rows.csv
"$cmake" -S "$source/tests/consumer" -B installed -DSOURCES=OFF -DPROBUST="$source" -DCMAKE_PREFIX_PATH="$PWD/there" >consumer.txt
"$cmake" --build installed >>consumer.txt || fail "a project that finds the installed package cannot be built: $(tail -n 20 consumer.txt)"
cc -std=c99 "$source/demos/c/digits.c" -o digits \
  $(PKG_CONFIG_PATH="$PWD/there/lib/pkgconfig" pkg-config --cflags --libs probust) -Wl,-rpath,"$PWD/there/lib"
for program in ./digits installed/consumer_in_c; do
  "$program" "${digits[@]}" | awk 'NR > 1 { printf "%d %d %.4f\n", $1, $3, $6 }' | diff - <(table rows.csv) >/dev/null ||
    fail "the table of $program is not the program's"
done
installed/digits "${digits[@]}" | awk 'NR > 1 { print $1, $2, $5 }' | diff - <(table rows.csv) >/dev/null ||
  fail "the table of the C++ program is not the program's"

"$cmake" -S "$source/tests/consumer" -B consumer -DPROBUST="$source" >consumer.txt
"$cmake" --install consumer --prefix "$PWD/nothing" >>consumer.txt
[ ! -e nothing ] || fail "as a subproject, probust installs $(find nothing -type f)"
