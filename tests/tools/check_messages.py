#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the grammar of error messages. An Error prints "where problem; hint", so `where` is a subject ("points.npz") and
`problem` its predicate ("has no labels"). If a problem begins with a string literal, the literal must begin with a verb of
VERBS. If `where` is empty, the problem is a whole sentence. Prints each error; the exit status is 1 if there is one."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
VERBS = set(
    """applies are belongs cannot casts changes computes contain contains copies could couples declares did differs diverged divides
    does drops ends extends failed has have is lies lists maps must needs pads quantises reads reduces repeats replaces reshapes resumed
    returned samples selects sent supports takes unpacks uses was would""".split()
)
# The name of a call, and the positions of `where` and `problem` among its arguments. None: `where` is not an argument.
CALLS = {
    "Error{ErrorCode": (1, 2),
    "return {ErrorCode": (1, 2),
    "refuse": (0, 1),
    "unreadable": (0, 1),
    "misfit": (0, 1),
    "require": (1, 2),
    "refuse_option": (0, 1),
    "leave_out": (0, 1),
    "broken": (None, 2),
    "refuse_forest": (None, 0),
    "malformed": (None, 0),
    "unsupported": (None, 0),
}
OTHERS = {  # the same for functions that are defined in a single file
    "core/probust/noise/all_noise.cpp": {"refuse": (None, 0)},
    "core/probust/noise/categorical.cpp": {"refuse": (None, 0)},
    "core/probust/noise/factor.cpp": {"refuse": None},  # its problems follow "is not a covariance: "
    "core/probust/train/checkpoint.cpp": {"refuse": (None, 0)},
    "core/probust/graph/attributes.cpp": {"require": (None, 1)},
}


def arguments(text, start):
    """The arguments of a call; the first begins at `start`."""
    found, begin, depth, at = [], start, 0, start
    while at < len(text):
        if literal := re.compile(r'"(\\.|[^"\\])*"|\'(\\.|[^\'\\])\'').match(text, at):
            at = literal.end()
            continue
        if text[at] in "([{":
            depth += 1
        elif text[at] in ")]}" and depth == 0:
            return [each.strip() for each in found + [text[begin:at]]]
        elif text[at] in ")]}":
            depth -= 1
        elif text[at] == "," and depth == 0:
            found.append(text[begin:at])
            begin = at + 1
        at += 1
    return []


def first_literals(expression):
    """The string literals with which an expression can begin: several if it has alternatives (a ? b : c)."""
    expression = re.sub(r"\s+", " ", expression)
    while expression.startswith("(") and expression.endswith(")"):
        expression = expression[1:-1].strip()
    plain = re.sub(r'"(\\.|[^"\\])*"', lambda literal: "x" * len(literal[0]), expression)
    depth, cuts = 0, []
    for at, letter in enumerate(plain):
        depth += (letter in "([{") - (letter in ")]}")
        if depth == 0 and (letter == "?" or (letter == ":" and cuts and plain[at - 1 : at + 2].count(":") == 1)):
            cuts.append(at)
    parts = [expression[begin + 1 : end] for begin, end in zip(cuts, cuts[1:] + [len(expression)])] if cuts else [expression]
    for part in parts:
        if literal := re.match(r'(?:std::string\(|fmt::format\(|\(| )*"((?:\\.|[^"\\])*)"', part):
            yield literal[1]


def problems(name, text):
    for call in re.finditer(r"\b(?:(Error\{ErrorCode|return \{ErrorCode)::\w+, |([a-z_]+)\()", text):
        key = call[1] or call[2]
        places = OTHERS.get(name, {}).get(key, CALLS.get(key))
        if places is None:
            continue
        given = ["code"] * bool(call[1]) + arguments(text, call.end())
        where, problem = places
        if len(given) <= problem or (where is not None and given[where] == '""'):
            continue
        for literal in first_literals(given[problem]):
            if not literal.startswith("{}"):  # the text is the problem of another error
                yield text.count("\n", 0, call.start()) + 1, literal


wrong = checked = 0
for folder in ("core/probust", "native", "wasm"):
    for source in sorted((ROOT / folder).rglob("*")):
        if source.suffix not in (".h", ".cpp", ".cu", ".cuh") or "node_modules" in source.parts:
            continue
        name = source.relative_to(ROOT).as_posix()
        for line, problem in problems(name, re.sub(r"//[^\n\"]*(?=\n)", "", source.read_text())):
            checked += 1
            if re.split(r"[ :]", problem)[0] not in VERBS:
                wrong += 1
                print(f'{name}:{line}: "{problem}" does not begin with a verb, so it is no predicate of where')
print(f"{checked} problems checked, {wrong} are no predicates")
sys.exit(wrong > 0 or checked < 400)
