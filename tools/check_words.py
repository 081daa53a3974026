#!/usr/bin/env python3
"""Nothing names the machine it was written on, and nothing is put off by a note in the code."""

import re
import sys

import tree

# The brackets keep these patterns from matching this file.
RULES = [
    (re.compile(r"(?<![\w./~-])/(?:work|root|home|Users|tmp)[/](?!\.\.\.)"),
     "path of one machine"),
    (re.compile(r"\b(?:T[O]DO|FI[X]ME|X[X]X)\b"), "postponed work; do it, or open an issue"),
]


def check(root):
    complaints = []
    for name in tree.files(root):
        for number, line in enumerate((tree.text_of(root, name) or "").splitlines(), 1):
            for pattern, why in RULES:
                found = pattern.search(line)
                if found:
                    complaints.append(f"{name}:{number}: `{found[0]}`: {why}")
    return complaints


EXAMPLES = [
    ({"src/a.cpp": "// the work/flow of a home/office\n", "docs/a.md": "see /usr/lib/x\n"}, []),
    ({"docs/a.md": "\nstored in /" + "home/someone/x\n"}, ["docs/a.md:2"]),
    ({"src/a.cpp": "// TO" + "DO: later\n"}, ["src/a.cpp:1", "postponed work"]),
]

if __name__ == "__main__":
    sys.exit(tree.main(check, EXAMPLES))
