# SPDX-License-Identifier: MIT
"""The processes that against_pytorch.py measures: probust's commands, and one that runs PyTorch (pytorch_worker.py).

This file imports neither PyTorch nor numpy: on Linux, the peak memory of a new process is at least that of the process that
starts it."""
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time

FOLDER = os.path.dirname(os.path.abspath(__file__))
MOST_DATA = 16e6  # the largest number of values in a file of points
MOST_SAMPLES = 1e8


class Failed(Exception):
    """Raised if a measurement fails; the message is the reason, in one line."""


def first_line(text):
    """The first line of an error message, without the folders of paths and without a full stop."""
    lines = text.strip().splitlines() or ["no message"]
    return re.sub(r"(?:/[^\s/:']+)+/", "", lines[0]).rstrip(".")


def ended(process):
    """Waits for a process to end. Returns its exit status and its peak memory in MiB."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_maxrss / 1024


class Worker:
    """A process that runs PyTorch."""

    def __init__(self):
        self.process = subprocess.Popen([sys.executable, os.path.join(FOLDER, "pytorch_worker.py")], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def ask(self, do, **request):
        try:
            self.process.stdin.write(json.dumps({"do": do, **request}) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Failed("the process that runs PyTorch has ended") from None
        line = self.process.stdout.readline()
        if not line:
            raise Failed(f"the process that runs PyTorch ended at '{do}'")
        answer = json.loads(line)
        if "error" in answer:
            raise Failed(f"PyTorch: {first_line(answer['error'])}")
        return answer

    def close(self):
        """Ends the process. Returns its peak memory in MiB."""
        self.process.stdin.close()
        self.process.stdout.close()
        return ended(self.process)[1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.returncode is None:
            self.close()


def measured_alone(do, **request):
    """Sends one request to a new process that runs PyTorch. Returns the answer and the peak memory of the process in MiB."""
    with Worker() as worker:
        answer = worker.ask(do, **request)
        return answer, worker.close()


class Probust:
    """Runs the program probust, and writes files of points for it to read."""

    def __init__(self, program, sigma, folder):
        self.program, self.sigma, self.folder = program, sigma, folder
        self.files = {}

    def run(self, *arguments):
        """Runs a command. Returns its stdout, the seconds that it took, and its peak memory in MiB."""
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
            start = time.perf_counter()
            process = subprocess.Popen([self.program, *map(str, arguments)], stdout=out, stderr=errors)
            status, peak = ended(process)
            seconds = time.perf_counter() - start
            errors.seek(0)
            if status != 0:
                raise Failed(first_line(errors.read()))
            out.seek(0)
            return out.read(), seconds, peak

    def bench(self, model, threads):
        return json.loads(self.run("bench", model, "--threads", threads, "--json")[0])

    def version(self):
        return json.loads(self.run("version", "--json")[0])

    def points(self, worker, shape, count):
        """The path of a file with random points."""
        key = (*shape, count)
        if key not in self.files:
            self.files[key] = os.path.join(self.folder, "points_" + "x".join(map(str, key)) + ".npy")
            worker.ask("data", path=self.files[key], shape=[count, *shape])
        return self.files[key]

    def estimate(self, model, data, kind, count, threads):
        """Seconds and peak memory of a whole run with `count` points; for mc, with `count` noisy samples of one point."""
        estimator, limit = {"mc": (f"mc:{count}", 1), "taylor": ("taylor", count), "mmse": ("mmse:5", count)}[kind]
        printed, seconds, peak = self.run("estimate", model, data, "--sigma", self.sigma, "--estimator", estimator,
                                          "--limit", limit, "--threads", threads, "--format", "jsonl", "--quiet")
        rows = [json.loads(line) for line in printed.splitlines()]
        without = [row["status"] for row in rows if row["p"] is None]
        if without or len(rows) != limit:
            raise Failed(f"{estimator} gave {len(rows)} rows for {limit} points, {len(without)} of them without p {set(without)}")
        return seconds, peak


class Marginal:
    """Seconds per noisy sample (mc) or point, from the difference between the times of two runs of different lengths, so that the
    start of the program is not counted."""

    def __init__(self, probust, worker, model, shape, kind, threads, seconds):
        most = MOST_SAMPLES if kind == "mc" else max(8 * threads, min(8192, int(MOST_DATA / math.prod(shape))))
        self.probust, self.arguments = probust, (model, probust.points(worker, shape, 1 if kind == "mc" else most), kind)
        self.threads = threads
        unit = threads * (64 if kind == "mc" else 1)
        first, count, extra = self.run(unit), unit, 0.0
        while extra < 0.3 * seconds and 4 * count <= most:
            count *= 4
            extra = self.run(count) - first
        each = max(extra, 1e-6) / (count - unit) if count > unit else first / unit
        step = unit if each * unit > 0.3 * seconds else 4 * unit  # fills batches unless that takes long
        self.few = step
        self.more = max(step, min(math.ceil(seconds / each / step) * step, int(most) // step * step - step))

    def run(self, count):
        return self.probust.estimate(*self.arguments, count, self.threads)[0]

    def measure(self):
        few, many = self.run(self.few), self.run(self.few + self.more)
        if many <= few:
            raise Failed("the longer run took less time than the shorter one")
        return (many - few) / self.more
