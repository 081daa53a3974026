#!/usr/bin/env python3
"""Both READMEs show the program that is compiled, the same commands and figures, and lead to the same pages."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEXTS = {name: (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "README.ja.md")}
FIGURE = re.compile(r"(?<![\w-])\d+\.\d+(?![\w.])")


def blocks(text):
    return re.findall(r"^```.*?^```$", text, re.MULTILINE | re.DOTALL)


def table(text):
    """Figures of the results, row by row."""
    return [FIGURE.findall(line) for line in text.splitlines() if line.startswith("|")]


def pages(text):
    return [target for target in re.findall(r"\]\(([^)]+)\)", text) if not target.startswith("README")]


class Readmes(unittest.TestCase):
    def test_the_program_is_the_one_that_is_compiled(self):
        source = (ROOT / "examples/api/eight_lines.cpp").read_text()
        self.assertEqual(blocks(TEXTS["README.md"])[0], f"```cpp\n{source}```")

    def test_code_and_commands_are_the_same(self):
        self.assertEqual(blocks(TEXTS["README.ja.md"]), blocks(TEXTS["README.md"]))

    def test_figures_are_the_same(self):
        figures = table(TEXTS["README.md"])
        self.assertGreater(sum(map(len, figures)), 20)
        self.assertEqual(table(TEXTS["README.ja.md"]), figures)

    def test_links_are_the_same(self):
        self.assertEqual(pages(TEXTS["README.ja.md"]), pages(TEXTS["README.md"]))
        self.assertIn("](README.ja.md)", TEXTS["README.md"])
        self.assertIn("](README.md)", TEXTS["README.ja.md"])

    def test_five_links_lead_on(self):
        read_on = TEXTS["README.md"].split("## Read on")[1]
        self.assertEqual(len(re.findall(r"^\d\. \[", read_on, re.MULTILINE)), 5)


if __name__ == "__main__":
    unittest.main()
