#!/usr/bin/env bash
# release_notes.sh TAG: prints the section of CHANGELOG.md for this version or, if there is none, that of unreleased changes.
set -euo pipefail
cd "$(dirname "$0")/.."
section() { awk -v title="## $1" '$0 == title || index($0, title " ") == 1 { on = 1; next } /^## / { on = 0 } on' CHANGELOG.md; }
notes=$(section "${1#v}")
[ -n "$notes" ] || notes=$(section Unreleased)
[ -n "$notes" ] || { echo "release_notes.sh: CHANGELOG.md has no section for ${1#v}" >&2; exit 1; }
printf '%s\n' "$notes"
