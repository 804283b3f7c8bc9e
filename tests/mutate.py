#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Mutation testing: introduces one programming error at a time and checks whether the tests detect it.

tests/mutants.toml lists the mutants. Each is applied to a copy of the checkout in the build folder, never to the checkout itself.
Then the test program that should detect it is built and run, and the copy is restored.

  tests/mutate.py                          every mutant in turn
  tests/mutate.py --only 12 --only 30-35   by number, as shown by --list
  tests/mutate.py --only reconcile.cpp     by file, text or description
  tests/mutate.py --tests '*'              all tests instead of those that should detect the mutant
  tests/mutate.py --check                  only whether every mutant still applies

Exit status: 0 if every mutant is killed or has an explanation of why it survives, 1 if not, 2 if nothing could be run.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = {"core": "probust-core-tests", "native": "probust-native-tests", "sse": "probust-kernel-tests-x86-64",
            "cuda": "probust-cuda-tests"}
KEYS = {"file", "text", "to", "tests", "about", "program", "occurrence", "survives"}


class Refused(Exception):
    """An error with a one-line message for the user."""


def run(command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", **options)


def read_mutants(path):
    with open(path, "rb") as file:
        mutants = tomllib.load(file)["mutant"]
    for number, mutant in enumerate(mutants, 1):
        unknown, missing = set(mutant) - KEYS, {"file", "text", "to", "tests", "about"} - set(mutant)
        if unknown or missing:
            raise Refused(f"{path}: mutant {number} has unknown keys {sorted(unknown)} or lacks {sorted(missing)}")
        mutant["number"] = number
        mutant.setdefault("program", "core")
    return mutants


def selected(mutants, wanted):
    """The mutants that match any selector: a number, a range a-b, or a part of the file name, the text or the description."""
    if not wanted:
        return mutants
    chosen = []
    for mutant in mutants:
        for selector in wanted:
            numbers = re.fullmatch(r"(\d+)(?:-(\d+))?", selector)
            if numbers:
                hit = int(numbers[1]) <= mutant["number"] <= int(numbers[2] or numbers[1])
            else:
                hit = any(selector in mutant[key] for key in ("file", "text", "about"))
            if hit:
                chosen.append(mutant)
                break
    return chosen


def mutated(source, mutant):
    """The text of the file with the error in it. Raises Refused if the mutant does not apply."""
    count, which = source.count(mutant["text"]), mutant.get("occurrence", 0)
    if count == 0:
        raise Refused("its text is no longer in the file")
    if which == 0 and count != 1:
        raise Refused(f"its text is in the file {count} times: say which occurrence")
    if which > count:
        raise Refused(f"its text is in the file only {count} times")
    at = -1
    for _ in range(max(which, 1)):
        at = source.index(mutant["text"], at + 1)
    return source[:at] + mutant["to"] + source[at + len(mutant["text"]):]


def check(mutants):
    """Prints the mutants that do not apply to the checkout."""
    stale = []
    for mutant in mutants:
        path = ROOT / mutant["file"]
        try:
            mutated(path.read_text() if path.is_file() else "", mutant)
        except Refused as reason:
            stale.append(f"{mutant['number']:4}  {mutant['file']}: {reason}")
    print("\n".join([*stale, f"{len(mutants)} mutants, {len(stale)} do not apply"]))
    return not stale


class Copy:
    """A copy of the checkout with its own build."""

    def __init__(self, folder):
        self.source, self.build = folder / "source", folder / "build"
        self.limit = {}  # time limit of tests in seconds, by program and filter

    def refresh(self):
        """Copies changed files, including uncommitted work, so that nothing else is recompiled."""
        listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True,
                                stdout=subprocess.PIPE).stdout.decode().split("\0")
        names = {name for name in listed if name and (ROOT / name).is_file()}
        for name in names:
            original, copy = ROOT / name, self.source / name
            if not copy.is_file() or copy.read_bytes() != original.read_bytes():
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(original, copy)
        for copy in [path for path in self.source.rglob("*") if path.is_file()]:
            if str(copy.relative_to(self.source)) not in names:
                copy.unlink()

    def configure(self):
        # Little optimisation: most of the time is spent on compiling the mutated file.
        done = run(["cmake", "-G", "Ninja", "-S", self.source, "-B", self.build, "-DCMAKE_BUILD_TYPE=Release",
                    "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG", "-DPROBUST_TESTS=ON",
                    "-DCMAKE_GTEST_DISCOVER_TESTS_DISCOVERY_MODE=PRE_TEST"])
        if done.returncode != 0:
            raise Refused("cmake failed:\n" + done.stdout[-2000:])

    def compile(self, program):
        return run(["cmake", "--build", self.build, "-j1", "--target", PROGRAMS[program]])

    def run_tests(self, program, tests, *options, timeout=None):
        return run([self.build / "bin" / PROGRAMS[program], f"--gtest_filter={tests}", *options], timeout=timeout, cwd=self.source)

    def failure(self, program, tests, limit):
        """The first test that fails, or another problem; None if all tests pass."""
        try:
            done = self.run_tests(program, tests, "--gtest_fail_fast", "--gtest_brief=1", timeout=limit)
        except subprocess.TimeoutExpired:
            return f"not being done after {limit:.0f} s"
        if done.returncode == 0:
            return None
        failed = re.search(r"\[  FAILED  \] ([^\s,]+)", done.stdout)
        return failed[1] if failed else f"ending with {done.returncode}"

    def matching(self, program, tests):
        names, suite = [], ""
        for line in self.run_tests(program, tests, "--gtest_list_tests").stdout.splitlines()[1:]:
            word = line.split()[0]
            if line.startswith(" "):
                names.append(suite + word)
            else:
                suite = word
        if not names:
            raise Refused(f"no test of {PROGRAMS[program]} matches {tests}")
        return names

    def require_good(self, mutants):
        """Checks that the tests of all mutants pass on correct code, and times each of them once."""
        for program in sorted({mutant["program"] for mutant in mutants}):
            filters = {mutant["tests"]: () for mutant in mutants if mutant["program"] == program}
            filters = {tests: self.matching(program, tests) for tests in filters}
            done = self.run_tests(program, ":".join(sorted({name for names in filters.values() for name in names})))
            failed = re.search(r"\[  FAILED  \] ([^\s,]+)", done.stdout)
            if failed or done.returncode != 0:
                raise Refused(f"without any mutant {failed[1] if failed else PROGRAMS[program]} fails")
            timed = re.findall(r"\[ +(?:OK|SKIPPED) +\] (\S+).* \((\d+) ms\)", done.stdout)
            seconds = {name: int(ms) / 1000 for name, ms in timed}
            for tests, names in filters.items():
                self.limit[(program, tests)] = 60 + 5 * sum(seconds.get(name, 0) for name in names)


