# SPDX-License-Identifier: MIT
"""The networks that against_pytorch.py measures, and the ratios that probust should reach on them."""
import dataclasses
import os
import subprocess

from pytorch_processes import Failed

SHARED = os.environ.get("PROBUST_SHARED", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "shared"))


@dataclasses.dataclass
class Network:
    """One ONNX file, and how to obtain it. Targets are ratios: PyTorch's time divided by probust's."""

    name: str
    label: str
    forward: float = 0  # this and the next two are targets; 0 means none
    jacobian: float = 0
    against_paper: float = 0
    architecture: str = ""  # its name for probust-architectures; if empty, a shared file or the paper's CNN
    options: tuple = ()
    classes: int = 10
    path: str = ""
    limits: str = ""  # what takes most of the time; the page quotes this if a target is missed


NETWORKS = [
    Network("paper_cnn", "the paper's CNN, 28 x 28", 4, 2, 5),
    Network("resnet18", "ResNet-18, 32 x 32", 1.2, 2, 5, "resnet18",
            limits="In a Jacobian, the products of Winograd's algorithm take about 40% of the time, its transforms take 20%, "
                   "masks and residual sums take 10%, and copies take 6%."),
    Network("cifar10_resnet_2b", "cifar10_resnet_2b, 32 x 32", 3, 2, 5,
            limits="Its convolutions have few channels, so each operand is used only a few times after it is read."),
    Network("mobilenet_v2", "MobileNetV2, 224 x 224", 1, 1.5, 0, "mobilenet_v2",
            limits="The values between its layers are large, and each is used in only a few operations. With nine rivals, a "
                   "Jacobian writes and reads about 0.5 GB for each point, which is more than any cache holds."),
    Network("densenet121", "DenseNet-121, 224 x 224", 1, 1.5, 0, "densenet121",
            limits="Its 1 x 1 convolutions dominate. With a batch of one point, their operands come from the third-level "
                   "cache. Concatenations and slices take time for copying."),
    Network("vit_b16", "ViT-B/16, 224 x 224", 1, 1.5, 0, "vit_b16",
            limits="Its matrix products already run at 75% to 90% of the rate of a large one. Softmax, erf, transposes and "
                   "the sums of layer normalisation take most of the other time."),
    Network("resnet50", "ResNet-50, 224 x 224", 1, 1.5, 0, "resnet50",
            limits="Its 1 x 1 convolutions dominate. With a batch of one point, their operands come from the third-level "
                   "cache."),
]
HUNDRED = [
    Network("paper_cnn_100", "the paper's CNN, 100 classes", 0, 0, 20, "", (), 100),
    Network("resnet18_100", "ResNet-18, 100 classes", 0, 0, 20, "resnet18", ("--classes", "100"), 100),
]
QUICK = ["paper_cnn", "resnet18", "cifar10_resnet_2b", "paper_cnn_100"]


def narrow_resnet(classes=10, size=32):
    """ResNet-18 with a quarter of its channels, to measure in little time how cost grows with classes and resolution."""
    options = ("--width", "0.25", "--classes", str(classes), "--size", str(size))
    return Network(f"narrow_{classes}_{size}", "ResNet-18 of a quarter of the width", 0, 0, 0, "resnet18", options, classes)


def given(path):
    """A network given on the command line, which has no targets."""
    name = os.path.splitext(os.path.basename(path))[0]
    return Network(name, name, path=path)


def prepare(network, architectures, worker, folder):
    """Writes or finds the ONNX file, or fails with the reason."""
    if network.path:
        return
    if network.architecture:
        if not architectures:
            raise Failed("the program probust-architectures is missing")
        into = os.path.join(folder, network.name)
        command = [architectures, network.architecture, into, *network.options]
        if subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode != 0:
            raise Failed("probust-architectures could not write it")
        network.path = os.path.join(into, network.architecture + ".onnx")
    elif network.name.startswith("paper_cnn"):
        path = os.path.join(folder, network.name + ".onnx")
        worker.ask("cnn", path=path, classes=network.classes)
        network.path = path
    else:
        path = os.path.join(SHARED, "models", network.name + ".onnx")
        if not os.path.exists(path):
            raise Failed("it is not in the shared folder (PROBUST_SHARED)")
        network.path = path
