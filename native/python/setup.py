# SPDX-License-Identifier: MIT
"""Builds the extension with CMake, so that `pip wheel` creates a wheel that needs no library except the C and C++ runtime.

On x86-64, the library is compiled for several instruction sets, and the system's loader selects one (packaging/CMakeLists.txt).
PROBUST_VARIANTS selects fewer of them, such as "x86-64-v3", for a faster build.
"""
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = pathlib.Path(__file__).resolve().parents[2]
VERSION = re.search(r"VERSION ([0-9.]+) LANGUAGES", (ROOT / "CMakeLists.txt").read_text()).group(1)
OF_X86 = "x86-64 x86-64-v3 x86-64-v4"


def variants():
    """The instruction sets to compile for. The first one is for any processor."""
    return os.environ.get("PROBUST_VARIANTS", OF_X86 if platform.machine() == "x86_64" else "").split() or [""]


class BuildWithCMake(build_ext):
    """Installs the components `python` and `python_library` in the folder from which setuptools builds the wheel."""

    def run(self):
        if self.inplace:
            raise SystemExit("editable installations are not supported: build/release/python is the package of a build")
        into = pathlib.Path(self.build_lib).resolve()
        for licence in ("LICENSE", "packaging/LICENSES-OF-COMPONENTS"):
            shutil.copy(ROOT / licence, into / "probust")
        for i, variant in enumerate(variants()):
            folder = ROOT / "build" / "wheel" / (variant or "own")
            options = {
                "CMAKE_BUILD_TYPE": "Release",
                "CMAKE_UNITY_BUILD": "ON",
                "PROBUST_TESTS": "OFF",
                "PROBUST_DISPATCH": "ON",
                "PROBUST_ARCH": variant,
                "PROBUST_PYTHON_DESTINATION": ".",
                "Python_EXECUTABLE": sys.executable,
            }
            self.call("-S", ROOT, "-B", folder, "-G", "Ninja", *(f"-D{name}={value}" for name, value in options.items()))
            targets = ["probust_python"] + (["probust_python_module"] if i == 0 else [])
            self.call("--build", folder, "--target", *targets)
            for component in ["python_library"] + (["python"] if i == 0 else []):
                self.call("--install", folder, "--component", component, "--prefix", into, "--strip")

    @staticmethod
    def call(*words):
        subprocess.run(["cmake", *map(str, words)], check=True)


WORK = ROOT / "build" / "wheel" / "setuptools"
WORK.mkdir(parents=True, exist_ok=True)

setup(
    version=VERSION,
    options={"build": {"build_base": str(WORK)}, "egg_info": {"egg_base": str(WORK)}},
    packages=["probust"],
    package_data={"probust": ["*.pyi", "py.typed"]},
    ext_modules=[Extension("probust._probust", [])],
    cmdclass={"build_ext": BuildWithCMake},
)
