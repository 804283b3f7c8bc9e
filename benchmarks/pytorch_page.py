# SPDX-License-Identifier: MIT
"""The Markdown page that against_pytorch.py prints and writes, and a description of the processor for it."""
import os
import statistics
import textwrap

WIDTH = 120
FLAGS = ["avx2", "fma", "avx512f", "avx512_vnni", "amx_tile", "asimd"]


class Page:
    """Prints text as soon as it is added, and each time rewrites the file with the whole text."""

    def __init__(self, path):
        self.path, self.text = path, ""

    def add(self, text=""):
        print(text, flush=True)
        self.text += text + "\n"
        if self.path:
            with open(self.path, "w", encoding="utf-8") as file:
                file.write(self.text.rstrip("\n") + "\n")

    def paragraph(self, text):
        """Wraps the text and ends it with an empty line."""
        self.add(textwrap.fill(" ".join(text.split()), WIDTH, break_long_words=False, break_on_hyphens=False) + "\n")

    def section(self, title, text=""):
        self.add(f"\n## {title}\n")
        if text:
            self.paragraph(text)

    def table(self, *headings):
        self.row(*headings)
        self.add("|" + "---|" * len(headings))

    def row(self, *cells):
        self.add("| " + " | ".join(str(cell) for cell in cells) + " |")


def duration(seconds):
    """A duration with three digits and a unit."""
    for factor, unit in ((1e6, "µs"), (1e3, "ms")):
        if seconds * factor < 999.5:
            return f"{three_digits(seconds * factor)} {unit}"
    return f"{three_digits(seconds)} s"


def three_digits(value):
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"


def spread(values):
    return f"{min(values):.2f}..{max(values):.2f}" if len(values) > 1 else "one round"


def judged(values, target):
    """The median ratio, bold if it reaches its target."""
    middle = statistics.median(values)
    return f"**{middle:.2f}**" if target and middle >= target else f"{middle:.2f}"


def goal(target):
    return f"{target:g}" if target else "-"


def processor():
    """The processor's name and the vector instructions that it has."""
    name, flags = "unknown processor", []
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                key, _, value = line.partition(":")
                if key.strip() == "model name":
                    name = value.strip()
                if key.strip() in ("flags", "Features"):
                    flags = value.split()
                    break
    except OSError:
        pass
    return name, [flag for flag in FLAGS if flag in flags]


def cores():
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
