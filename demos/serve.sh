#!/usr/bin/env bash
# Builds the WebAssembly package and the explorer, and opens the page on localhost. PORT sets the port (default 4173). With
# --no-open, no browser is opened; with --build, nothing is served. PROBUST_PACKAGE names a package that is already staged.
set -euo pipefail
cd "$(dirname "$0")/.."

tests/tools/stage_package.sh
cd web
npm install --no-save
npm run build
rm -rf dist/embed
cp -r ../demos/embed dist/embed
mkdir -p dist/embed/vendor
cp node_modules/react/umd/react.production.min.js node_modules/react-dom/umd/react-dom.production.min.js dist/embed/vendor/

[ "${1:-}" = --build ] && exit
open=--open
[ "${1:-}" = --no-open ] && open=
echo "the explorer: http://localhost:${PORT:-4173}/    embedded: http://localhost:${PORT:-4173}/embed/"
exec npx vite preview --host localhost --port "${PORT:-4173}" $open
