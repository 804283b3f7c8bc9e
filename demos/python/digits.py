#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""p_robust of twenty digits at three sizes of noise, in Python: digits.py MODEL.onnx POINTS.npz"""

import sys

import probust

if len(sys.argv) != 3:
    sys.exit("usage: digits.py MODEL.onnx POINTS.npz")
model = probust.load_model(sys.argv[1])
x, labels = probust.read_data(sys.argv[2], limit=20)
print(f"{'point':>5} {'label':>5} {'predicted':>9} {'noise':>13} {'estimator':>9} {'p':>8}")
for row in model.estimate(x, sigma=[0.1, 0.2, 0.4], estimators=["auto", "taylor", "mc:10000"], labels=labels):
    print(f"{row['index']:5} {row['label']:5} {row['predicted']:9} {row['noise']:>13} {row['estimator']:>9} {row['p']:8.4f}")
