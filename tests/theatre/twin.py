#!/usr/bin/env python3
"""The page's simulated caches against `kawara cache`: random programs and caches, by level, array and reference, and every schedule of a report
against the counts that C++ gives with it.

    twin.py --kawara PROGRAM [--programs N] [--caches M]
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import random_programs
from run_node import HERE, SKIPPED, node

EXAMPLES = HERE.parent.parent / "examples"
REPORTS = [("gemm.kw", "M=64,N=40,K=50", "source"), ("jacobi1d.kw", "T=20,N=40", "source"), ("blur.kw", "H=40,W=33", "auto"),
           ("attention.kw", "N=20,D=9", "source"), ("gemm.kw", "M=16,N=16,K=16", "auto")]
COUNTS = ("accesses", "hits", "compulsory", "capacity", "conflict", "written_back")


def json_of(command):
    """The object that a command prints; none where it refuses."""
    made = subprocess.run(command, capture_output=True, text=True)
    return json.loads(made.stdout) if made.returncode == 0 else None


def theatre_of(kawara, path, sizes, schedule):
    made = json_of([kawara, "explain", str(path), "--json", "--machine", "neoverse-v1", "-s", schedule, *(["-p", sizes] if sizes else [])])
    return made and made.get("theatre")


def difference(told, counted):
    """Where the answer of the page differs from `kawara cache`."""
    for level, own in zip(counted["levels"], told["levels"]):
        for key in (*COUNTS, "received", "not_there", "passed_on", "bytes_in"):
            if level[key] != own[key]:
                return f"{level['name']} {key}: {own[key]}, not {level[key]}"
        for key, name in (("lines", "lines"), ("lines_out", "lines_out")):
            if [a[key] for a in level["arrays"]] != own[name]:
                return f"{level['name']} {key} by array"
        for reference, own_reference in zip(level["references"], own["references"]):
            for key in COUNTS:
                if reference[key] != own_reference[key]:
                    return f"{level['name']} {reference['text']} {key}: {own_reference[key]}, not {reference[key]}"
    return "" if told["accesses"] == counted["accesses"] else "accesses"


def random_pairs(kawara, folder, programs, caches):
    """(data, caches, what `kawara cache` counts, what it is) of random programs."""
    seed = 0
    while programs > 0:
        seed += 1
        path = pathlib.Path(folder) / f"random{seed}.kw"
        path.write_text(random_programs.program(seed))
        data = theatre_of(kawara, path, "", "source")
        if data is None:
            if seed > 50 * programs + 500:
                sys.exit("nearly no random program can be shown")
            continue
        programs -= 1
        for k in range(caches):
            levels = random_programs.caches(1000 * seed + k)
            asked = [part for d in levels for part in ("--level", random_programs.level_text(d))]
            counted = json_of([kawara, "cache", str(path), "--json", *asked])
            if counted is None:
                sys.exit(f"kawara cache refuses {asked} for seed {seed}:\n{path.read_text()}")
            yield data, levels, counted, f"seed {seed}, {' '.join(asked)}\n{path.read_text()}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kawara", required=True)
    parser.add_argument("--programs", type=int, default=25)
    parser.add_argument("--caches", type=int, default=8)
    options = parser.parse_args()
    path, why = node()
    if path is None:
        print(f"skipped: {why}")
        return SKIPPED
    programs, asked, expected = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for data, levels, counted, what in random_pairs(options.kawara, folder, options.programs, options.caches):
            if not programs or programs[-1] is not data:
                programs.append(data)
            asked.append({"program": len(programs) - 1, "schedule": 0, "caches": levels})
            expected.append((counted, what))
    pairs, orders = len(asked), 0
    for name, sizes, schedule in REPORTS:
        data = theatre_of(options.kawara, EXAMPLES / name, sizes, schedule)
        if data is None:
            sys.exit(f"{name} cannot be shown")
        programs.append(data)
        for k, each in enumerate(data["schedules"]):
            if "counts" in each:
                asked.append({"program": len(programs) - 1, "schedule": k})
                expected.append((each["counts"], f"{name}: {each['directives']}"))
                orders += 1
    made = subprocess.run([path, str(HERE / "twin.mjs")], input=json.dumps({"programs": programs, "asked": asked}), capture_output=True, text=True)
    if made.returncode != 0:
        sys.exit(made.stderr)
    for told, (counted, what) in zip(json.loads(made.stdout), expected):
        if isinstance(counted, list):
            wrong = [k for level, own in zip(counted, told["levels"]) for k in level if level[k] != own[k]]
        else:
            wrong = difference(told, counted)
        if wrong:
            print(f"{wrong}\n{what}")
            return 1
    print(f"{pairs} random programs and caches, {orders} orders of {len(REPORTS)} reports: all counts are equal")
    return 0


if __name__ == "__main__":
    sys.exit(main())
