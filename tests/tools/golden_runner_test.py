#!/usr/bin/env python3
"""The story runner on small trees, with a shell script in place of the compiler."""

import io
import pathlib
import stat
import sys
import tempfile
import textwrap
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import run_golden  # noqa: E402  (found through the line above)
import story  # noqa: E402

FAKE = """#!/bin/sh
case "$1" in
  show) cat "$2" ;;
  refuse) echo "error[K0203]: no" >&2; exit 1 ;;
  length) wc -l < "$2" | tr -d ' ' ;;
  threads) echo "$KAWARA_THREADS" ;;
  time) echo "time: $(date +%N | cut -c 1-3).25 us, spread 0.$$ %" ;;
  wait) sleep 0.5; echo done ;;
  first) [ -e kept ] || sleep 0.5; touch kept; echo done ;;
  hang) exec sleep 20 ;;
  speak) for k in 1 2 3 4 5; do sleep 0.1; echo $k; done ;;
esac
"""


class Runner(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.kawara = self.root / "fake_kawara"
        self.kawara.write_text(FAKE)
        self.kawara.chmod(self.kawara.stat().st_mode | stat.S_IXUSR)

    def run_one(self, name, text, **options):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        self.printed = io.StringIO()
        counts = run_golden.run_all(self.root, str(self.kawara), [], out=self.printed, **options)
        return [state for state, count in counts.items() if count]

    STORY = """\
        # what this is about
        --- a.kw
        for i

        $ kawara show {file}
        -----
        for i

        $ kawara refuse
        -----
        error[K0203]: no
        exit: 1
        """

    def test_same_text_passes(self):
        self.assertEqual(self.run_one("tests/golden/a.kwt", self.STORY), ["passed"])

    def test_other_text_fails_with_a_difference(self):
        text = self.STORY.replace("error[K0203]: no", "error[K0203]: yes")
        self.assertEqual(self.run_one("tests/golden/a.kwt", text), ["failed"])
        self.assertIn("-error[K0203]: yes\n+error[K0203]: no\n", self.printed.getvalue())

    def test_other_exit_code_fails(self):
        text = self.STORY.replace("exit: 1", "exit: 2")
        self.assertEqual(self.run_one("tests/golden/a.kwt", text), ["failed"])

    def test_update_makes_it_pass(self):
        text = self.STORY.replace("error[K0203]: no", "old")
        self.assertEqual(self.run_one("tests/golden/a.kwt", text, update=True), ["updated"])
        written = (self.root / "tests/golden/a.kwt").read_text()
        self.assertEqual(written, textwrap.dedent(self.STORY))

    def test_update_writes_the_first_expectation(self):
        self.run_one("tests/golden/a.kwt", "$ kawara refuse\n", update=True)
        written = (self.root / "tests/golden/a.kwt").read_text()
        self.assertEqual(written, "$ kawara refuse\n-----\nerror[K0203]: no\nexit: 1\n")

    def test_commands_before_inputs(self):
        text = "$ kawara show {file}\n--- a.kw\nx\ny\n-----\nx\ny\n"
        self.assertEqual(self.run_one("tests/errors/a.kwt", text), ["passed"])

    def test_dots_do_not_stand_for_an_exit_code(self):
        text = "$ kawara refuse\n-----\n...\n"
        self.assertEqual(self.run_one("tests/golden/a.kwt", text), ["failed"])
        self.assertEqual(self.run_one("tests/golden/a.kwt", text + "exit: 1\n"), ["passed"])

    def test_equal_schedules_of_one_program(self):
        text = "--- p.kw\nfor i\n\n--- a.sched\nx\n\n--- b.sched\n{}\n\n$ kawara show input.sched\n"
        self.assertEqual(self.run_one("tests/equal/a.kwt", text.format("x")), ["passed"])
        self.assertEqual(self.run_one("tests/equal/a.kwt", text.format("y")), ["failed"])

    def test_dots_stand_for_any_lines(self):
        text = "--- a.kw\nx\ny\nz\n$ kawara show a.kw\n-----\nx\n...\nz\n"
        self.assertEqual(self.run_one("tests/golden/a.kwt", text), ["passed"])
        self.assertEqual(self.run_one("tests/golden/a.kwt", text + "z\n"), ["failed"])

    def test_input_from_the_repository(self):
        (self.root / "examples").mkdir()
        (self.root / "examples/b.kw").write_text("b\n")
        text = "--- a.kw from examples/b.kw\n$ kawara show a.kw\n-----\nb\n"
        self.assertEqual(self.run_one("tests/golden/a.kwt", text), ["passed"])
        text = text.replace("b.kw", "absent.kw")
        self.assertEqual(self.run_one("tests/golden/a.kwt", text), ["failed"])

    def test_equal_compares_the_inputs(self):
        text = "$ kawara length {file}\n--- a.kw\nx\n--- b.kw\ny\n"
        self.assertEqual(self.run_one("tests/equal/a.kwt", text), ["passed"])
        self.assertEqual(self.run_one("tests/equal/a.kwt", text + "z\n"), ["failed"])

    def test_equal_refusals_do_not_count(self):
        text = "$ kawara refuse {file}\n--- a.kw\nx\n--- b.kw\ny\n"
        self.assertEqual(self.run_one("tests/equal/a.kwt", text), ["failed"])

    def test_lesson_blocks_are_run(self):
        text = "# One\n\n```kw a.kw\nx\n```\n\nNow:\n\n```console\n$ kawara show a.kw\nx\n```\n"
        self.assertEqual(self.run_one("docs/lessons/01_one.md", text), ["passed"])
        self.assertEqual(self.run_one("docs/lessons/01_one.md", text.replace("\nx\n```\n\nN", "\ny\n```\n\nN")),
                         ["failed"])

    def test_settings_before_a_command(self):
        text = "$ KAWARA_THREADS=abc kawara threads\n-----\nabc\n$ kawara threads\n-----\n2\n"
        self.assertEqual(self.run_one("tests/hour/a.kwt", text), ["passed"])

    def test_input_without_a_line_is_an_empty_file(self):
        text = "--- a.kw\n\n--- b.kw\nx\n$ kawara length a.kw\n-----\n0\n"
        self.assertEqual(self.run_one("tests/hour/a.kwt", text), ["passed"])

    def test_bytes_in_base64(self):
        text = "--- a.kw in base64\nYQpi\nCmMK\n\n$ kawara show a.kw\n-----\na\nb\nc\n"
        self.assertEqual(self.run_one("tests/hour/a.kwt", text), ["passed"])

    def test_figures_of_a_measured_story_are_named(self):
        text = "$ kawara time\n-----\ntime: <time>, spread <share>\n"
        self.assertEqual(self.run_one("tests/hour/a.kwt", text), ["failed"])
        self.assertEqual(self.run_one("tests/hour/a.kwt", "# measured\n" + text), ["passed"])
        changed = "# measured\n" + text.replace("spread", "width")
        self.assertEqual(self.run_one("tests/hour/a.kwt", changed), ["failed"])

    def test_sums_of_a_measured_story_have_four_digits(self):
        self.assertEqual(story.without_figures("y: f32[9]  min -1.23456  max 2  mean 1.00004e-05"),
                         "y: f32[9]  min -1.235  max 2  mean 1e-05")

    def test_silence_is_found(self):
        path = self.root / "tests/hour/a.kwt"
        path.parent.mkdir(parents=True)
        path.write_text("$ kawara speak\n$ kawara wait\n$ kawara refuse\n-----\n")
        out = io.StringIO()
        self.assertEqual(run_golden.run_silence(self.root, str(self.kawara), [], 0.3, out), 1)
        self.assertIn("s without a word: kawara wait\n", out.getvalue())
        self.assertIn("1 commands are silent", out.getvalue())
        self.assertEqual(run_golden.run_silence(self.root, str(self.kawara), [], 5, out), 0)

    def test_silence_of_a_first_run_is_found(self):
        path = self.root / "tests/hour/a.kwt"
        path.parent.mkdir(parents=True)
        path.write_text("$ kawara first\n-----\n")
        out = io.StringIO()
        self.assertEqual(run_golden.run_silence(self.root, str(self.kawara), [], 0.3, out), 1)
        self.assertIn("s without a word: kawara first\n", out.getvalue())

    def test_a_command_without_end_is_silent(self):
        path = self.root / "tests/hour/a.kwt"
        path.parent.mkdir(parents=True)
        path.write_text("--- a.kw\nx\n\n$ kawara show {file}\n$ kawara hang\n-----\n")
        out = io.StringIO()
        with unittest.mock.patch.object(run_golden, "TIME_LIMIT_S", 0.5):
            self.assertEqual(run_golden.run_silence(self.root, str(self.kawara), [], 0.3, out), 1)
        self.assertIn("s without a word: kawara hang\n", out.getvalue())
        self.assertIn("1 commands are silent", out.getvalue())

    def test_other_machine_is_skipped(self):
        text = "# requires: pdp11\n$ kawara refuse\n-----\nnever\n"
        self.assertEqual(self.run_one("tests/golden/a.kwt", text), ["skipped"])

    def test_nonsense_fails(self):
        for text in ["", "what\n", "-----\n", "--- a.kw\nx\n--- a.kw\ny\n$ kawara refuse\n-----\n",
                     "$ rm x\n-----\n"]:
            self.assertEqual(self.run_one("tests/golden/a.kwt", text), ["failed"], text)


if __name__ == "__main__":
    unittest.main()
