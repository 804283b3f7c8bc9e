#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds the documentation site for a folder on a server, checks its links and figures, and opens its pages in Chromium:
# docs_site.sh PROGRAM FOLDER. Exits with status 77 (skipped) if node or the npm packages of docs/ are missing.
set -euo pipefail
program=$1 site=$2
cd "$(dirname "$0")/../docs"
command -v node >/dev/null || { echo "skipped: no node"; exit 77; }
[ -d node_modules/vitepress ] || { echo "skipped: run 'npm install' in docs/ first"; exit 77; }

node scripts/figures.mjs --check
node scripts/noise-figures.mjs --check
export PROBUST_PROGRAM=$program PROBUST_DOCS_BASE=/probust/ PROBUST_DOCS_OUT=$site
npm run --silent build
node scripts/check-links.mjs "$site" /probust/
node scripts/check-pages.mjs "$site" /probust/
