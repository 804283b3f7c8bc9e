# SPDX-License-Identifier: MIT
"""The sections of the page that against_pytorch.py writes."""
import dataclasses
import statistics
import time

from pytorch_networks import narrow_resnet, prepare
from pytorch_page import duration, goal, judged, spread, three_digits
from pytorch_processes import Failed, Marginal, Worker, measured_alone

median = statistics.median
FASTEST_KIND = {"mc": "forward", "taylor": "jacobian", "mmse": "jacobian"}  # whose fastest formulation an estimator uses
SHOWN = {"mc": "`mc`, per sample", "taylor": "`taylor`", "mmse": "`mmse:5`"}
SHORT_SEARCH = 0.1  # seconds per formulation for the table of growth
BATCHED_CALL = 6  # seconds; longer batched calls of the paper's formulation are omitted


@dataclasses.dataclass
class Session:
    """The settings, and the earlier results, that all sections use."""

    probust: object
    architectures: str
    folder: str
    page: object
    threads: list
    rounds: int
    seconds: float  # per measurement
    budget: float  # seconds after which no further round of a network starts; for rounds of an estimator, a quarter of this
    sigma: float
    quick: bool
    choices: dict = dataclasses.field(default_factory=dict)  # PyTorch's fastest formulations, by network, threads and kind
    benches: dict = dataclasses.field(default_factory=dict)  # results of `probust bench`, by network and threads

    def load(self, worker, network, threads):
        return worker.ask("load", path=network.path, sigma=self.sigma, threads=threads)

    def choice(self, worker, network, threads, kind):
        """PyTorch's fastest formulation and batch size for a kind of work, with all threads or one, whichever is
        faster. The model must be loaded."""
        key = (network.name, threads, kind)
        if key not in self.choices:
            if kind in FASTEST_KIND:
                request = self.near(self.choice(worker, network, threads, FASTEST_KIND[kind]), kind)
            else:
                before = [self.choices[network.name, n, kind] for n in self.threads if (network.name, n, kind) in self.choices]
                request = {"names": before[0]["near"]} if before else {}
            found = {**worker.ask("search", kind=kind, seconds=self.seconds / 4, **request), "threads": threads}
            self.choices[key] = min(found, self.choices.get((network.name, 1, kind), found), key=lambda one: one["seconds"])
        return self.choices[key]

    @staticmethod
    def near(known, kind):
        """The choices to try for an estimator: the fastest formulation for its passes, with batch sizes that result in the same
        number of examples per batch."""
        batch = known["batch"]
        batches = {"mc": [batch], "taylor": [batch], "mmse": sorted({1, max(1, batch // 5), batch})}
        return {"names": [known["formulation"]], "batches": batches[kind]}


def described(choice, threads):
    """Describes a formulation and batch size in words."""
    return f"{choice['formulation']}, {choice['batch']}" + (", one thread" if choice["threads"] < threads else "")


def timed(session, worker, kind, choice):
    """PyTorch's seconds per example, noisy sample (mc) or point."""
    request = {key: choice[key] for key in ("formulation", "batch", "threads")}
    return worker.ask("time", kind=kind, seconds=session.seconds, **request)["seconds"]


def repeated(measure, most, budget):
    """The results of up to `most` calls of `measure`: fewer if another call would exceed the budget."""
    results, begin = [], time.monotonic()
    while len(results) < most:
        results.append(measure())
        spent = time.monotonic() - begin
        if spent * (len(results) + 1) / len(results) > budget:
            break
    return results


class Failures:
    """Collects failed measurements, for a list below a table."""

    def __init__(self, page):
        self.page, self.lines = page, []

    def note(self, what, reason):
        self.lines.append(f"{what}: not measured, because {reason}.")

    def say(self):
        for line in dict.fromkeys(self.lines):
            self.page.add("\n" + line)


def for_each(session, networks, measure, failures):
    """Calls `measure` for each network and number of threads. If that fails, notes the reason."""
    for network in networks:
        try:
            with Worker() as worker:
                prepare(network, session.architectures, worker, session.folder)
                for threads in session.threads:
                    measure(worker, network, threads)
        except Failed as reason:
            failures.note(network.label, reason)


# ---- forward and Jacobian


TARGETS = """The numbers are medians over the rounds; ranges are from the smallest to the largest ratio of a round. Bold ratios
reach the target. A forward pass is for one example of a batch. For probust, it is a noisy sample of `mc:N`, which includes
drawing the noise and checking whether the prediction survives; for PyTorch, it does not include noise. A Jacobian is the
gradients of all C - 1 margins at a point, with their Gram matrix. Both sides use the batch size that is fastest for them; for
probust, it is the one that `probust bench` reports."""
DETAILS = """Times are per example. "Default" is probust with the batch size that it chooses itself, as in `probust estimate`.
The last columns give PyTorch's fastest formulation and batch size."""


def round_of_passes(session, worker, network, threads, chosen):
    """Measures both sides once and returns {kind: (seconds of probust, of probust with its default batch size, of PyTorch)}."""
    bench = session.probust.bench(network.path, threads)
    session.benches[network.name, threads] = bench
    result = {}
    for kind, best in chosen.items():
        ours, default = bench[kind + "_us"], bench[kind + "_batches"][0]["us"]
        result[kind] = (1e-6 * ours, 1e-6 * default, timed(session, worker, kind, best))
    return result


def needed(session, network, kind, ratio, target):
    """A sentence about the rate that the target would require."""
    bench = session.benches[network.name, 1]
    flops = sum(one["us"] * one["gflops"] for one in bench[kind + "_kinds"])
    rate = flops / sum(one["us"] for one in bench[kind + "_kinds"])
    name = {"forward": "A forward pass", "jacobian": "A Jacobian"}[kind]
    return (f"{name} runs at {rate:.0f} GFLOP/s; the target requires {rate * target / ratio:.0f}, "
            f"and a matrix product reaches {bench['gemm_gflops']:.0f}")


def passes(session, networks):
    """Adds a table of the ratios with their targets, then one of times and formulations."""
    page, details, missed, failures = session.page, [], {}, Failures(session.page)
    page.section("Forward and margin Jacobian", TARGETS)
    page.table("network", "threads", "forward, ratio", "range", "target", "Jacobian, ratio", "range", "target", "rounds")

    def measure(worker, network, threads):
        session.load(worker, network, threads)
        chosen = {kind: session.choice(worker, network, threads, kind) for kind in ("forward", "jacobian")}
        rounds = repeated(lambda: round_of_passes(session, worker, network, threads, chosen), session.rounds, session.budget)
        cells, detail = [], []
        for kind, target in (("forward", network.forward), ("jacobian", network.jacobian)):
            times = [one[kind] for one in rounds]
            ratios = [theirs / ours for ours, _, theirs in times]
            cells += [judged(ratios, target), spread(ratios), goal(target)]
            detail += [duration(median(side)) for side in zip(*times)]
            detail.append(described(chosen[kind], threads))
            if target and threads == 1 and median(ratios) < target:
                missed.setdefault(network.label, [network.limits]).append(needed(session, network, kind, median(ratios), target))
        page.row(network.label, threads, *cells, len(rounds))
        details.append((network.label, threads, *detail))

    for_each(session, networks, measure, failures)
    failures.say()
    if missed:
        page.add("\nThese targets were missed on one thread (rates count the operations in the definitions of the layers):\n")
    for label, (limits, *rates) in missed.items():
        page.paragraph(f"- {label}: {' '.join(rate + '.' for rate in rates)} {limits}")
    if not missed:
        page.add()
    page.paragraph(DETAILS)
    sides = ["probust", "default", "PyTorch", "formulation, batch"]
    page.table("network", "threads", *("forward: " + side for side in sides), *("Jacobian: " + side for side in sides))
    for detail in details:
        page.row(*detail)


# ---- estimators


ESTIMATORS = """Times are per point (for `mc`, per noisy sample), at sigma {sigma:g}. Those of probust are differences: two runs
of `probust estimate` have different numbers of points (for `mc`, of samples of one point), and the difference in time is divided
by the difference of these numbers. So they include the multivariate normal probability, but not the start of the program.
PyTorch's best is the fastest formulation of the table above in the same batches, up to limits z and correlations R: **it omits
the multivariate normal probability**, which is in its favour. The paper's formulation {cdf}. Its serial form is that of the
paper's table 1. Its batched form is in the other column of the table of runtimes in its preprints; it was measured once, and is
missing if a call takes more than {call} s. Bold ratios reach the target against the serial form."""
ESTIMATORS_MISSED = """If convolutions dominate, as in ResNet-18, the paper's serial formulation takes about twice the time of
PyTorch's best, and its targets are out of reach for the reasons above: with 100 classes, a ratio of 20 would require nine times
the rate of a matrix product. On small networks with 100 classes, most of the time of the paper's `taylor` is SciPy's normal CDF.
`mmse:5` also computes it only once, so its ratio is smaller."""
WITH_CDF = "includes SciPy's multivariate normal CDF"
WITHOUT_CDF = "**omits the multivariate normal CDF**, because SciPy is not installed"


def of_paper(session, worker, kind, threads, batched):
    return worker.ask("paper", kind=kind, batched=batched, threads=threads, seconds=session.seconds)["seconds"]


def round_of_estimator(session, worker, kind, marginal, best):
    """Measures all sides once: the seconds of probust, of PyTorch's best formulation and of the paper's serial formulation."""
    return marginal.measure(), timed(session, worker, kind, best), of_paper(session, worker, kind, marginal.threads, False)


def estimator_row(session, worker, network, threads, kind, shape):
    marginal = Marginal(session.probust, worker, network.path, shape, kind, threads, session.seconds)
    best = session.choice(worker, network, threads, kind)
    rounds = repeated(lambda: round_of_estimator(session, worker, kind, marginal, best), session.rounds, session.budget / 4)
    ours, fastest, serial = (median(side) for side in zip(*rounds))
    to_fastest, to_serial = ([one[k] / one[0] for one in rounds] for k in (1, 2))
    target = network.against_paper if kind != "mc" else 0
    short = serial * {"mc": 100, "taylor": 8, "mmse": 1}[kind] <= BATCHED_CALL
    batched = of_paper(session, worker, kind, threads, True) if short else None
    session.page.row(network.label, threads, SHOWN[kind], duration(ours),
                     duration(fastest), judged(to_fastest, 0), spread(to_fastest),
                     duration(serial), judged(to_serial, target), spread(to_serial), goal(target),
                     *(["-", "-"] if batched is None else [duration(batched), f"{batched / ours:.2f}"]))


def estimators(session, networks, has_scipy):
    page, failures = session.page, Failures(session.page)
    cdf = WITH_CDF if has_scipy else WITHOUT_CDF
    page.section("Estimators", ESTIMATORS.format(sigma=session.sigma, cdf=cdf, call=BATCHED_CALL))
    page.table("network", "threads", "estimator", "probust", "PyTorch's best", "ratio", "range",
               "the paper's, serial", "ratio", "range", "target", "batched", "ratio")

    def measure(worker, network, threads):
        shape = session.load(worker, network, threads)["shape"]
        for kind in SHOWN:
            try:
                estimator_row(session, worker, network, threads, kind, shape)
            except Failed as reason:
                failures.note(f"{network.label}, {threads} thread{'s' * (threads > 1)}, {SHOWN[kind]}", reason)

    for_each(session, networks, measure, failures)
    failures.say()
    if any(network.against_paper for network in networks):
        page.add()
        page.paragraph(ESTIMATORS_MISSED)


# ---- memory and growth: whole tasks, each in a separate process


MEMORY_TASKS = [("paper_cnn", "mc", 16384), ("paper_cnn", "taylor", 1024), ("resnet18", "mc", 256), ("resnet18", "taylor", 16),
                ("resnet18", "mmse", 4), ("resnet50", "taylor", 1)]
MEMORY = """The table has the peak memory of whole processes on one thread (the maximum resident set size), in MiB. PyTorch runs
its fastest formulation and batch size; the paper's formulation is serial and processes one sample or point at a time. PyTorch's
numbers include the {idle:.0f} MiB of a process that only imports PyTorch and numpy. probust stays within `--memory`, 2 GB by
default, and uses less if its batches need less."""
GROWTH = """The table has seconds and peak memory of whole tasks on one thread. In parentheses is the factor relative to the row
above. The seconds of probust are those of the whole process; those of PyTorch omit its start and its first call. The formulation
is the fastest one found by a short search."""


def batch_for(items, batch):
    """The largest divisor of `items` that is at most `batch`."""
    return max(k for k in range(1, min(items, batch) + 1) if items % k == 0)


def whole_task(session, network, kind, items, short_search):
    """(seconds, MiB) of probust and of PyTorch's best formulation, and that formulation. PyTorch's seconds do not include its
    start."""
    with Worker() as worker:
        prepare(network, session.architectures, worker, session.folder)
        shape = session.load(worker, network, 1)["shape"]
        key = (network.name, 1, kind)
        if short_search and key not in session.choices:
            session.choices[key] = {**worker.ask("search", kind=kind, seconds=SHORT_SEARCH), "threads": 1}
        best = session.choice(worker, network, 1, kind)
        data = session.probust.points(worker, shape, 1 if kind == "mc" else items)
    batch = batch_for(items, best["batch"])
    ours = session.probust.estimate(network.path, data, kind, items, 1)
    with Worker() as worker:
        session.load(worker, network, 1)
        answer = worker.ask("total", kind=kind, formulation=best["formulation"], batch=batch, items=items)
        return ours, (answer["seconds"], worker.close()), described({**best, "batch": batch}, 1)


def task_name(kind, items):
    if kind == "mc":
        return f"`mc:{items}`, 1 point"
    return f"{SHOWN[kind]}, {items} point{'s' * (items > 1)}"


def memory(session, networks):
    page, failures = session.page, Failures(session.page)
    page.section("Peak memory", MEMORY.format(idle=measured_alone("idle")[1]))
    page.table("network", "task", "probust", "PyTorch's best", "formulation, batch", "the paper's")
    known = {network.name: network for network in networks}
    for name, kind, items in MEMORY_TASKS:
        if name not in known:
            continue
        network = known[name]
        try:
            ours, theirs, how = whole_task(session, network, kind, items, False)
            paper = measured_alone("paper_total", path=network.path, sigma=session.sigma, threads=1, kind=kind, items=1)[1]
            page.row(network.label, task_name(kind, items), f"{ours[1]:.0f}", f"{theirs[1]:.0f}", how, f"{paper:.0f}")
        except Failed as reason:
            failures.note(f"{network.label}, {task_name(kind, items)}", reason)
    failures.say()


def growth_series(networks, quick):
    """A list of series: the quantity that grows and, for each of its values, (value, network, kind, number of points or
    samples)."""
    cnn = next((network for network in networks if network.name == "paper_cnn"), None)
    series = []
    if cnn:
        series.append((f"points, `taylor`, {cnn.label}", [(n, cnn, "taylor", n) for n in (1024, 2048, 4096)]))
        series.append((f"samples, `mc`, {cnn.label}", [(n, cnn, "mc", n) for n in (32768, 65536, 131072)]))
    if not quick:
        label = narrow_resnet().label
        classes = [(n, narrow_resnet(classes=n), "taylor", 4) for n in (10, 100, 1000)]
        sizes = [(n, narrow_resnet(size=n), "mc", 64) for n in (64, 128, 224)]
        series += [(f"classes, `taylor` on 4 points, {label}", classes), (f"resolution, `mc:64`, {label}", sizes)]
    return series


def with_factor(text, value, before):
    return text if before is None else f"{text} ({value / before:.1f})"


def growth(session, networks):
    page, failures = session.page, Failures(session.page)
    page.section("Growth", GROWTH)
    page.table("what grows", "to", "probust, s", "MiB", "PyTorch, s", "MiB", "formulation, batch")
    for title, steps in growth_series(networks, session.quick):
        before = (None, None), (None, None)
        for value, network, kind, items in steps:
            try:
                *now, how = whole_task(session, network, kind, items, True)
            except Failed as reason:
                failures.note(f"{title}, {value}", reason)
                continue
            cells = [with_factor(text(side[k]), side[k], old[k]) for side, old in zip(now, before)
                     for k, text in ((0, three_digits), (1, "{:.0f}".format))]
            page.row(title, value, *cells, how)
            before = now
    failures.say()


# ---- profile


PROFILE = """The table has the share of the time of each kind of layer on one thread, its rate, and that rate in percent of
Eigen's product of 768 x 768 matrices in the same run, from `probust bench`. Kinds that take less than 1% of both times are left
out. Kinds without matrix products always have low rates. Rates count the operations in the definition of a convolution, so
Winograd's algorithm can exceed 100%."""


def profile(session, networks):
    page, threads = session.page, min(session.threads)
    page.section("Where probust's time goes", PROFILE)
    sides = ["% of time", "GFLOP/s", "% of product"]
    page.table("network", "kind", *("forward: " + side for side in sides), *("Jacobian: " + side for side in sides))
    for network in networks:
        bench = session.benches.get((network.name, threads))
        for row in profile_rows(bench) if bench else []:
            page.row(network.label, *row)
    missing = [network.label for network in networks if (network.name, threads) not in session.benches]
    if missing:
        page.add("\nNot measured: " + "; ".join(missing) + ".")


def profile_rows(bench):
    """Rows of the table, beginning with the kind of layer that has the largest share."""
    sides = [{kind["kind"]: kind for kind in bench[side + "_kinds"]} for side in ("forward", "jacobian")]
    totals = [sum(kind["us"] for kind in side.values()) or 1 for side in sides]
    names = dict.fromkeys([*sides[0], *sides[1]])
    shares = {name: [side[name]["us"] / total if name in side else 0 for side, total in zip(sides, totals)] for name in names}
    for name in sorted(names, key=lambda name: -sum(shares[name])):
        if max(shares[name]) < 0.01:
            continue
        cells = []
        for side, share in zip(sides, shares[name]):
            rate = side[name]["gflops"] if name in side else 0
            known = [f"{100 * share:.0f}", f"{rate:.1f}", f"{100 * rate / bench['gemm_gflops']:.0f}"]
            cells += known if name in side else ["-"] * 3
        yield name, *cells
