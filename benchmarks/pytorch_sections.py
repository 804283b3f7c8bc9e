# SPDX-License-Identifier: MIT
"""The sections of the page that against_pytorch.py writes."""
import dataclasses
import statistics
import time

from pytorch_networks import narrow_resnet, prepare
from pytorch_page import duration, goal, judged, spread, three_digits
from pytorch_processes import Failed, Marginal, Worker, measured_alone

median = statistics.median
FASTEST_KIND = {"mc": "forward", "taylor": "jacobian", "mmse": "jacobian"}  # whose fastest formulation an estimator takes
SHOWN = {"mc": "`mc`, per copy", "taylor": "`taylor`", "mmse": "`mmse:5`"}
SHORT_SEARCH = 0.1  # seconds per formulation for the table of growth
BATCHED_CALL = 6  # seconds: longer batched calls of the paper's formulation are left out


@dataclasses.dataclass
class Session:
    """What all sections share."""

    probust: object
    architectures: str
    folder: str
    page: object
    threads: list
    rounds: int
    seconds: float  # of a measurement
    budget: float  # seconds for the rounds of a network (of an estimator: a quarter), after which no further round starts
    sigma: float
    choices: dict = dataclasses.field(default_factory=dict)  # PyTorch's fastest, by network, threads and kind
    benches: dict = dataclasses.field(default_factory=dict)  # what probust bench printed, by network and threads

    def load(self, worker, network, threads):
        return worker.ask("load", path=network.path, sigma=self.sigma, threads=threads)

    def choice(self, worker, network, threads, kind):
        """PyTorch's fastest formulation and batch of a kind. The model is loaded."""
        key = (network.name, threads, kind)
        if key not in self.choices:
            request = {"kind": kind, "seconds": self.seconds / 4}
            if kind in FASTEST_KIND:
                known = self.choice(worker, network, threads, FASTEST_KIND[kind])
                batch = known["batch"]
                request |= {"names": [known["formulation"]], "batches": sorted({1, max(1, batch // 5), batch} if kind == "mmse" else {batch})}
            self.choices[key] = worker.ask("search", **request)
        return self.choices[key]


def repeated(measure, most, budget):
    """Results of at most `most` calls; fewer if another would not fit the budget."""
    results, begin = [], time.monotonic()
    while len(results) < most:
        results.append(measure())
        spent = time.monotonic() - begin
        if spent * (len(results) + 1) / len(results) > budget:
            break
    return results


def for_each(session, networks, measure, failures):
    """Calls `measure` for each network and number of threads; notes why if that fails."""
    for network in networks:
        try:
            with Worker() as worker:
                prepare(network, session.architectures, worker, session.folder)
                for threads in session.threads:
                    measure(session, worker, network, threads)
        except Failed as reason:
            failures.append(f"{network.label} is not in the table: {reason}.")


def say_failures(session, failures):
    if failures:
        session.page.add()
    for line in dict.fromkeys(failures):
        session.page.add(line)


# ---- forward and Jacobian


TARGETS = """Medians of the rounds; ranges are the smallest and the largest ratio of a round. Bold: the target is reached. A forward is one example of
a batch. On probust's side it is a noisy copy of `mc:N`, which includes drawing the noise and counting; PyTorch's forward draws no noise.
A Jacobian is the gradients of all C - 1 margins at a point, with their Gram matrix."""


def round_of_passes(session, worker, network, threads, chosen):
    """Both sides once: {kind: (seconds of probust, of PyTorch)}."""
    bench = session.probust.bench(network.path, threads)
    session.benches[network.name, threads] = bench
    return {kind: (1e-6 * bench[kind + "_us"],
                   worker.ask("time", kind=kind, formulation=best["formulation"], batch=best["batch"], seconds=session.seconds)["seconds"])
            for kind, best in chosen.items()}


def passes(session, networks):
    """Targets and what was reached, then times and formulations."""
    page, details, failures = session.page, [], []
    page.section("Forward and margin Jacobian", TARGETS)
    page.table("network", "threads", "forward, ratio", "range", "target", "Jacobian, ratio", "range", "target", "rounds")

    def measure(session, worker, network, threads):
        session.load(worker, network, threads)
        chosen = {kind: session.choice(worker, network, threads, kind) for kind in ("forward", "jacobian")}
        rounds = repeated(lambda: round_of_passes(session, worker, network, threads, chosen), session.rounds, session.budget)
        cells, detail = [], []
        for kind, target in (("forward", network.forward), ("jacobian", network.jacobian)):
            ratios = [theirs / ours for ours, theirs in (one[kind] for one in rounds)]
            cells += [judged(ratios, target), spread(ratios), goal(target)]
            detail += [duration(median(one[kind][side] for one in rounds)) for side in (0, 1)]
            detail.append(f"{chosen[kind]['formulation']}, {chosen[kind]['batch']}")
        page.row(network.label, threads, *cells, len(rounds))
        details.append((network.label, threads, *detail))

    for_each(session, networks, measure, failures)
    say_failures(session, failures)
    page.add("\nTimes per example, and the formulation and batch that were fastest in PyTorch:\n")
    page.table("network", "threads", "forward: probust", "PyTorch", "formulation, batch", "Jacobian: probust", "PyTorch", "formulation, batch")
    for detail in details:
        page.row(*detail)


# ---- estimators


ESTIMATORS = """Seconds per point, for `mc` per noisy copy, at sigma {sigma:g}. probust's are differences of two runs of `probust estimate` with different
numbers of points (for `mc`: of copies of one point), divided by the difference of these numbers: the start of the program does not count,
the multivariate normal probability does. PyTorch's best is the fastest formulation of the table above in the same batches, up to limits z
and correlations R: **it omits the multivariate normal probability**, which is in its favour. The paper's formulation {cdf}. Its serial
form is that of the paper's table 1. The batched form, the other column of the paper's table of runtimes, is measured once, and left out
where a call takes more than {call} s. Bold: the target against the serial form is reached."""
WITH_CDF = "includes SciPy's multivariate normal CDF"
WITHOUT_CDF = "**omits the multivariate normal CDF**, because SciPy is not installed"


def round_of_estimator(session, worker, kind, marginal, best):
    """Both sides once: seconds of probust, of PyTorch's best and of the paper's serial formulation."""
    return (marginal.measure(),
            worker.ask("time", kind=kind, formulation=best["formulation"], batch=best["batch"], seconds=session.seconds)["seconds"],
            worker.ask("paper", kind=kind, batched=False, seconds=session.seconds)["seconds"])


def batched_time(session, worker, kind, serial):
    """The paper's batched formulation, or None if it would take long."""
    items = {"mc": 100, "taylor": 8, "mmse": 1}[kind]
    if serial * items > BATCHED_CALL:
        return None
    return worker.ask("paper", kind=kind, batched=True, seconds=session.seconds)["seconds"]


def estimator_row(session, worker, network, threads, kind, shape):
    marginal = Marginal(session.probust, worker, network.path, shape, kind, threads, session.seconds)
    best = session.choice(worker, network, threads, kind)
    rounds = repeated(lambda: round_of_estimator(session, worker, kind, marginal, best), session.rounds, session.budget / 4)
    ours, fastest, serial = (median(one[k] for one in rounds) for k in range(3))
    to_fastest, to_serial = ([one[k] / one[0] for one in rounds] for k in (1, 2))
    target = network.against_paper if kind != "mc" else 0
    batched = batched_time(session, worker, kind, serial)
    session.page.row(network.label, threads, SHOWN[kind], duration(ours), duration(fastest), judged(to_fastest, 0), spread(to_fastest),
                     duration(serial), judged(to_serial, target), spread(to_serial), goal(target),
                     *(["-", "-"] if batched is None else [duration(batched), f"{batched / ours:.2f}"]))


def estimators(session, networks, has_scipy):
    page, failures = session.page, []
    page.section("Estimators", ESTIMATORS.format(sigma=session.sigma, cdf=WITH_CDF if has_scipy else WITHOUT_CDF, call=BATCHED_CALL))
    page.table("network", "threads", "estimator", "probust", "PyTorch's best", "ratio", "range", "the paper's, serial", "ratio", "range", "target",
               "batched", "ratio")

    def measure(session, worker, network, threads):
        shape = session.load(worker, network, threads)["shape"]
        for kind in SHOWN:
            estimator_row(session, worker, network, threads, kind, shape)

    for_each(session, networks, measure, failures)
    say_failures(session, failures)


# ---- memory and growth: whole tasks, each in a process of its own


def batch_for(items, batch):
    """The largest divisor of `items` that is at most `batch`."""
    return max(k for k in range(1, min(items, batch) + 1) if items % k == 0)


def whole_task(session, worker, network, kind, items, best):
    """(seconds, MiB) of probust and of PyTorch's best on one thread. PyTorch's seconds do not contain its start."""
    shape = session.load(worker, network, 1)["shape"]
    ours = session.probust.estimate(network.path, session.probust.points(worker, shape, 1 if kind == "mc" else items), kind, items, 1)
    with Worker() as alone:
        session.load(alone, network, 1)
        answer = alone.ask("total", kind=kind, formulation=best["formulation"], batch=batch_for(items, best["batch"]), items=items)
        return ours, (answer["seconds"], alone.close())


MEMORY_TASKS = [("paper_cnn", "mc", 16384), ("paper_cnn", "taylor", 1024), ("resnet18", "mc", 256), ("resnet18", "taylor", 16),
                ("resnet18", "mmse", 4), ("resnet50", "taylor", 1)]
MEMORY = """Peak memory of whole processes on one thread (the maximum resident set size), in MiB. PyTorch runs the formulation and batch that are
fastest; the paper's is serial. A process that only imports PyTorch and numpy takes {idle:.0f} MiB, which is part of PyTorch's numbers. probust keeps to
`--memory` (2 GB by default) and uses less if batches need less."""


def memory(session, networks):
    page, failures = session.page, []
    page.section("Peak memory", MEMORY.format(idle=measured_alone("idle")[1]))
    page.table("network", "task", "probust", "PyTorch's best", "batch", "the paper's")
    known = {network.name: network for network in networks}
    for name, kind, items in MEMORY_TASKS:
        if name not in known:
            continue
        network, task = known[name], {"mc": f"`mc:{items}`, 1 point"}.get(kind, f"{SHOWN[kind]}, {items} point{'s' * (items > 1)}")
        try:
            with Worker() as worker:
                prepare(network, session.architectures, worker, session.folder)
                session.load(worker, network, 1)
                best = session.choice(worker, network, 1, kind)
                ours, theirs = whole_task(session, worker, network, kind, items, best)
            paper = measured_alone("paper_total", path=network.path, sigma=session.sigma, threads=1, kind=kind, items=1)[1]
            page.row(network.label, task, f"{ours[1]:.0f}", f"{theirs[1]:.0f}", batch_for(items, best["batch"]), f"{paper:.0f}")
        except Failed as reason:
            failures.append(f"{network.label}, {task} is not in the table: {reason}.")
    say_failures(session, failures)


GROWTH = """Whole tasks on one thread: seconds and peak memory, and in parentheses the factor to the row above. probust's seconds are those of the whole
process, PyTorch's leave out its start and its first call. The formulation is the one that a short search found to be fastest."""


def growth_series(networks):
    """[(what grows, [(its value, network, kind, items)])]"""
    known = {network.name: network for network in networks}
    series = []
    if "paper_cnn" in known:
        cnn = known["paper_cnn"]
        series.append((f"points, `taylor`, {cnn.label}", [(n, cnn, "taylor", n) for n in (2048, 4096, 8192)]))
        series.append((f"samples, `mc`, {cnn.label}", [(n, cnn, "mc", n) for n in (32768, 65536, 131072)]))
    series.append(("classes, `taylor` on 4 points, " + narrow_resnet().label, [(n, narrow_resnet(classes=n), "taylor", 4) for n in (10, 100, 1000)]))
    series.append(("resolution, `mc:64`, ResNet-18 of a quarter of the width", [(n, narrow_resnet(size=n), "mc", 64) for n in (64, 128, 224)]))
    return series


def with_factor(text, value, before):
    return text if before is None else f"{text} ({value / before:.1f})"


def growth(session, networks):
    page, failures = session.page, []
    page.section("Growth", GROWTH)
    page.table("what grows", "to", "probust, s", "MiB", "PyTorch, s", "MiB", "formulation, batch")
    for title, steps in growth_series(networks):
        before = (None, None), (None, None)
        for value, network, kind, items in steps:
            try:
                with Worker() as worker:
                    prepare(network, session.architectures, worker, session.folder)
                    session.load(worker, network, 1)
                    best = session.choices.get((network.name, 1, kind)) or worker.ask("search", kind=kind, seconds=SHORT_SEARCH)
                    session.choices[network.name, 1, kind] = best
                    now = whole_task(session, worker, network, kind, items, best)
            except Failed as reason:
                failures.append(f"{title}, {value} is not in the table: {reason}.")
                continue
            cells = [with_factor(text(side[k]), side[k], old[k]) for side, old in zip(now, before)
                     for k, text in ((0, three_digits), (1, "{:.0f}".format))]
            page.row(title, value, *cells, f"{best['formulation']}, {batch_for(items, best['batch'])}")
            before = now
    say_failures(session, failures)


# ---- profile


PROFILE = """Share of the time of each kind of layer on one thread, its rate, and that rate in percent of Eigen's product of 768 x 768 matrices in the same
run, from `probust bench`. Kinds with less than 1% of either time are left out. Kinds without multiplications count few operations, so their
rates are low by nature."""


def profile(session, networks):
    page, threads = session.page, min(session.threads)
    page.section("Where probust's time goes", PROFILE)
    page.table("network", "kind", "forward, % of time", "GFLOP/s", "% of product", "Jacobian, % of time", "GFLOP/s", "% of product")
    for network in networks:
        bench = session.benches.get((network.name, threads))
        for row in profile_rows(bench) if bench else []:
            page.row(network.label, *row)
    missing = [network.label for network in networks if (network.name, threads) not in session.benches]
    if missing:
        page.add("\nNot measured: " + "; ".join(missing) + ".")


def profile_rows(bench):
    sides = [{kind["kind"]: kind for kind in bench[side + "_kinds"]} for side in ("forward", "jacobian")]
    totals = [sum(kind["us"] for kind in side.values()) or 1 for side in sides]
    shares = {name: [side[name]["us"] / total if name in side else 0 for side, total in zip(sides, totals)] for name in [*sides[0], *sides[1]]}
    for name, share in sorted(shares.items(), key=lambda item: -sum(item[1])):
        if max(share) < 0.01:
            continue
        cells = []
        for side, part in zip(sides, share):
            kind = side.get(name)
            cells += [f"{100 * part:.0f}", f"{kind['gflops']:.1f}", f"{100 * kind['gflops'] / bench['gemm_gflops']:.0f}"] if kind else ["-"] * 3
        yield name, *cells
