#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Parses the output of `probust gate --junit` and checks it against the rules that the schemas of Jenkins and Ant have in common:
elements, required attributes, counts that add up, times. Usage: junit_test.py PROBUST"""
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

PROBUST = sys.argv[1]
DIGITS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "demos", "digits")
ALLOWED = {
    "testsuites": {"name", "tests", "failures", "errors", "time"},
    "testsuite": {"name", "tests", "failures", "errors", "time", "timestamp"},
    "testcase": {"name", "classname", "time"},
    "failure": {"message", "type"},
}
INSIDE = {"testsuites": "testsuite", "testsuite": "testcase", "testcase": "failure"}


def check_element(element):
    assert set(element.attrib) == ALLOWED[element.tag], (element.tag, element.attrib)
    for count in {"tests", "failures", "errors"} & set(element.attrib):
        assert re.fullmatch(r"\d+", element.get(count)), element.attrib
    if "time" in element.attrib:
        assert re.fullmatch(r"\d+\.\d+", element.get("time")) and float(element.get("time")) < 60, element.attrib
    if "timestamp" in element.attrib:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", element.get("timestamp")), element.attrib
    for child in element:
        assert child.tag == INSIDE.get(element.tag), (element.tag, child.tag)
        check_element(child)


def check_counts(element):
    cases = list(element.iter("testcase"))
    failures = [case for case in cases if case.find("failure") is not None]
    assert int(element.get("tests")) == len(cases), element.attrib
    assert int(element.get("failures")) == len(failures), element.attrib
    assert abs(float(element.get("time")) - sum(float(case.get("time")) for case in cases)) < 1e-5 * (1 + len(cases))
    return len(cases), len(failures)


def gate(run, xml, *options):
    finished = subprocess.run([PROBUST, "gate", run, "--junit", xml, "--json", *options], capture_output=True, text=True)
    assert finished.returncode in (0, 1), finished.stderr
    root = ElementTree.parse(xml).getroot()
    assert root.tag == "testsuites"
    check_element(root)
    suites = list(root)
    assert len({suite.get("name") for suite in suites}) == len(suites)
    for suite in suites:
        names = [(case.get("classname"), case.get("name")) for case in suite]
        assert len(set(names)) == len(names), names
        check_counts(suite)
    tests, failures = check_counts(root)
    checks = json.loads(finished.stdout)["checks"]
    assert tests == len(checks) and failures == sum(not check["met"] for check in checks)
    assert (failures > 0) == (finished.returncode == 1)
    return root, failures


with tempfile.TemporaryDirectory(prefix="probust & <test> ") as folder:
    run, xml = os.path.join(folder, "run.sqlite"), os.path.join(folder, "report.xml")
    subprocess.run([PROBUST, "estimate", f"{DIGITS}/digits.onnx", f"{DIGITS}/points.npz", "--sigma", "0.1,0.4", "--estimator",
                    "mc:200,taylor", "--quiet", "-o", run], check=True)
    root, failures = gate(run, xml, "--min-mean", "0.01", "--min-quantile", "0.05=0", "--min-class", "0")
    assert len(root) == 4 and failures == 0
    root, failures = gate(run, xml, "--min-mean", "0.999", "--max-drop", "0", "--baseline", run)
    assert failures == 4 and len(root.findall("./testsuite/testcase/failure[@type='threshold']")) == 4
    failed = root.find(".//failure")
    assert "mean p is 0." in failed.get("message") and "not >= 0.999" in failed.text and "95% interval" in failed.text
    assert root.find(".//testcase").get("name") == "mean p >= 0.999"
print("JUnit XML is as it should be")
