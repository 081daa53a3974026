#!/usr/bin/env python3
"""What `./kw test --quick` leaves out: tests/slow.txt names tests that exist, and leaves some of every folder."""

import collections
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import run_golden  # noqa: E402  (found through the line above)
import run_tests  # noqa: E402

CASE = re.compile(r"^(?:TEST|TEST_F|TEST_P|TYPED_TEST)\((\w+),\s*(\w+)\)", re.MULTILINE)


def cases_by_folder():
    """Cases of each folder of tests/unit, without what parameters add to their names."""
    found = collections.defaultdict(set)
    for path in (ROOT / "tests/unit").rglob("*_test.cpp"):
        folder = path.relative_to(ROOT / "tests/unit").parts[0]
        found[folder] |= {f"{suite}.{case}" for suite, case in CASE.findall(path.read_text())}
    return found


def written(name):
    """A case as its source has it: `Sizes/Gemm.Runs/3` is `Gemm.Runs`."""
    suite, case = name.split(".")
    return f"{suite.split('/')[-1] if '/' in suite and not suite.split('/')[-1].isdigit() else suite.split('/')[0]}.{case.split('/')[0]}"


class SlowList(unittest.TestCase):
    def setUp(self):
        self.slow = run_tests.Slow(run_tests.SLOW_LIST.read_text())

    def test_names_exist(self):
        stories = set(run_golden.find(ROOT, []))
        self.assertEqual(self.slow.stories - stories, set())
        cases = set.union(*cases_by_folder().values())
        self.assertEqual({name for name in self.slow.cases if written(name) not in cases}, set())

    def test_every_unit_folder_keeps_most_of_its_cases(self):
        slow = {written(name) for name in self.slow.cases}
        for folder, cases in cases_by_folder().items():
            self.assertGreater(2 * len(cases - slow), len(cases), folder)

    def test_every_folder_of_stories_keeps_some(self):
        kept = collections.Counter(str(pathlib.PurePosixPath(name).parent)
                                   for name in run_golden.find(ROOT, []) if name not in self.slow.stories)
        for name in self.slow.stories:
            self.assertGreater(kept[str(pathlib.PurePosixPath(name).parent)], 0, name)


class Reading(unittest.TestCase):
    def test_names_by_kind(self):
        slow = run_tests.Slow("# why\noracle_0\n\nGemm.Runs/3  # 1.2 s\ntests/golden/a.kwt\ndocs/lessons/b.md\n")
        self.assertEqual(slow.tests, {"oracle_0"})
        self.assertEqual(slow.cases, {"Gemm.Runs/3"})
        self.assertEqual(slow.stories, {"tests/golden/a.kwt", "docs/lessons/b.md"})

    def test_samples_run_in_quick_runs_alone(self):
        self.assertIn("-LE", run_tests.choice(set(), [], is_quick=False))
        self.assertEqual(run_tests.choice(set(), [], is_quick=True), [])
        self.assertEqual(run_tests.choice({"unit"}, ["a+"], is_quick=True), ["-L", "^(unit)$", "-R", "a\\+"])


if __name__ == "__main__":
    unittest.main()
