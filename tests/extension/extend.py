#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Adds one of each thing to copies of the files that have to change, and checks that these are the files that the README's table
names. Usage: extend.py FOLDER: writes FOLDER/PATH for every changed file, and prints their paths."""
import pathlib
import re
import sys
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def promised(kind):
    """The paths in the README's row for `kind`, as regular expressions: NAME matches any name, and a folder any file in it."""
    row = next(line for line in (ROOT / "README.md").read_text().splitlines() if line.startswith(f"| {kind} |"))
    paths = [path for path in re.findall(r"`([^`]+)`", row.split("|")[2]) if "/" in path]
    return {path: re.compile(re.escape(path).replace("NAME", r"\w+") + (r"\w+\.cpp" if path.endswith("/") else "")) for path in paths}


def add(addition, texts):
    """Adds the changed files to `texts`, by path. Returns their paths."""
    changed = set(addition["new"])
    for path in addition["new"]:
        texts[path] = (HERE / path).read_text()
    for line in addition["lines"]:
        path = line["file"]
        text = texts.get(path) or (ROOT / path).read_text()
        if text.count(line["before"]) != 1:
            sys.exit(f"{path}: contains {line['before']!r} {text.count(line['before'])} times")
        texts[path] = text.replace(line["before"], line["text"] + line["before"], 1)
        changed.add(path)
    return changed


def main():
    folder, texts, failed = pathlib.Path(sys.argv[1]), {}, False
    for addition in tomllib.loads((HERE / "additions.toml").read_text())["addition"]:
        changed, paths = add(addition, texts), promised(addition["kind"])
        unnamed = [path for path in sorted(changed) if not any(pattern.fullmatch(path) for pattern in paths.values())]
        unchanged = [path for path, pattern in paths.items() if not any(pattern.fullmatch(each) for each in changed)]
        for path in unnamed:
            print(f"README.md: {addition['kind']} also needs {path}", file=sys.stderr)
        for path in unchanged:
            print(f"README.md: {addition['kind']} does not need {path}", file=sys.stderr)
        many = len(changed) > addition.get("most", len(changed))
        if many:
            print(f"{addition['kind']} changes {len(changed)} files, more than {addition['most']}", file=sys.stderr)
        failed = failed or unnamed or unchanged or many
    for stale in (file for file in folder.rglob("*") if file.is_file() and file.relative_to(folder).as_posix() not in texts):
        stale.unlink()  # left by earlier additions, which would hide the project's own files
    for path, text in texts.items():
        target = folder / path
        if not target.is_file() or target.read_text() != text:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
    print("\n".join(sorted(texts)))
    return 1 if failed else 0


sys.exit(main())
