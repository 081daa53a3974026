#!/usr/bin/env python3
"""Links between pages lead somewhere, pages that code names exist, numbered pages have no gaps."""

import posixpath
import re
import sys

import tree

LINK = re.compile(r"\]\(([^()\s]+)\)")
ADDRESS = re.compile(r"[a-z]+:")  # of another host
# A page of the repository in a comment or a text: `docs/notes/x.md`, or a numbered one without its name.
NAMED = re.compile(r"(?<![\w./-])(docs/[\w./-]+\.md|docs/(?:decisions|lessons)/\d+(?![\w-]))")
FENCE = re.compile(r"^\s*(```|~~~)")
HEADING = re.compile(r"^#+\s+(.*?)\s*$")
NUMBERED = {"docs/decisions": 4, "docs/lessons": 2}  # folder, digits
# Folders whose comments name pages; checkers and their tests name pages that are not there on purpose.
NAMING = {"src", "include", "tests", "bench", "examples", "cmake"}


def prose(text):
    """(number, line) of a page outside its code blocks."""
    is_code = False
    for number, line in enumerate(text.splitlines(), 1):
        if FENCE.match(line):
            is_code = not is_code
        elif not is_code:
            yield number, line


def anchors(text):
    """Anchors of a page's headings, as GitHub makes them."""
    found = set()
    for _, line in prose(text):
        heading = HEADING.match(line)
        if heading:
            words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).lower()
            anchor = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
            found.add(anchor if anchor not in found else f"{anchor}-1")
    return found


def broken(name, text, pages, files):
    folder = name.parent.as_posix()
    for number, line in prose(text):
        for target in LINK.findall(line):
            if ADDRESS.match(target):
                continue
            path, _, anchor = target.partition("#")
            path = posixpath.normpath(posixpath.join(folder, path)) if path else name.as_posix()
            if path not in files:
                yield f"{name}:{number}: there is no {path}"
            elif anchor and path in pages and anchor not in anchors(pages[path]):
                yield f"{name}:{number}: {path} has no heading #{anchor}"


def named(name, text, files):
    for number, line in enumerate(text.splitlines(), 1):
        for path in NAMED.findall(line):
            if not any(known == path or known.startswith(path + "-") for known in files):
                yield f"{name}:{number}: there is no {path}"


def gaps(files):
    for folder, digits in NUMBERED.items():
        numbers = sorted(int(match[1]) for match in
                         (re.fullmatch(rf"{folder}/(\d{{{digits}}})-[\w-]+\.md", path) for path in files) if match)
        for number, wanted in zip(numbers, range(1, len(numbers) + 1)):
            if number != wanted:
                yield f"{folder}: number {wanted} is missing, or there twice"
                break


def check(root):
    names = tree.files(root)
    files = {name.as_posix() for name in names}
    files |= {parent.as_posix() for name in names for parent in name.parents}
    pages = {name.as_posix(): tree.text_of(root, name) or "" for name in names if name.suffix == ".md"}
    complaints = list(gaps(files))
    for name in names:
        if name.suffix == ".md":
            complaints += broken(name, pages[name.as_posix()], pages, files)
        elif name.parts[:2] == ("tools", "kawara") or (name.parts[0] in NAMING and name.parts[1] != "tools"):
            complaints += named(name, tree.text_of(root, name) or "", files)
    return complaints


PAGE = {"docs/a.md": "# The page\n\nSee [b](b.md#a-b-c).\n", "docs/b.md": "## A, b & `c`\n"}
EXAMPLES = [
    (PAGE, ["docs/b.md has no heading #a-b-c"]),
    ({**PAGE, "docs/b.md": "## A b `c`\n"}, []),
    ({"docs/a.md": "[x](../src/x.h) and [y](https://example.org/y)\n"}, ["docs/a.md:1: there is no src/x.h"]),
    ({"docs/a.md": "```\n[x](nowhere.md)\n```\n[all](.)\n"}, []),
    ({"src/a.h": "/// docs/decisions/0001, docs/notes/x.md\n", "docs/decisions/0001-a.md": ""},
     ["src/a.h:1: there is no docs/notes/x.md"]),
    ({"src/a.h": "/// docs/decisions/0002\n", "docs/decisions/0001-a.md": ""}, ["there is no docs/decisions/0002"]),
    ({"docs/lessons/01-a.md": "", "docs/lessons/03-b.md": ""}, ["docs/lessons: number 2 is missing"]),
]

if __name__ == "__main__":
    sys.exit(tree.main(check, EXAMPLES))
