#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares probust with PyTorch on the same ONNX files, measured in turn in one run, and writes docs/performance.md.

    against_pytorch.py [PROBUST] [-o docs/performance.md] [--threads 1,2] [--rounds 3] [--quick] [--only passes,memory]

Measures forward passes, margin Jacobians and the estimators mc, taylor and mmse:5; peak memory; how time and memory grow with
points, classes, samples and resolution; and in which layers probust spends its time. PyTorch runs the fastest of several
formulations and batch sizes (pytorch_formulations.py), and also the paper's own formulation (pytorch_paper.py). Ratios are
PyTorch's time divided by probust's.

A full run takes up to 25 minutes, and one with --quick about two. Nothing else should run on the machine. Needs PyTorch, onnx and
numpy; with SciPy, the paper's formulation includes the multivariate normal CDF. On Debian:

    apt-get install --no-install-recommends python3-torch python3-onnx python3-numpy python3-scipy libopenblas0-openmp

On Debian without libopenblas0-openmp, PyTorch's matrix products are 25 times slower; the page has a warning if they are
slow."""
import argparse
import os
import shutil
import sys
import tempfile
import time

import pytorch_sections as sections
from pytorch_networks import HUNDRED, NETWORKS, QUICK, given
from pytorch_page import Page, cores, processor
from pytorch_processes import Failed, Probust, Worker

BUILT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "build", "release", "bin")
SECTIONS = ["passes", "estimators", "memory", "growth", "profile"]
ESTIMATED = ["paper_cnn", "resnet18", "cifar10_resnet_2b"]  # estimators are also measured on the networks with 100 classes
KNOWN = [network.name for network in NETWORKS]
DEFAULTS = {"threads": "1,2", "rounds": 3, "seconds": 0.8, "budget": 45, "names": ",".join(n.name for n in NETWORKS + HUNDRED)}
QUICKLY = {"threads": "1", "rounds": 1, "seconds": 0.2, "budget": 10, "names": ",".join(QUICK)}
SLOW_BLAS = 0.5  # a BLAS counts as slow below this fraction of the speed of Eigen's product

INTRO = [
    """probust and PyTorch run the same ONNX files, and are measured in turn in one run. **Ratios are PyTorch's time divided by
    probust's: above 1, probust is faster.** `benchmarks/against_pytorch.py -o docs/performance.md` writes this page. Networks
    other than `cifar10_resnet_2b` have random weights; the points are random.""",
    """A search first finds the fastest of several formulations and batch sizes for PyTorch. For forward passes, they are eager,
    frozen by TorchScript (`frozen`), and optimized for inference (`fused`). For Jacobians, they are one batch with a
    repetition of the point for each rival (`repeated`), one sweep per rival (`one by one`), and sweeps batched by vmap
    (`vectorized`). Most are also tried with channels last. If several threads are available but one is faster, PyTorch uses
    one. Batch normalisation after convolutions is folded. `torch.compile` is not used.""",
    """"The paper" is Han, Srinivas and Lakkaraju (UAI 2024). Its formulation was implemented from its text;
    `benchmarks/pytorch_paper.py` lists what the text does not specify."""]


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("probust", nargs="?", default=os.path.join(BUILT, "probust"))
    parser.add_argument("--architectures", help="the program probust-architectures (default: next to PROBUST)")
    parser.add_argument("-o", "--output", help="also write the page to this file")
    parser.add_argument("--threads", help="default: 1,2")
    parser.add_argument("--rounds", type=int, help="at most; slow networks get fewer (default: 3)")
    parser.add_argument("--names", help="networks, separated by commas (default: all)")
    parser.add_argument("--models", nargs="*", default=[], help="ONNX files to measure in addition")
    parser.add_argument("--only", default=",".join(SECTIONS), help="some of " + ",".join(SECTIONS))
    parser.add_argument("--seconds", type=float, help="of each measurement (default: 0.8)")
    parser.add_argument("--budget", type=float, help="seconds for all rounds of a network (default: 45)")
    parser.add_argument("--sigma", type=float, default=0.1, help="of the noise; the paper's runtimes are for 0.1")
    parser.add_argument("--quick", action="store_true", help="small networks, one thread, one round, short measurements")
    options = parser.parse_args()
    for name, value in (QUICKLY if options.quick else DEFAULTS).items():
        if getattr(options, name) is None:
            setattr(options, name, value)
    options.architectures = options.architectures or os.path.join(os.path.dirname(options.probust), "probust-architectures")
    if not os.path.exists(options.architectures):
        options.architectures = None
    unknown = set(options.only.split(",")) - set(SECTIONS)
    if unknown:
        parser.error(f"--only: {', '.join(sorted(unknown))} is not one of {', '.join(SECTIONS)}")
    return options


def describe(page, probust, versions, product):
    """Adds the section about the hardware and the versions."""
    build, (name, flags) = probust.version(), processor()
    page.section("Machine and versions")
    page.add(f"- {cores()} cores, {name}, {', '.join(flags)}; load before the run {os.getloadavg()[0]:.1f}")
    page.add(f"- probust {build['version']}, {build['build_type']}, {build['compiler']}, -march={build['march']}")
    onednn, scipy = "with" if product["onednn"] else "**without**", versions["scipy"] or "is not installed"
    page.add(f"- PyTorch {versions['torch']}, {onednn} oneDNN; SciPy {scipy}")


def compare_products(page, session, product):
    """Adds the speed of PyTorch's BLAS and of Eigen, with a warning if PyTorch's is slow."""
    rates = [bench["gemm_gflops"] for (_, threads), bench in session.benches.items() if threads == 1]
    if not rates:
        return
    eigen = max(rates)
    page.add(f"\nA product of 768 x 768 matrices on one thread: PyTorch {product['gflops']:.0f} GFLOP/s, Eigen {eigen:.0f}.")
    if product["gflops"] < SLOW_BLAS * eigen:
        page.add("\n**PyTorch uses a slow BLAS here, so its times are too long.** On Debian, install libopenblas0-openmp.")


def chosen_networks(options):
    """Returns the networks of the first table, and those for which estimators are measured."""
    names = options.names.split(",")
    networks = [network for network in NETWORKS if network.name in names] + [given(path) for path in options.models]
    slow = ["resnet18"] if options.quick else []
    estimated = [network for network in networks if network.name in ESTIMATED or network.name not in KNOWN]
    estimated = [network for network in estimated if network.name not in slow]
    return networks, estimated + [network for network in HUNDRED if network.name in names]


def write_page(options, probust, folder):
    page, start = Page(options.output), time.monotonic()
    with Worker() as worker:
        versions, product = worker.ask("versions"), worker.ask("product", threads=1)
    threads = sorted({int(count) for count in options.threads.split(",")})
    session = sections.Session(probust, options.architectures, folder, page, threads, options.rounds, options.seconds,
                               options.budget, options.sigma, options.quick)
    networks, estimated = chosen_networks(options)
    page.add("# Performance\n")
    for text in INTRO:
        page.paragraph(text)
    describe(page, probust, versions, product)
    wanted = options.only.split(",")
    if "passes" in wanted:
        sections.passes(session, networks)
        compare_products(page, session, product)
    if "estimators" in wanted:
        sections.estimators(session, estimated, versions["scipy"] is not None)
    if "memory" in wanted:
        sections.memory(session, networks)
    if "growth" in wanted:
        sections.growth(session, networks)
    if "profile" in wanted:
        sections.profile(session, networks)
    most = f"{options.rounds} round{'s' * (options.rounds > 1)}"
    page.add(f"\nThe run took {(time.monotonic() - start) / 60:.0f} minutes, with at most {most} of {options.seconds:g} s.")


def main():
    options = parsed()
    with tempfile.TemporaryDirectory() as folder:
        try:
            program = shutil.copy(options.probust, folder)  # so that a build in the meantime does not replace it
            write_page(options, Probust(program, options.sigma, folder), folder)
        except (Failed, OSError) as reason:
            sys.exit(f"against_pytorch.py: {reason}")


if __name__ == "__main__":
    main()
