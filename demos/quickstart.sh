#!/usr/bin/env bash
# From a fresh clone to p_robust: installs what is missing, builds the command line, and estimates the robustness of a small digit
# classifier at twenty points that come with the project.
set -euo pipefail
cd "$(dirname "$0")/.."

tests/tools/install.sh build
echo "building; this takes a few minutes the first time"
cmake --preset release -DPROBUST_TESTS=OFF >build-quickstart.log 2>&1 || { cat build-quickstart.log; exit 1; }
cmake --build --preset release --target probust_program >>build-quickstart.log 2>&1 || { tail -n 40 build-quickstart.log; exit 1; }
rm -f build-quickstart.log

probust=build/release/bin/probust
echo
"$probust" inspect demos/digits/digits.onnx
echo
echo "p_robust: the probability that the answer survives Gaussian noise of standard deviation sigma (pixels are in 0..1)."
echo "mc:10000 counts 10,000 noisy copies; the others need at most 100 passes. auto is the default. One row per point and sigma:"
echo
"$probust" estimate demos/digits/digits.onnx demos/digits/points.npz --limit 20 --sigma 0.1,0.2,0.4 \
  --estimator auto,taylor,taylor_mvs,mmse:10,mmse_mvs:10,softmax,mc:10000 --format csv --quiet |
  awk -F, -f demos/side_by_side.awk
echo
echo "Next: $probust estimate MODEL.onnx DATA --sigma 0.1   ($probust --help, README.md)"
