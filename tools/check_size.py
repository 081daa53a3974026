#!/usr/bin/env python3
"""No file of code or tests is longer than 500 lines: a longer one holds two concepts."""

import sys

import tree

LIMIT = 500
FOLDERS = {"src", "include", "python", "tools", "tests"}


def check(root):
    complaints = []
    for name in tree.files(root, FOLDERS):
        text = tree.text_of(root, name)
        lines = len(text.splitlines()) if text else 0
        if lines > LIMIT:
            complaints.append(f"{name}: {lines} lines, at most {LIMIT} are allowed")
    return complaints


EXAMPLES = [
    ({"src/support/a.cpp": "\n" * 500}, []),
    ({"src/support/a.cpp": "\n" * 501}, ["src/support/a.cpp: 501 lines"]),
    ({"tests/golden/a.kwt": "x\n" * 600}, ["tests/golden/a.kwt: 600 lines"]),
    ({"docs/long.md": "x\n" * 600}, []),
]

if __name__ == "__main__":
    sys.exit(tree.main(check, EXAMPLES))
