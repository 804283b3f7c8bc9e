#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the imports of the TypeScript sources in web/src and wasm/src, including imports of types: a folder of web/src may
import only from the folders that MAY_IMPORT lists (web/README.md), and modules must not import each other in a cycle. Prints
each error; the exit status is 1 if there is one."""
import pathlib
import re
import sys

MAY_IMPORT = {
    "state": [],
    "style": [],
    "engine": [],
    "draw": [],
    "panels": ["state", "draw"],
    "tables": ["state", "engine"],
    "labs": ["state", "style", "engine", "draw", "panels"],
    "labs/plane": ["state", "style", "engine", "draw", "panels", "labs"],
    "labs/image": ["state", "style", "engine", "draw", "panels", "labs"],
    "labs/dataset": ["state", "style", "engine", "draw", "panels", "tables", "labs"],
    "labs/table": ["state", "style", "engine", "draw", "panels", "tables", "labs"],
    "element": ["state", "style", "engine", "labs/plane", "labs/image", "labs/dataset", "labs/table"],
    "lessons": ["state", "style", "draw", "panels", "labs/plane", "element"],
    "site": ["element", "lessons"],
}
ROOT = pathlib.Path(__file__).resolve().parents[2]
# "import ... from './x.js'", "export ... from './x.js'", "import './x.js'" and "import('./x.js')".
IMPORT = re.compile(r"""^(?:import|export)\s(?:[^;'"]*\sfrom\s)?['"](\.[^'"]+)['"]|\bimport\(['"](\.[^'"]+)['"]\)""", re.MULTILINE)


def read_imports(folder):
    """Maps each module of the folder, as a path without suffixes, to the modules of the folder that it imports."""
    modules = {path.with_name(path.name.split(".")[0]): path for path in sorted(folder.rglob("*.*ts"))}
    imports = {}
    for module, path in modules.items():
        found = [first or second for first, second in IMPORT.findall(path.read_text())]
        targets = [(module.parent / text).resolve().with_suffix("") for text in found]
        imports[module] = [target for target in targets if target in modules]
    return imports


def cycles(imports):
    """The cycles of imports: one for each import that closes a cycle."""
    done, path, found = set(), [], []

    def visit(module):
        if module in path:
            found.append(path[path.index(module):] + [module])
        elif module not in done:
            path.append(module)
            for target in imports[module]:
                visit(target)
            done.add(path.pop())

    for module in imports:
        visit(module)
    return found


wrong = checked = 0
for source in (ROOT / "web/src", ROOT / "wasm/src"):
    imports = read_imports(source)
    checked += sum(map(len, imports.values()))
    for cycle in cycles(imports):
        wrong += 1
        print("cycle: " + " -> ".join(str(module.relative_to(ROOT)) for module in cycle))
    if source.parent.name != "web":
        continue
    for module, targets in imports.items():
        folder = module.parent.relative_to(source).as_posix()
        for target in targets:
            other = target.parent.relative_to(source).as_posix()
            if other != folder and other not in MAY_IMPORT.get(folder, []):
                wrong += 1
                print(f"{module.relative_to(ROOT)}.ts: {folder}/ may not import from {other}/: {target.name}")
print(f"{checked} imports, {wrong} in a cycle or against the order of the folders")
sys.exit(1 if wrong or not checked else 0)
