#!/usr/bin/env bash
# From a fresh clone to p_robust: installs missing packages, builds the command line, and estimates the robustness of a small digit
# classifier at twenty bundled points.
set -euo pipefail
cd "$(dirname "$0")/.."

mkdir -p build
log=build/quickstart.log
fail() { tail -n 40 "$log"; exit 1; }
# Shows Ninja's progress, from lines that begin with @: on a terminal, on a single line; otherwise, with a line for each tenth
# of the files.
progress() {
  local line=
  [ ! -t 1 ] || line=1
  awk -v line="$line" -F '[@/ ]' '
    /^@/ { if (line) printf "\r%d of %d files ", $2, $3
           else if (int(10 * $2 / $3) > tenths) { tenths = int(10 * $2 / $3); print $2 " of " $3 " files" }
           fflush() }
    END { if (line) print "" }'
}

tests/tools/install.sh build
echo "building the command line (only needed once)"
cmake --preset release -DPROBUST_TESTS=OFF >"$log" 2>&1 || fail
NINJA_STATUS='@%f/%t ' cmake --build --preset release --target probust_program 2>&1 | tee -a "$log" | progress || fail
rm -f "$log"

probust=build/release/bin/probust
echo
"$probust" inspect demos/digits/digits.onnx
echo
echo "p_robust: the probability that the prediction survives Gaussian noise of standard deviation sigma (pixels are in 0..1)."
echo "mc:10000 counts 10,000 noisy samples; the other estimators need at most 100 passes. auto is the default. One row per point and sigma:"
echo
"$probust" estimate demos/digits/digits.onnx demos/digits/points.npz --limit 20 --sigma 0.1,0.2,0.4 \
  --estimator auto,taylor,taylor_mvs,mmse:10,mmse_mvs:10,softmax,mc:10000 --format csv --quiet |
  awk -F, -f demos/side_by_side.awk
echo
echo "Next: $probust estimate MODEL.onnx DATA --sigma 0.1   ($probust --help, README.md)"
