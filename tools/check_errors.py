#!/usr/bin/env python3
"""Every error code has a page and a test; no page or test is left over.

The test is a story that shows the message, or, for what no command can bring about, a unit test that
names the code.
"""

import re
import sys

import tree

USED = re.compile(r'"(K0[1-7][0-9]{2})"')
SHOWN = re.compile(r"(?:error|warning)\[(K0[1-7][0-9]{2})\]")
PAGE = re.compile(r"docs/errors/(K0[1-7][0-9]{2})\.md")


def codes_in(root, names, pattern):
    """{code: first file that has it}"""
    found = {}
    for name in names:
        for code in pattern.findall(tree.text_of(root, name) or ""):
            found.setdefault(code, str(name))
    return found


def check(root):
    used = codes_in(root, tree.files(root, {"src", "tools"}, {".h", ".cpp"}), USED)
    tests = [name for name in tree.files(root, {"tests"}, {".kwt"})
             if name.parts[1] in ("errors", "golden")]
    shown = codes_in(root, tests, SHOWN)
    pages = {match[1]: str(name) for name in tree.files(root, {"docs"})
             if (match := PAGE.fullmatch(str(name)))}
    complaints = []
    without_page = sorted(set(used) - set(pages))
    if without_page:
        complaints.append(f"no page docs/errors/CODE.md: {' '.join(without_page)}")
    units = [name for name in tree.files(root, {"tests"}, {".cpp"}) if name.parts[1] == "unit"]
    named = {*codes_in(root, units, USED), *codes_in(root, units, SHOWN)}
    without_test = sorted(set(used) - set(shown) - named)
    if without_test:
        complaints.append(f"shown by no test, add tests/errors/CODE_*.kwt: {' '.join(without_test)}")
    for code in sorted(set(pages) - set(used)):
        complaints.append(f"{pages[code]}: no message has this code")
    for code in sorted(set(shown) - set(used)):
        complaints.append(f"{shown[code]}: expects {code}, which no message has")
    for code, page in sorted(pages.items()):
        if not (tree.text_of(root, page) or "").startswith(f"# {code}"):
            complaints.append(f"{page}: must begin with `# {code}`")
    return complaints


SOURCE = {"src/poly/a.cpp": 'd.code = "K0203";\n'}
PAGES = {"docs/errors/K0203.md": "# K0203: cannot interchange\n"}
TESTS = {"tests/errors/K0203_swap.kwt": "$ kawara check\n-----\nerror[K0203]: no\n"}
EXAMPLES = [
    ({**SOURCE, **PAGES, **TESTS}, []),
    ({**SOURCE, **TESTS}, ["no page docs/errors/CODE.md: K0203"]),
    ({**SOURCE, **PAGES}, ["shown by no test", "K0203"]),
    ({**SOURCE, **PAGES, "tests/unit/poly/a_test.cpp": 'EXPECT_EQ(d.code, "K0203");\n'}, []),
    ({**PAGES}, ["docs/errors/K0203.md: no message has this code"]),
    ({**TESTS}, ["tests/errors/K0203_swap.kwt: expects K0203"]),
    ({**SOURCE, **TESTS, "docs/errors/K0203.md": "# K0204\n"}, ["must begin with `# K0203`"]),
]

if __name__ == "__main__":
    sys.exit(tree.main(check, EXAMPLES))
