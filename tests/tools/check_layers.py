#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that each folder of core/probust includes only folders below it (docs/architecture.md), that the core includes nothing
from native/, wasm/ or tests/, that slow headers, which take seconds to compile, are included only where they are needed
(SLOW_TO_INCLUDE), that no source file outside the tests is longer than 500 lines, and that interfaces in exec/ have at most twelve
virtual functions. Prints each error; the exit status is 1 if there is one."""
import pathlib
import re
import sys

MAY_INCLUDE = {
    "base": [],
    "graph": ["base"],
    "ops": ["base", "graph"],
    "autodiff": ["base", "graph", "ops"],
    "moments": ["base", "graph", "ops"],
    "passes": ["base", "graph", "ops", "autodiff", "moments"],
    "onnx": ["base", "graph", "ops", "passes"],
    "noise": ["base", "graph", "ops"],
    "normal": ["base"],
    "exec": ["base", "graph", "ops", "passes", "autodiff", "moments", "noise"],
    "perturb": ["base", "graph", "ops", "onnx", "noise", "exec"],
    "regions": ["base", "graph", "ops", "noise", "normal"],
    "estimators": ["base", "graph", "ops", "noise", "normal", "exec", "regions"],
    "run": ["base", "noise", "exec", "perturb", "estimators"],
    "analysis": ["base", "noise", "normal", "exec", "perturb", "regions", "estimators", "run"],
    "check": ["base", "onnx", "exec", "estimators", "run"],
    "data": ["base", "noise"],
    "train": ["base", "graph", "ops", "passes", "autodiff", "noise", "exec"],
}
CORE = pathlib.Path(__file__).resolve().parents[2] / "core"

wrong = checked = 0
for source in sorted(CORE.glob("probust/**/*")):
    if source.suffix not in (".h", ".cpp"):
        continue
    folder = source.relative_to(CORE / "probust").parts[0] if source.parent != CORE / "probust" else None
    for number, line in enumerate(source.read_text().splitlines(), 1):
        include = re.match(r'\s*#\s*include "([^"]+)"', line)
        if not include:
            continue
        checked += 1
        path = include[1].split("/")
        inside = path[0] == "probust"
        if inside and (folder is None or len(path) < 3 or path[1] == folder or path[1] in MAY_INCLUDE.get(folder, [])):
            continue
        wrong += 1
        below = ", ".join(MAY_INCLUDE.get(folder, [])) or "nothing"
        print(f'{source.relative_to(CORE.parent)}:{number}: {folder}/ may include {below}, but not "{include[1]}"')
ROOT = CORE.parent
SLOW_TO_INCLUDE = [  # a header, the files that may include it, and the header that other files should include instead
    (r"(unsupported/)?Eigen/", r"core/probust/(base/linear_algebra\.|exec/cpu/)", '"probust/base/linear_algebra.h"'),
    (r"CLI/", r"native/(cli/[^/]*|cuda/benchmark)\.cpp", '"cli/command.h"'),
    (r"nlohmann/", r"native/datasets/json\.cpp", '"datasets/json.h"'),
]
for folder in ("core", "native"):
    for source in sorted((ROOT / folder).rglob("*")):
        if source.suffix not in (".h", ".cpp", ".cu", ".cuh"):
            continue
        name = source.relative_to(ROOT).as_posix()
        for header in re.findall(r"^\s*#\s*include <([^>]+)>", source.read_text(), re.MULTILINE):
            for slow, allowed, instead in SLOW_TO_INCLUDE:
                if re.match(slow, header) and not re.match(allowed, name):
                    wrong += 1
                    print(f"{name}: includes <{header}>: include {instead} instead")
MOST_LINES = 500
for folder in ("core", "native", "wasm", "web", "demos", "benchmarks"):
    for source in sorted((ROOT / folder).rglob("*")):
        parts = source.relative_to(ROOT).parts
        if source.suffix not in (".h", ".cpp", ".cu", ".ts", ".mts", ".mjs") or {"node_modules", "dist", "test"} & set(parts):
            continue
        lines = len(source.read_text().splitlines())
        if lines > MOST_LINES:
            wrong += 1
            print(f"{source.relative_to(ROOT)}: {lines} lines, of at most {MOST_LINES}: divide it")
MOST_VIRTUAL = 12  # the largest number of virtual functions of an interface in exec/
for source in sorted((CORE / "probust/exec").rglob("*.h")):
    for name, body in re.findall(r"^(?:class|struct) (\w+)[^;{]*\{(.*?)^\};", source.read_text(), re.MULTILINE | re.DOTALL):
        functions = len(re.findall(r"^\s*virtual (?!~)", body, re.MULTILINE))
        if functions > MOST_VIRTUAL:
            wrong += 1
            print(f"{source.relative_to(ROOT)}: {name} has {functions} virtual functions, of at most {MOST_VIRTUAL}: divide it")
print(f"{checked} includes; {wrong} errors")
sys.exit(1 if wrong or not checked else 0)
