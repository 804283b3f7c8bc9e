#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the commands of the documentation: docs_commands.py PROGRAM [PAGE...]

Blocks of a page run in order in one empty folder, with PROGRAM in PATH as `probust`:

  ```sh                     a script, which must end with status 0
  ```sh no-test: REASON     not run
  ```console                lines "$ COMMAND", each followed by its output; numbers may differ by 2% or 0.002
  ```python                 a script; if a module that it imports is missing, it and the rest of the page are skipped

In the lines between the dashes at the top of a page, `files: PAGE` runs the first sh block of another page first, and
`files: repository` is for pages that begin in a checkout, with demos/. A command outside such blocks is an error.
"""
import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PYTHON = os.environ.get("PROBUST_PYTHON", sys.executable)
ALL = tempfile.TemporaryDirectory()
NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:e[-+]?\d+)?")


def pages():
    return sorted(path for path in DOCS.rglob("*.md") if not {"node_modules", "generated", "public"} & set(path.parts))


def front_matter(text):
    match = re.match(r"---\n(.*?)\n---\n", text, re.S)
    return dict(re.findall(r"^(\w+): *(.*)$", match[1], re.M)) if match else {}


def blocks_of(text):
    """(line, words after the fence, text) of each block between fences."""
    blocks, start, info, lines = [], None, "", []
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("```"):
            if start is None:
                start, info, lines = number, line[3:].strip(), []
            else:
                blocks.append((start, info, "\n".join(lines)))
                start = None
        elif start is not None:
            lines.append(line)
        elif re.match(r"(    |\t)(\$ )?(\./)?(probust|mpirun|pip|npm|cmake|docker|python3?) ", line):
            raise ValueError(f"line {number}: put this command between ```sh and ```, so that it is tested: {line.strip()}")
    return blocks


def alike(expected, found):
    """Whether two lines have the same words, and numbers that are nearly equal."""
    if NUMBER.sub("0", " ".join(expected.split())) != NUMBER.sub("0", " ".join(found.split())):
        return False
    pairs = zip(map(float, NUMBER.findall(expected)), map(float, NUMBER.findall(found)))
    return all(abs(a - b) <= max(0.002, 0.02 * abs(a)) for a, b in pairs)


class Session:
    """One page's folder."""

    def __init__(self, folder, program):
        self.folder = folder
        programs = Path(folder).parent / "bin"
        self.env = dict(os.environ, PATH=f"{programs}:{os.environ['PATH']}", XDG_CACHE_HOME=f"{folder}/.cache", NO_COLOR="1")
        if not programs.exists():
            programs.mkdir()
            (programs / "probust").symlink_to(program)

    def run(self, *command):
        done = subprocess.run(command, cwd=self.folder, env=self.env, text=True, stdin=subprocess.DEVNULL, timeout=120,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            raise ValueError(f"status {done.returncode}: {done.stdout.strip()[-2000:]}")
        return done.stdout

    def console(self, text):
        for command, expected in re.findall(r"^\$ (.*(?:\\\n.*)*)\n((?:(?!\$ ).*\n?)*)", text, re.M):
            found = self.run("bash", "-c", command).rstrip().split("\n")
            wanted = expected.rstrip().split("\n")
            for line in wanted:
                if line and line != "..." and not any(alike(line, each) for each in found):
                    raise ValueError(f"the output of `{command}` does not have the line\n  {line}\nbut is\n" + "\n".join(found))


def check_block(session, info, text):
    """Runs one block. Returns "run", or the reason why it was not run."""
    language, _, note = info.partition(" ")
    if language in ("sh", "bash", "console", "python") and note.startswith("no-test"):
        if not re.match(r"no-test: \S", note):
            raise ValueError("say why: ```sh no-test: REASON")
        return note
    if language == "sh":
        session.run("bash", "-euo", "pipefail", "-c", text)
    elif language == "console":
        session.console(text)
    elif language == "python":
        for module in re.findall(r"^(?:import|from) (\w+)", text, re.M):
            if subprocess.run([PYTHON, "-c", f"import {module}"], capture_output=True).returncode != 0:
                return f"Python has no module {module}"
        session.run(PYTHON, "-c", text)
    else:
        if language == "" and re.search(r"^(\$ )?probust ", text, re.M):
            raise ValueError("a command in a block without a language is not tested")
        return None
    return "run"


@functools.cache
def files_of(page, program):
    """A folder with the files that the first sh block of a page creates."""
    folder = Path(ALL.name) / page.replace("/", "-") / "made"
    folder.mkdir(parents=True)
    first = next(block for _, info, block in blocks_of((DOCS / page).read_text()) if info == "sh")
    Session(folder, program).run("bash", "-euo", "pipefail", "-c", first)
    return folder


def check_page(path, program):
    """Returns the number of blocks that ran, and the reasons why others did not."""
    text = path.read_text()
    settings = front_matter(text)
    outcomes = []
    with tempfile.TemporaryDirectory() as top:
        folder = Path(top) / "empty"
        folder.mkdir()
        session = Session(folder, program)
        if settings.get("files") == "repository":
            (folder / "demos").symlink_to(ROOT / "demos")
        elif "files" in settings:
            shutil.copytree(files_of(settings["files"], program), folder, dirs_exist_ok=True)
        for line, info, block in blocks_of(text):
            try:
                outcomes.append(check_block(session, info, block))
                if (outcomes[-1] or "").startswith("Python has no"):
                    break
            except (ValueError, subprocess.TimeoutExpired) as error:
                raise ValueError(f"line {line}: {error}") from None
    return outcomes


def main():
    program = Path(sys.argv[1]).resolve()
    failed = ran = 0
    for path in [Path(name).resolve() for name in sys.argv[2:]] or pages():
        name = path.relative_to(ROOT)
        try:
            outcomes = [outcome for outcome in check_page(path, program) if outcome]
        except ValueError as error:
            print(f"{name}, {error}")
            failed += 1
            continue
        ran += outcomes.count("run")
        for outcome in outcomes:
            if outcome != "run":
                print(f"{name}: not run, {outcome}")
    print(f"{ran} blocks of commands ran, {failed} pages failed")
    return 1 if failed or ran == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
