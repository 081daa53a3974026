#!/usr/bin/env python3
"""Includes point left along the line and down between the rooms of a folder, and third-party headers stay behind their fences."""

import re
import sys

import tree

LEVELS = {
    "support": 0, "scalar": 1, "target": 1, "graph": 2, "program": 3, "poly": 4, "schedule": 5,
    "kernel": 6, "emit": 7, "estimate": 7, "validate": 7, "run": 8, "cache": 9, "driver": 9, "explain": 10, "tune": 10,
    "api": 11,
}

# The rooms of a folder by level: a room includes itself and rooms of lower levels. "" is the folder itself.
ROOMS = {
    "scalar": ["", "expand simplify"],
    "graph": ["", "onnx rewrite views zoo", "optimise", "optimise/attention"],
    "program": [" operators", "fusion text", "interpret rewrites"],
    "poly": ["isl", "", "syntactic", "legality", "from_program"],
    "schedule": ["", "tree", "text legality auto/facts", "buffers", "loops storage reductions auto/cost auto/rule", "marks auto/product", "auto/rowwise auto/chunk", "auto/nest auto/gpu", "auto"],
    "kernel": ["", "analysis", "index loops memory", "vector from_schedule gpu/warpgroup", "math interpret gpu gpu/chain"],
    "emit": ["", "c llvm", "cuda"],
    "estimate": ["", "machines bounds duplicates", "energy"],
    "run": [" functions", "cpu cuda"],
    "driver": ["", "kernels", "plan", "tape", "model", "gpu check"],
    "tune": ["", "space measure", "predict database ranks", "search", "tuner"],
}
# What other rooms may include of a room: the rest of it is how it does that.
DOORS = {"poly/syntactic": {"prover.h", "comparison.h", "against_sets.h"}}
# The lists of all directives and of all passes.
SEES_ALL_ROOMS = {"src/schedule/apply.cpp", "src/kernel/passes.cpp"}
MOST_FILES = 32  # of a folder below src/: more is two nouns

# A library, how its headers begin, the places that may include them, and the places that may
# reach them through other headers. `None` means that every place may.
FENCES = [
    ("isl", ("isl/",),
     ("src/poly/", "src/schedule/", "src/kernel/from_schedule/", "src/validate/",
      "tests/unit/poly/", "tests/unit/schedule/"),
     ("src/poly/", "src/schedule/", "src/kernel/from_schedule/", "src/validate/", "src/estimate/",
      "src/driver/",
      "src/explain/", "src/tune/", "src/api/", "tools/", "tests/")),
    ("LLVM", ("llvm/", "llvm-c/"), ("src/emit/llvm/", "src/run/cpu/"),
     ("src/emit/llvm/", "src/run/cpu/")),
    ("protobuf", ("google/protobuf/", "onnx/"), ("src/graph/onnx/",), ("src/graph/onnx/",)),
    ("SQLite", ("sqlite3.h",), ("src/tune/database/sqlite.cpp",), ("src/tune/database/sqlite.cpp",)),
    ("Z3", ("z3",), ("tools/rules/",), ("tools/rules/",)),
    ("MPI", ("mpi.h",), (), ()),
    ("CUDA", ("cuda.h", "nvrtc.h", "cuda_runtime"), ("src/run/cuda/",), ("src/run/cuda/",)),
]
RAW_ISL = ("src/poly/isl/",)

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', re.MULTILINE)
ISL_CALL = re.compile(r"\bisl_[a-z0-9_]+\s*\(|\.coalesce\(\)")  # poly/isl/coalesced.h says why
COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def read_includes(root, names):
    """{file: [(line, quoted, target)]}"""
    found = {}
    for name in names:
        text = tree.text_of(root, name) or ""
        found[str(name)] = [(line_of(text, m.start()), m[1] == '"', m[2])
                            for m in INCLUDE.finditer(text)]
    return found


def check_levels(includes):
    for name, found in includes.items():
        parts = name.split("/")
        if parts[0] != "src":
            continue
        own = parts[1]
        if own not in LEVELS:
            yield f"{name}: folder `{own}` has no level; name it in tools/check_layers.py"
            continue
        for line, quoted, target in found:
            folder = target.split("/")[0]
            if not quoted:
                continue
            if "/" not in target or folder not in LEVELS:
                yield f'{name}:{line}: include "{target}" as "folder/file.h" below src/'
            elif folder != own and LEVELS[folder] >= LEVELS[own]:
                yield (f"{name}:{line}: {own} (level {LEVELS[own]}) must not include "
                       f"{folder} (level {LEVELS[folder]})")


def room_levels(folder):
    return {room: level for level, rooms in enumerate(ROOMS[folder]) for room in rooms.split(" ")}


def check_rooms(includes):
    counts = {}
    for name, found in includes.items():
        parts = name.split("/")
        if parts[0] != "src" or parts[1] not in LEVELS:
            continue
        where = "/".join(parts[:-1])
        counts[where] = counts.get(where, 0) + 1
        folder, room = parts[1], "/".join(parts[2:-1])
        levels = room_levels(folder) if folder in ROOMS else {"": 0}
        if room not in levels:
            yield f"{name}: room `{room}` of {folder} has no level; name it in tools/check_layers.py"
            continue
        for line, quoted, target in found:
            other = "/".join(target.split("/")[1:-1])
            if not quoted or target.split("/")[0] != folder or other == room or name in SEES_ALL_ROOMS:
                continue
            if levels.get(other, 0) >= levels[room]:
                yield (f"{name}:{line}: {where[4:]} (room level {levels[room]}) must not include "
                       f"{folder}{'/' if other else ''}{other} (room level {levels.get(other, 0)})")
    for where, count in counts.items():
        if count > MOST_FILES:
            yield f"{where}: {count} files; at most {MOST_FILES}: make rooms"


