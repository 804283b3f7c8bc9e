# SPDX-License-Identifier: MIT
"""The process that runs PyTorch for against_pytorch.py. Requests are lines of JSON on stdin; answers are lines of JSON on stdout.

PyTorch runs in a separate process so that its memory and threads do not disturb the measurements of probust, and so that the
peak memory of the process is that of one task."""
import json
import math
import os
import statistics
import sys
import time
import warnings

import numpy as np
import torch

BATCHES = [1, 4, 16, 64, 256, 1024]
SLOW_CALL = 1.5  # seconds: calls expected to take longer are skipped in a search, as probust bench does
SLOWER = 1.3  # formulations that are slower than the fastest one by this factor are not tried with larger batches
NEAR = 1.5  # a search with another number of threads tries only formulations within this factor of the fastest one


def timed(body):
    start = time.perf_counter()
    body()
    return time.perf_counter() - start


def median_time(body, seconds):
    """Seconds per call: the median of as many calls as fit into `seconds`. The first three calls are not counted, because
    TorchScript optimizes in the second one. If a call takes long, only the first one, or none, is omitted."""
    first = timed(body)
    if first > max(SLOW_CALL, seconds):
        return first
    if 3 * first > seconds:
        return timed(body)
    timed(body)
    timed(body)
    times, begin = [], time.perf_counter()
    while not times or time.perf_counter() - begin < seconds:
        times.append(timed(body))
    return statistics.median(times)


