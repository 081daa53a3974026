#!/usr/bin/env python3
"""Runs every test of a build folder and ends with one line: N passed, M failed, K skipped.

    tools/run_tests.py BUILD [--quick] [--only LABEL,...] [--update] [--jobs N] [FILTER ...]
    tools/run_tests.py BUILD --slower-than SECONDS [FILTER ...]

Labels: unit, golden, check, lesson, run, oracle, fuzz, report. A filter is a piece of a test's name or of a
story's path. --update writes what the stories printed into them. --quick leaves out the tests that
tests/slow.txt names, and runs small samples of some of them. --slower-than lists the tests that
took longer, as lines for tests/slow.txt.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

import run_golden
import tree

STORY_LABELS = {"golden": "tests/", "lesson": "docs/"}
SLOW_LIST = tree.ROOT / "tests" / "slow.txt"
SAMPLE_LABEL = "quick"  # of tests that stand for slower ones, and run with --quick only


class Counts:
    """How the tests ended, and how long each took."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.seconds = {}

    def add(self, passed=0, failed=0, skipped=0):
        self.passed += passed
        self.failed += failed
        self.skipped += skipped

    def line(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


class Slow:
    """Names of slow tests by kind: stories by path, cases of gtest as `Suite.Case`, others as ctest calls them."""

    def __init__(self, text=""):
        names = [line for line in (line.split("#")[0].strip() for line in text.splitlines()) if line]
        self.stories = {name for name in names if name.endswith((".kwt", ".md"))}
        self.cases = {name for name in names if "." in name} - self.stories
        self.tests = {name for name in names if "." not in name}

    def names(self):
        return self.stories | self.cases | self.tests


def count_gtest(path, counts):
    """Adds the single cases of one gtest binary."""
    for suite in json.loads(path.read_text())["testsuites"]:
        for case in suite["testsuite"]:
            counts.seconds[f"{suite['name']}.{case['name']}"] = float(case.get("time", "0s").rstrip("s"))
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
        if not report.is_file():
            counts.seconds[case.get("name")] = float(case.get("time") or 0)
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


def choice(labels, filters, is_quick):
    """ctest's options for the tests that are meant. Samples of slow tests run in quick runs alone."""
    options = []
    if labels:
        options += ["-L", "^(" + "|".join(sorted(labels)) + ")$"]
    if filters:
        options += ["-R", "|".join(re.escape(text) for text in filters)]
    if not is_quick:
        options += ["-LE", f"^{SAMPLE_LABEL}$"]
    return options


def cases_of(binary):
    """Names of all cases of a gtest binary, as its report has them."""
    listed = subprocess.run([binary, "--gtest_list_tests"], capture_output=True, text=True).stdout
    names, suite = [], ""
    for line in listed.splitlines():
        name = line.split("#")[0].strip()
        if line.startswith("  "):
            names.append(suite + name)
        elif name.endswith("."):
            suite = name
    return names


def slow_among(build, options, slow):
    """(tests, cases) that are on the slow list, of those that ctest would run."""
    command = ["ctest", "--test-dir", str(build), "-N", *options]
    listed = subprocess.run(command, capture_output=True, text=True).stdout
    tests = re.findall(r"Test +#\d+: (\S+)", listed)
    units = [build / "tests" / name for name in tests if name.startswith("unit_")]
    cases = [case for unit in units if unit.is_file() for case in cases_of(unit)]
    return [name for name in tests if name in slow.tests], [name for name in cases if name in slow.cases]


def run_ctest(build, options, jobs, slow, counts):
    """Adds what ctest runs; returns how many tests and cases the slow list kept out."""
    tests, cases = slow_among(build, options, slow) if slow.names() else ([], [])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        command = ["ctest", "--test-dir", str(build), "--output-on-failure", "--no-tests=ignore",
                   "--output-junit", str(folder / "ctest.xml"), "-j", str(jobs), *options]
        if tests:
            command += ["-E", "^(" + "|".join(re.escape(each) for each in tests) + ")$"]
        environment = {**os.environ, "GTEST_OUTPUT": f"json:{folder}/", "GTEST_COLOR": "no",
                       "GTEST_BRIEF": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        if cases:
            environment["GTEST_FILTER"] = "-" + ":".join(cases)
        code = subprocess.run(command, env=environment).returncode
        if (folder / "ctest.xml").is_file():
            count_ctest(folder / "ctest.xml", folder, counts)
        elif code != 0:
            counts.add(failed=1)
    return len(tests) + len(cases)


def run_stories(arguments, labels, slow, counts):
    """Adds the stories; returns how many the slow list kept out."""
    left_out = 0
    for label, prefix in STORY_LABELS.items():
        if labels and label not in labels:
            continue
        found = [name for name in run_golden.find(tree.ROOT, arguments.filters) if name.startswith(prefix)]
        names = [name for name in found if name not in slow.stories]
        left_out += len(found) - len(names)
        if not names:
            continue
        print(f"{len(names)} {label} stories", flush=True)
        kawara = str(arguments.build.resolve() / "tools" / "kawara")
        ended = run_golden.run_all(tree.ROOT, kawara, names, arguments.update, arguments.jobs,
                                   seconds=counts.seconds)
        counts.add(ended["passed"] + ended["updated"], ended["failed"], ended["skipped"])
    return left_out


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("filters", nargs="*", metavar="FILTER")
    parser.add_argument("--only", default="", metavar="LABEL,...")
    parser.add_argument("--quick", action="store_true", help="leave out what tests/slow.txt names")
    parser.add_argument("--slower-than", type=float, metavar="SECONDS")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_intermixed_args()
    started = time.monotonic()
    labels = {label for label in arguments.only.split(",") if label}
    slow = Slow(SLOW_LIST.read_text() if arguments.quick else "")
    counts, left_out = Counts(), 0
    if not arguments.update and (not labels or labels - set(STORY_LABELS)):
        options = choice(labels, arguments.filters, arguments.quick)
        left_out += run_ctest(arguments.build, options, arguments.jobs, slow, counts)
    left_out += run_stories(arguments, labels, slow, counts)
    if arguments.slower_than is not None:
        for name, seconds in sorted(counts.seconds.items()):
            if seconds > arguments.slower_than:
                print(f"{name}  # {seconds:.1f} s")
    if arguments.quick:
        print(f"{left_out} slow tests left out (tests/slow.txt), {time.monotonic() - started:.0f} s")
    print(counts.line())
    return 1 if counts.failed else 0


if __name__ == "__main__":
    sys.exit(main())