def check_doors(includes):
    for name, found in includes.items():
        for line, quoted, target in found:
            room, _, header = target.rpartition("/")
            inside = name.startswith(f"src/{room}/") or not name.startswith(("src/", "tools/"))
            if quoted and header not in DOORS.get(room, {header}) and not inside:
                yield f"{name}:{line}: {target} is inside {room}; include one of {', '.join(sorted(DOORS[room]))}"


def reached(name, includes, prefixes, seen):
    """Chain of files from `name` to a header that starts with one of `prefixes`, or None."""
    if name in seen:
        return None
    seen.add(name)
    for _, _, target in includes.get(name, []):
        if target.startswith(prefixes):
            return [name, target]
        inner = reached("src/" + target, includes, prefixes, seen)
        if inner:
            return [name] + inner
    return None


def check_fences(includes):
    for library, prefixes, may_include, may_reach in FENCES:
        for name, found in includes.items():
            direct = False
            for line, _, target in found:
                if target.startswith(prefixes) and not name.startswith(may_include):
                    direct = True
                    yield f"{name}:{line}: {library} header outside {', '.join(may_include)}"
            chain = None if direct else reached(name, includes, prefixes, set())
            if chain and not name.startswith(may_reach):
                yield f"{name}: {library} header reached through {' -> '.join(chain[1:])}"


def check_raw_calls(root, names):
    for name in names:
        if not str(name).startswith("src/") or str(name).startswith(RAW_ISL):
            continue
        text = tree.text_of(root, name) or ""
        code = COMMENT_OR_TEXT.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
        for call in ISL_CALL.finditer(code):
            what = call[0].rstrip("() ")
            yield f"{name}:{line_of(code, call.start())}: raw isl call `{what}` outside poly/isl/"


def check(root):
    names = tree.files(root, {"src", "include", "tools", "tests"}, {".h", ".cpp"})
    includes = read_includes(root, names)
    return [*check_levels(includes), *check_rooms(includes), *check_doors(includes), *check_fences(includes), *check_raw_calls(root, names)]


EXAMPLES = [
    ({"src/poly/a.cpp": '#include "program/program.h"\n#include <isl/cpp.h>\n',
      "src/program/program.h": '#include "scalar/expr.h"\n'}, []),
    ({"src/poly/a.cpp": '#include "schedule/schedule.h"\n'},
     ["src/poly/a.cpp:1: poly (level 4) must not include schedule (level 5)"]),
    ({"src/scalar/a.h": '\n#include "target/cpu.h"\n'}, ["src/scalar/a.h:2: scalar (level 1)"]),
    ({"src/run/a.cpp": '#include "buffer.h"\n'}, ['include "buffer.h" as']),
    ({"src/other/a.cpp": ""}, ["`other` has no level"]),
    ({"src/schedule/tree/a.cpp": '#include "schedule/marks/bind.h"\n'},
     ["src/schedule/tree/a.cpp:1: schedule/tree (room level 1) must not include schedule/marks (room level 5)"]),
    ({"src/schedule/a.h": '#include "schedule/tree/nest.h"\n'}, ["must not include schedule/tree (room level 1)"]),
    ({"src/schedule/apply.cpp": '#include "schedule/tree/nest.h"\n', "src/schedule/tree/nest.h": '#include "schedule/schedule.h"\n'}, []),
    ({"src/kernel/attic/a.h": ""}, ["room `attic` of kernel has no level"]),
    ({f"src/support/a{n}.h": "" for n in range(MOST_FILES + 1)}, [f"src/support: {MOST_FILES + 1} files; at most {MOST_FILES}"]),
    ({"src/schedule/a.cpp": '#include "poly/syntactic/equalities.h"\n'}, ["equalities.h is inside poly/syntactic"]),
    ({"src/poly/legality/a.cpp": '#include "poly/syntactic/prover.h"\n'}, []),
    ({"src/poly/b.cpp": "isl::set f(isl::set s) { return s.coalesce(); }\n"}, ["raw isl call `.coalesce`"]),
    ({"src/kernel/index/hoist.cpp": "#include <isl/set.h>\n"}, ["isl header outside"]),
    ({"src/kernel/from_schedule/body.cpp": "#include <isl/set.h>\n"}, []),
    ({"src/kernel/index/hoist.cpp": '#include "poly/scop.h"\n', "src/poly/scop.h": "#include <isl/cpp.h>\n"},
     ["src/kernel/index/hoist.cpp: isl header reached through src/poly/scop.h -> isl/cpp.h"]),
    ({"src/driver/a.cpp": '#include "poly/scop.h"\n', "src/poly/scop.h": "#include <isl/cpp.h>\n"}, []),
    ({"src/emit/c/a.cpp": "#include <llvm/IR/Module.h>\n"}, ["LLVM header outside"]),
    ({"src/tune/tuner/tuner.cpp": "#include <sqlite3.h>\n", "src/tune/database/sqlite.cpp": "#include <sqlite3.h>\n"},
     ["src/tune/tuner/tuner.cpp:1: SQLite header outside"]),
    ({"src/poly/a.cpp": "x = isl_set_card(s);\n"}, ["a.cpp:1: raw isl call `isl_set_card`"]),
    ({"src/poly/a.cpp": "// isl_set_card(s)\n", "src/poly/isl/a.cpp": "isl_set_free(s);\n"}, []),
]

if __name__ == "__main__":
    sys.exit(tree.main(check, EXAMPLES))