def write_cnn(path, classes):
    """The small network of Han, Srinivas and Lakkaraju, for 28 x 28 images, with random weights."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    random = np.random.default_rng(1)
    weights = []

    def weight(name, *shape):
        scale = math.prod(shape[1:]) ** -0.5
        value = random.uniform(-scale, scale, shape) if len(shape) > 1 else random.uniform(-0.05, 0.05, shape)
        weights.append(numpy_helper.from_array(value.astype(np.float32), name))
        return name

    def node(op, operands, result, **attributes):
        return helper.make_node(op, operands, [result], **attributes)

    def pool(operand, result):
        return node("MaxPool", [operand], result, kernel_shape=[2, 2], strides=[2, 2])

    nodes = [node("Conv", ["x", weight("w1", 10, 1, 5, 5), weight("b1", 10)], "c1", kernel_shape=[5, 5]),
             node("Relu", ["c1"], "r1"), pool("r1", "p1"),
             node("Conv", ["p1", weight("w2", 20, 10, 5, 5), weight("b2", 20)], "c2", kernel_shape=[5, 5]),
             node("Relu", ["c2"], "r2"), pool("r2", "p2"), node("Flatten", ["p2"], "f"),
             node("Gemm", ["f", weight("w3", 50, 320), weight("b3", 50)], "h", transB=1), node("Relu", ["h"], "r3"),
             node("Gemm", ["r3", weight("w4", classes, 50), weight("b4", classes)], "logits", transB=1)]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
              for name, shape in (("x", ["n", 1, 28, 28]), ("logits", ["n", classes]))]
    graph = helper.make_graph(nodes, "paper_cnn", values[:1], values[1:], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    onnx.save(model, path)


class Worker:
    """Each public method handles the requests that have its name."""

    def __init__(self):
        torch.manual_seed(1)
        self.path, self.sigma, self.model, self.made = None, 0.1, None, {}

    def idle(self):
        """Does nothing, so that only the imports use memory."""
        return {}

    def versions(self):
        try:
            import scipy
            return {"torch": torch.__version__, "scipy": scipy.__version__}
        except ImportError:
            return {"torch": torch.__version__, "scipy": None}

    def product(self, threads):
        """GFLOP/s of a product of 768 x 768 matrices, which shows whether PyTorch has a fast BLAS."""
        torch.set_num_threads(threads)
        a, b = torch.rand(768, 768), torch.rand(768, 768)
        return {"gflops": 2e-9 * 768**3 / median_time(lambda: a @ b, 0.3), "onednn": torch.backends.mkldnn.is_available()}

    def cnn(self, path, classes):
        write_cnn(path, classes)
        return {}

    def data(self, path, shape):
        np.save(path, np.random.default_rng(1).uniform(0, 1, shape).astype(np.float32))
        return {}

    def load(self, path, sigma, threads):
        """Loads the model for later calls of `search`, `time`, `total` or `paper`."""
        torch.set_num_threads(threads)
        if path != self.path:
            from pytorch_formulations import Formulations
            self.path, self.sigma, self.model = path, sigma, Formulations(path, sigma)
        self.made = {}
        return {"shape": self.model.shape, "classes": self.model.classes}

    def body(self, kind, formulation, batch):
        """A function without arguments. It is stored, because tracing takes time."""
        key = (kind, formulation, batch)
        if key not in self.made:
            function, x = self.model.make(kind, formulation, batch), self.model.points(kind, formulation, batch)
            self.made[key] = lambda: function(x)
        return self.made[key]

    def search(self, kind, seconds, names=None, batches=None):
        """The fastest formulation and batch size, and the names of formulations that are nearly as fast. Formulations for which
        this version of PyTorch raises an error are omitted."""
        best, last, refused = None, {}, set()
        for batch in batches or BATCHES:
            for name in names or self.model.names(kind):
                expected = last.get(name, 0) * batch
                behind = best is not None and last.get(name, 0) > SLOWER * best["seconds"]
                if name in refused or behind or expected > SLOW_CALL or not self.model.fits(kind, name, batch):
                    continue
                try:
                    last[name] = median_time(self.body(kind, name, batch), seconds) / batch
                except (RuntimeError, NotImplementedError):
                    refused.add(name)
                    continue
                finally:
                    self.made = {}
                if best is None or last[name] < best["seconds"]:
                    best = {"seconds": last[name], "formulation": name, "batch": batch}
        if best is None:
            raise RuntimeError(f"no formulation of {kind} runs")
        return {**best, "near": [name for name, seconds in last.items() if seconds < NEAR * best["seconds"]]}

    def time(self, kind, formulation, batch, threads, seconds):
        """Seconds per example, noisy sample (mc) or point."""
        torch.set_num_threads(threads)
        return {"seconds": median_time(self.body(kind, formulation, batch), seconds) / batch}

    def total(self, kind, formulation, batch, items):
        """Seconds for `items` noisy samples (mc) or points, after one call that is not counted. `items` must be a multiple of
        `batch`."""
        function, x = self.model.make(kind, formulation, batch), self.model.points(kind, formulation, items)
        function(x[:batch])
        start = time.perf_counter()
        for first in range(0, items, batch):
            function(x if kind == "mc" else x[first:first + batch])
        return {"seconds": time.perf_counter() - start}

    def paper(self, kind, batched, threads, seconds):
        """Seconds per noisy sample (mc) or point of the paper's formulation, with all threads or one, whichever is faster."""
        from pytorch_paper import Paper
        call, count = Paper(self.path, self.sigma).make(kind, batched)
        times = []
        for some in {1, threads}:
            torch.set_num_threads(some)
            times.append(median_time(call, seconds))
        return {"seconds": min(times) / count}

    def paper_total(self, path, sigma, threads, kind, items):
        """Seconds for `items` noisy samples (mc) or points of the paper's serial formulation."""
        from pytorch_paper import Paper
        torch.set_num_threads(threads)
        call, _ = Paper(path, sigma).make(kind, False)
        start = time.perf_counter()
        for _ in range(items):
            call()
        return {"seconds": time.perf_counter() - start}


def main():
    warnings.simplefilter("ignore")
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # keeps the output of libraries out of the answers
    worker = Worker()
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = getattr(worker, request.pop("do"))(**request)
        except Exception as error:  # the caller decides what an error means
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


main()
