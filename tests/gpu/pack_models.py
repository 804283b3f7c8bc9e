#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Copies the shared models and the first rows of the data that their tests read, for tests/gpu/pack.sh.

Usage: pack_models.py SHARED FOLDER"""
import ast
import gzip
import json
import math
import pathlib
import shutil
import struct
import sys

ROWS = 100
CIFAR_ROW = 3073  # bytes
LEFT_OUT = ["traffic_30_qconv"]  # because it takes too long
IDX = ["mnist-test-open-images-idx3-ubyte.gz", "fashion-test-open-images-idx3-ubyte.gz"]
NPY = ["gtsrb32-test-open-images.npy", "gtsrb30-test-open-images.npy"]


def first_of_idx(source, target):
    """Bytes after a header of big-endian integers: a magic number, then the extents."""
    with gzip.open(source) as file:
        whole = file.read()
    extents = struct.unpack(f">{whole[3]}I", whole[4:4 + 4 * whole[3]])
    rows = min(ROWS, extents[0])
    begin = 4 + 4 * len(extents)
    with gzip.open(target, "wb") as file:
        file.write(whole[:4] + struct.pack(f">{len(extents)}I", rows, *extents[1:]))
        file.write(whole[begin:begin + rows * math.prod(extents[1:])])


def first_of_npy(source, target):
    """Version 1 of the format: magic, version, length of the header, the header as a Python dictionary, values."""
    whole = source.read_bytes()
    begin = 10 + struct.unpack("<H", whole[8:10])[0]
    header = ast.literal_eval(whole[10:begin].decode())
    size = int(header["descr"][2:]) * math.prod(header["shape"][1:])
    rows = min(ROWS, header["shape"][0])
    text = repr({**header, "shape": (rows, *header["shape"][1:])})
    text = text.ljust(begin - 11) + "\n"
    target.write_bytes(whole[:10] + text.encode() + whole[begin:begin + rows * size])


def main():
    shared, folder = map(pathlib.Path, sys.argv[1:3])
    (folder / "models" / "oracle").mkdir(parents=True)
    (folder / "data").mkdir()
    records = json.loads((shared / "models" / "models.json").read_text())
    for name in LEFT_OUT:
        records.pop(name, None)
    (folder / "models" / "models.json").write_text(json.dumps(records))
    for record in records.values():
        shutil.copy(shared / "models" / record["model"], folder / "models")
        if record["dataset"].startswith("none"):  # otherwise rows of a data set
            shutil.copy(shared / "models" / record["oracle_inputs"], folder / "models" / "oracle")
    for name in IDX:
        first_of_idx(shared / "data" / name, folder / "data" / name)
    for name in NPY:
        first_of_npy(shared / "data" / name, folder / "data" / name)
    cifar = "cifar10-lossless-test-open.bin"
    (folder / "data" / cifar).write_bytes((shared / "data" / cifar).read_bytes()[:ROWS * CIFAR_ROW])
    shutil.copy(shared / "data" / "iris.csv", folder / "data")


main()
