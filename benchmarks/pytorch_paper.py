# SPDX-License-Identifier: MIT
"""The estimators of Han, Srinivas and Lakkaraju, "Characterizing Data Point Vulnerability via Average-Case Robustness" (UAI
2024), computed as the paper describes. This was written from the text of the paper alone, not from its code.

What the text specifies:
- "mc": section 3.1, the share of M noisy samples that are classified as x.
- "taylor": Definition 2 with Lemma 1: margins g_i = f_t - f_i and their gradients at x; rows of U are the gradients divided by
  their lengths; the result is the CDF of N(0, U U^T) at g_i / (sigma |grad g_i|).
- "mmse": Definition 3 with N = 5 (section 3.2.2): the same with margins and gradients averaged over noisy samples. Each iteration
  is a forward and a backward pass of one sample (section 4.2).
- The CDF is SciPy's multivariate normal CDF, which the paper cites (section 3.2).
- "Serial" and "batched" are the two columns of the table of runtimes (Table 3 in appendix A.4.8 of the workshop version; Table 1 of
  the UAI version repeats its serial column). Serial handles one sample or point at a time; in Table 1, mmse with n = 5 costs five
  times as much as taylor.

Choices where the text specifies nothing: gradients come from one backward sweep per class, in eager mode;
samples of mc need no gradients and record none; a batch is 100 samples of mc, 8 points of taylor, or the 5 samples of mmse; U
U^T is computed in float64, because SciPy rejects correlations of 100 classes in float32; SciPy is called with the accuracy that
normal_against_scipy.py uses, which is faster than SciPy's default."""
import warnings

import numpy as np
import torch

from pytorch_formulations import Network

try:
    from scipy.stats import multivariate_normal
except ImportError:  # the times of the paper's formulation then omit the CDF
    multivariate_normal = None

ACCURACY = {"maxpts": 10000, "abseps": 1e-4, "releps": 1e-4}
COPIES = 5
BATCHES = {"mc": 100, "taylor": 8, "mmse": 1}


def margin_gradients(network, x, target):
    """Margins [N, C - 1] and their gradients [N, C - 1, d]. One backward sweep per class i != t serves all examples."""
    leaf = x.clone().requires_grad_(True)
    logits = network(leaf)
    g, rows = [], []
    for i in range(logits.shape[1]):
        if i == target:
            continue
        margin = logits[:, target] - logits[:, i]
        gradient, = torch.autograd.grad(margin.sum(), leaf, retain_graph=True)
        g.append(margin.detach())
        rows.append(gradient.flatten(1))
    return torch.stack(g, 1), torch.stack(rows, 1)


def normal_cdf(g, gradients, sigma):
    """p of one point by Lemma 1. g is [C - 1], gradients are [C - 1, d]."""
    gradients = gradients.double()
    norms = gradients.norm(dim=1)
    U = gradients / norms[:, None]
    z, R = (g.double() / (sigma * norms)).numpy(), (U @ U.T).numpy()
    if multivariate_normal is None:
        return float("nan")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(multivariate_normal.cdf(z, mean=np.zeros(len(z)), cov=R, allow_singular=True, **ACCURACY))


class Paper:
    """A model with the paper's estimators. Each returns probabilities, or for mc the number of samples that keep the class."""

    def __init__(self, path, sigma):
        self.network, self.sigma = Network(path).eval(), sigma
        self.shape = self.network.example_shape()

    def predicted(self, x):
        with torch.no_grad():
            return int(self.network(x).argmax(1)[0])

    def noisy(self, x, count):
        return x + self.sigma * torch.randn(count, *self.shape)

    def mc(self, x, target, count):
        """The number of `count` noisy samples of the first point that keep the class."""
        with torch.no_grad():
            return int((self.network(self.noisy(x[:1], count)).argmax(1) == target).sum())

    def taylor(self, x, target):
        """p of each point, with all points in one batch."""
        g, gradients = margin_gradients(self.network, x, target)
        return [normal_cdf(g[k], gradients[k], self.sigma) for k in range(len(x))]

    def mmse(self, x, target, batch):
        """p of one point, whose noisy samples are processed `batch` at a time."""
        g, gradients = 0, 0
        for _ in range(COPIES // batch):
            some_g, some_gradients = margin_gradients(self.network, self.noisy(x, batch), target)
            g, gradients = g + some_g.sum(0), gradients + some_gradients.sum(0)
        return normal_cdf(g / COPIES, gradients / COPIES, self.sigma)

    def make(self, kind, batched):
        """Returns a function without arguments, and the number of samples (mc) or points that one call of it processes."""
        count = BATCHES[kind] if batched else 1
        x = torch.rand(count if kind == "taylor" else 1, *self.shape)
        target = self.predicted(x[:1])  # not timed; all points of a batch share it, which does not change the work
        calls = {"mc": lambda: self.mc(x, target, count), "taylor": lambda: self.taylor(x, target),
                 "mmse": lambda: self.mmse(x, target, COPIES if batched else 1)}
        return calls[kind], count