def judge(copy, mutant):
    """Returns (verdict, detail) for one mutant."""
    path, program = copy.source / mutant["file"], mutant["program"]
    if not path.is_file():
        return "does not apply", "its file does not exist"
    original = path.read_text()
    try:
        wrong = mutated(original, mutant)
    except Refused as reason:
        return "does not apply", str(reason)
    path.write_text(wrong)
    try:
        built = copy.compile(program)
        if built.returncode != 0:
            error = re.search(r"error: .*", built.stdout)
            return "does not compile", error[0] if error else built.stdout[-200:]
        failure = copy.failure(program, mutant["tests"], copy.limit[(program, mutant["tests"])])
        if failure is not None:
            return "killed", "by " + failure
    finally:
        path.write_text(original)
    if "survives" in mutant:
        return "explained", mutant["survives"]
    return "survived", mutant["about"]


def report(results):
    width = max(len(mutant["file"]) for mutant, _, _ in results)
    print()
    for mutant, verdict, detail in results:
        print(f"{mutant['number']:4}  {mutant['file']:{width}}  {verdict:16}  {detail}")
    counts = {verdict: sum(1 for _, each, _ in results if each == verdict)
              for verdict in ("killed", "survived", "explained", "does not compile", "does not apply")}
    print(f"\n{len(results)} mutants: " + ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count))
    for mutant, verdict, _ in results:
        if verdict == "killed" and "survives" in mutant:
            print(f"mutant {mutant['number']} is killed: its explanation can go")
    return all(verdict in ("killed", "explained") for _, verdict, _ in results)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="WHICH",
                        help="a number, a range a-b, or a part of file, text or description; may be repeated")
    parser.add_argument("--build-folder", type=pathlib.Path, default=ROOT / "build" / "mutants",
                        help="for the copy and its build, which the next run uses again (default: build/mutants)")
    parser.add_argument("--tests", metavar="FILTER", help="run these in place of the tests that should notice")
    parser.add_argument("--list", action="store_true", help="show the mutants and end")
    parser.add_argument("--check", action="store_true", help="only check that every mutant still applies to the checkout")
    arguments = parser.parse_args()
    mutants = selected(read_mutants(ROOT / "tests" / "mutants.toml"), arguments.only)
    if not mutants:
        raise Refused("no mutant is selected; --list shows them")
    if arguments.list:
        for mutant in mutants:
            print(f"{mutant['number']:4}  {mutant['file']}: {mutant['about']}")
        return 0
    if arguments.check:
        return 0 if check(mutants) else 1
    copy = Copy(arguments.build_folder.resolve())
    copy.refresh()
    copy.configure()
    for program in sorted({mutant["program"] for mutant in mutants}):
        print(f"building {PROGRAMS[program]}", flush=True)
        built = copy.compile(program)
        if built.returncode != 0:
            raise Refused("it does not build without any mutant:\n" + built.stdout[-2000:])
    for mutant in mutants:
        mutant["tests"] = arguments.tests or mutant["tests"]
    print("running their tests without any mutant", flush=True)
    copy.require_good(mutants)
    results = []
    for mutant in mutants:
        verdict, detail = judge(copy, mutant)
        results.append((mutant, verdict, detail))
        print(f"{mutant['number']:4}  {mutant['file']}: {verdict} {detail}", flush=True)
    return 0 if report(results) else 1


if __name__ == "__main__":
    os.environ.setdefault("PROBUST_SHARED", str(ROOT / ".." / "shared"))
    try:
        sys.exit(main())
    except Refused as reason:
        print(f"mutate.py: {reason}", file=sys.stderr)
        sys.exit(2)
