#!/usr/bin/env python3
"""Files are named after the one concept they hold: snake_case, and no grab-bag names."""

import re
import sys

import tree

FOLDERS = {"src", "include", "python", "tools", "tests"}
FORBIDDEN_WORDS = {"util", "utils", "helper", "helpers", "common", "misc", "manager"}
FORBIDDEN_NAMES = {"base"}
SNAKE_CASE = re.compile(r"[a-z0-9]+(_[a-z0-9]+)*")
CODE = {".h", ".cpp", ".py", ".sh"}
# Names that tools outside the project prescribe.
GIVEN = {"CMakeLists.txt", "README.md", "__init__.py"}


def complaints_on(name):
    stem = name.name.split(".")[0]
    for part in [*name.parts[:-1], stem]:
        bad = FORBIDDEN_WORDS.intersection(part.lower().split("_"))
        bad |= FORBIDDEN_NAMES.intersection({part.lower()})
        if bad:
            yield f"{name}: `{min(bad)}` names no concept; name what the file is about"
    if name.suffix in CODE and not SNAKE_CASE.fullmatch(stem):
        yield f"{name}: file names are snake_case"


def check(root):
    return [complaint for name in tree.files(root, FOLDERS) if name.name not in GIVEN
            for complaint in complaints_on(name)]


EXAMPLES = [
    ({"src/poly/witness.cpp": "", "tests/CMakeLists.txt": "", "src/run/base_address.h": ""}, []),
    ({"src/poly/isl_utils.h": ""}, ["`utils` names no concept"]),
    ({"src/common/list.h": ""}, ["`common` names no concept"]),
    ({"src/run/base.h": ""}, ["`base` names no concept"]),
    ({"src/run/ThreadPool.cpp": ""}, ["snake_case"]),
]

if __name__ == "__main__":
    sys.exit(tree.main(check, EXAMPLES))
