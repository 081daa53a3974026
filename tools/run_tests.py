#!/usr/bin/env python3
"""Runs every test of a build folder and ends with one line: N passed, M failed, K skipped.

    tools/run_tests.py BUILD [--only LABEL,...] [--update] [--jobs N] [FILTER ...]

Labels: unit, golden, check, lesson, run, oracle, fuzz. A filter is a piece of a test's name or of a
story's path. --update writes what the stories printed into them.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

import run_golden
import tree

STORY_LABELS = {"golden": "tests/", "lesson": "docs/"}


class Counts:
    """How the tests ended."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def add(self, passed=0, failed=0, skipped=0):
        self.passed += passed
        self.failed += failed
        self.skipped += skipped

    def line(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def count_gtest(path, counts):
    """Adds the single cases of one gtest binary."""
    for suite in json.loads(path.read_text())["testsuites"]:
        for case in suite["testsuite"]:
            if case["status"] == "NOTRUN" or case.get("result") == "SKIPPED":
                counts.add(skipped=1)
            elif case.get("failures"):
                counts.add(failed=1)
            else:
                counts.add(passed=1)


def count_ctest(junit, gtest_folder, counts):
    """Adds what ctest ran. A binary that died before it could report counts as one failure."""
    for case in xml.etree.ElementTree.parse(junit).getroot().iter("testcase"):
        report = gtest_folder / f"{case.get('name')}.json"
        status = case.get("status")
        before = counts.failed
        if report.is_file() and report.stat().st_size:
            count_gtest(report, counts)
            if status == "fail" and counts.failed == before:
                counts.add(failed=1)
        elif status == "run":
            counts.add(passed=1)
        elif status in ("notrun", "disabled") and case.find("skipped") is not None:
            # ctest also says "notrun" of a program that is not there; that is no choice of the test.
            reason = case.find("skipped").get("message") or ""
            counts.add(failed=1) if "Unable" in reason else counts.add(skipped=1)
        else:
            counts.add(failed=1)


def run_ctest(build, labels, filters, jobs, counts):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        command = ["ctest", "--test-dir", str(build), "--output-on-failure", "--no-tests=ignore",
                   "--output-junit", str(folder / "ctest.xml"), "-j", str(jobs)]
        if labels:
            command += ["-L", "^(" + "|".join(sorted(labels)) + ")$"]
        if filters:
            command += ["-R", "|".join(re.escape(text) for text in filters)]
        environment = {**os.environ, "GTEST_OUTPUT": f"json:{folder}/", "GTEST_COLOR": "no",
                       "GTEST_BRIEF": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        code = subprocess.run(command, env=environment).returncode
        if (folder / "ctest.xml").is_file():
            count_ctest(folder / "ctest.xml", folder, counts)
        elif code != 0:
            counts.add(failed=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("filters", nargs="*", metavar="FILTER")
    parser.add_argument("--only", default="", metavar="LABEL,...")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_intermixed_args()
    labels = {label for label in arguments.only.split(",") if label}
    counts = Counts()
    if not arguments.update and (not labels or labels - set(STORY_LABELS)):
        run_ctest(arguments.build, labels, arguments.filters, arguments.jobs, counts)
    for label, prefix in STORY_LABELS.items():
        if labels and label not in labels:
            continue
        names = [name for name in run_golden.find(tree.ROOT, arguments.filters)
                 if name.startswith(prefix)]
        if not names:
            continue
        print(f"{len(names)} {label} stories", flush=True)
        kawara = str(arguments.build.resolve() / "tools" / "kawara")
        found = run_golden.run_all(tree.ROOT, kawara, names, arguments.update, arguments.jobs)
        counts.add(found["passed"] + found["updated"], found["failed"], found["skipped"])
    print(counts.line())
    return 1 if counts.failed else 0


if __name__ == "__main__":
    sys.exit(main())
