#!/usr/bin/env bash
# A gate for a model's robustness on a build server: estimate, then compare with thresholds and with a baseline. The example uses the
# bundled digit classifier; the thresholds of the second gate are too high, so it fails.
# Usage: demos/ci/gate.sh [PROBUST [FOLDER]]: the program (default: that of the release build), and the folder for runs and reports.
set -euo pipefail

demos=$(cd "$(dirname "$0")/.." && pwd)
probust=$(realpath "${1:-$demos/../build/release/bin/probust}")
folder=${2:-$(mktemp -d)}
mkdir -p "$folder"
cd "$folder"

# Here, the two runs differ only in the seed of the noise. In practice, baseline.sqlite is a run of the model in production,
# which was stored as an artifact.
for run in baseline candidate; do
  [ "$run" = baseline ] && seed=0 || seed=1
  "$probust" estimate "$demos/digits/digits.onnx" "$demos/digits/points.npz" --sigma 0.1,0.2 --estimator mc:1000 --seed $seed \
    --quiet --force-new -o $run.sqlite
done

echo "A gate that is passed:"
"$probust" gate candidate.sqlite --min-mean 0.8 --min-quantile 0.05=0.4 --min-class 0.7 --max-drop 0.02 \
  --baseline baseline.sqlite --junit passed.xml

echo
echo "A gate that is not passed:"
status=0
"$probust" gate candidate.sqlite --min-mean 0.999 --junit failed.xml || status=$?
[ $status -eq 1 ] || { echo "gate.sh: the second gate ended with status $status instead of 1" >&2; exit 1; }

echo
echo "The difference between the two runs:"
"$probust" compare baseline.sqlite candidate.sqlite
echo
echo "JUnit XML: $folder/passed.xml and failed.xml"
