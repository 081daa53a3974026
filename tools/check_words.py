#!/usr/bin/env python3
"""Nothing names the machine it was written on, nothing is put off by a note in the code, and words that were given up do not come back."""

import re
import sys

import tree

# The brackets keep these patterns from matching this file.
RULES = [
    (re.compile(r"(?<![\w./~-])/(?:work|root|home|Users|tmp)[/](?!\.\.\.)"),
     "path of one machine"),
    (re.compile(r"\b(?:T[O]DO|FI[X]ME|X[X]X)\b"), "postponed work; do it, or open an issue"),
]

# A word that the project no longer uses (docs/glossary.md), and the field's. `-` stands for a space, a hyphen or an underscore.
GIVEN_UP = {
    "ce[l]ls?": "element", "tu[r]ned-over": "transposed", "tu[r]ns-over": "transposes", "tu[r]n-over": "transpose",
    "fi[r]st-cache": "L1", "se[c]ond-cache": "L2", "th[i]rd-cache": "L3", "co[p]y-engine": "TMA",
    "as[k]ed-in-words": "proved syntactically", "in-o[w]n-words": "canonical form", "li[e]s?-twice": "stored twice",
    "where-(it|they)-li[e]s?": "unpacked, in place", "go(ing)?-pa[s]t-the-caches": "non-temporal", "un[e]qual-copies": "guarded unroll",
    "wo[r]k-ahead": "software pipelining, load ahead", "tw[i]n-elements": "duplicated elements", "ca[r]ried-out": "evaluated",
    "co[m]panions?": "fused nest, prologue, epilogue", "li[f]t-loads": "if-conversion", "jo[i]n-loops": "collapse",
    "fe[w]-sums": "tall reduction", "th[r]ead-copies": "privatize", "wi[n]dow-walk": "im2col load",
    "ti[l]e-sources?": "epilogue operands",
}
OLD_WORDS = [(re.compile(rf"(?<![a-z]){word.replace('-', '[ _-]')}(?![a-z])", re.IGNORECASE), word.replace("[", "").replace("]", ""), new)
             for word, new in GIVEN_UP.items()]
KEEPS_OLD_WORDS = {"tools/check_words.py"}


def old_words(name, number, line):
    for pattern, _, new in OLD_WORDS:
        found = pattern.search(line)
        if found:
            yield f"{name}:{number}: `{found[0]}`: the word is {new} (docs/glossary.md)"


def check(root):
    complaints = []
    for name in tree.files(root):
        for number, line in enumerate((tree.text_of(root, name) or "").splitlines(), 1):
            for pattern, why in RULES:
                found = pattern.search(line)
                if found:
                    complaints.append(f"{name}:{number}: `{found[0]}`: {why}")
            if str(name) not in KEEPS_OLD_WORDS:
                complaints.extend(old_words(name, number, line))
    return complaints


EXAMPLES = [
    ({"src/a.cpp": "// the work/flow of a home/office\n", "docs/a.md": "see /usr/lib/x\n"}, []),
    ({"docs/a.md": "\nstored in /" + "home/someone/x\n"}, ["docs/a.md:2"]),
    ({"src/a.cpp": "// TO" + "DO: later\n"}, ["src/a.cpp:1", "postponed work"]),
    ({"src/a.cpp": "int ce" + "ll_of(int);\n"}, ["src/a.cpp:1", "the word is element"]),
    ({"docs/a.md": "Images are turned" + " over in the second" + " cache.\n"}, ["the word is transposed", "the word is L2"]),
    ({"src/a.cpp": "// cancelled, excellent; Lastly turned into tiles, carried by the loop\n"}, []),
]

if __name__ == "__main__":
    sys.exit(tree.main(check, EXAMPLES))
