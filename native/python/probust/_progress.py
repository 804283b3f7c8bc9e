# SPDX-License-Identifier: MIT
"""Progress: a bar from tqdm if it is installed, otherwise a line on stderr."""

import contextlib
import sys

from ._arguments import refusal, shown


class _Line:
    def __init__(self):
        self.total, self.n = 0, 0

    def refresh(self):
        share = self.n / self.total if self.total else 0
        print(f"\rprobust: {share:4.0%} of {self.total:,} passes", end="", file=sys.stderr, flush=True)

    def close(self):
        print(file=sys.stderr)


def _bar():
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Line()
    return tqdm(desc="probust", unit=" passes", unit_scale=True)


@contextlib.contextmanager
def reporter(progress):
    """The function that an estimate calls with the numbers of completed and planned passes; None for no progress."""
    if progress is False or progress is None:
        yield None
        return
    if callable(progress):
        yield progress
        return
    if progress is not True:
        raise refusal("progress", f"is {shown(progress)}", "give True, False or a function of the passes done and planned")
    bar = _bar()

    def report(done, planned):
        bar.total, bar.n = planned, done
        bar.refresh()

    try:
        yield report
    finally:
        bar.close()
