#!/usr/bin/env python3
"""cachegrind.py KAWARA [--d1 BYTES,WAYS,LINE] [--ll BYTES,WAYS,LINE] [--json FILE] [NAME ...]

Misses of simulated caches (`kawara cache`) beside those that valgrind's cachegrind counts for the same loops in C, compiled by gcc -O2:
an outside check of whole programs. Arrays lie one behind the other in both. Of cachegrind's counts those of a program that does
nothing are taken off. One line a program: accesses, misses of both at both caches, and how far apart they are. Exits with 1 where D1
differs by more than two of a hundred."""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

# Name: (arrays, loops of Kawara, loops of C). Arrays: name, element type, extents; the order in memory.
PROGRAMS = {
    "product, k inside": (
        [("A", "f64", (100, 100)), ("B", "f64", (100, 100)), ("C", "f64", (100, 100))],
        """for i in range(100):
    for j in range(100):
        for k in range(100):
            C[i, j] += A[i, k] * B[k, j]
""",
        """for (int i = 0; i < 100; i++) for (int j = 0; j < 100; j++) for (int k = 0; k < 100; k++)
  C[i][j] += A[i][k] * B[k][j];"""),
    "product, j inside": (
        [("A", "f64", (110, 110)), ("B", "f64", (110, 110)), ("C", "f64", (110, 110))],
        """for i in range(110):
    for k in range(110):
        for j in range(110):
            C[i, j] += A[i, k] * B[k, j]
""",
        """for (int i = 0; i < 110; i++) for (int k = 0; k < 110; k++) for (int j = 0; j < 110; j++)
  C[i][j] += A[i][k] * B[k][j];"""),
    "product with the transpose": (
        [("A", "f64", (112, 112)), ("C", "f64", (112, 112))],
        """for i in range(112):
    for j in range(112):
        for k in range(112):
            C[i, j] += A[i, k] * A[j, k]
""",
        """for (int i = 0; i < 112; i++) for (int j = 0; j < 112; j++) for (int k = 0; k < 112; k++)
  C[i][j] += A[i][k] * A[j][k];"""),
    "jacobi-2d": (
        [("A", "f64", (150, 150)), ("B", "f64", (150, 150))],
        """for t in range(8):
    for i in range(1, 149):
        for j in range(1, 149):
            B[i, j] = 0.2 * (A[i, j] + A[i, j - 1] + A[i, j + 1] + A[i + 1, j] + A[i - 1, j])
    for i in range(1, 149):
        for j in range(1, 149):
            A[i, j] = 0.2 * (B[i, j] + B[i, j - 1] + B[i, j + 1] + B[i + 1, j] + B[i - 1, j])
""",
        """for (int t = 0; t < 8; t++) {
  for (int i = 1; i < 149; i++) for (int j = 1; j < 149; j++)
    B[i][j] = 0.2 * (A[i][j] + A[i][j - 1] + A[i][j + 1] + A[i + 1][j] + A[i - 1][j]);
  for (int i = 1; i < 149; i++) for (int j = 1; j < 149; j++)
    A[i][j] = 0.2 * (B[i][j] + B[i][j - 1] + B[i][j + 1] + B[i + 1][j] + B[i - 1][j]);
}"""),
    "heat-3d, one step": (
        [("A", "f64", (48, 48, 48)), ("B", "f64", (48, 48, 48))],
        """for t in range(4):
    for i in range(1, 47):
        for j in range(1, 47):
            for k in range(1, 47):
                B[i, j, k] = A[i + 1, j, k] + A[i - 1, j, k] + A[i, j + 1, k] + A[i, j - 1, k] + A[i, j, k + 1] + A[i, j, k - 1]
""",
        """for (int t = 0; t < 4; t++) for (int i = 1; i < 47; i++) for (int j = 1; j < 47; j++) for (int k = 1; k < 47; k++)
  B[i][j][k] = A[i + 1][j][k] + A[i - 1][j][k] + A[i][j + 1][k] + A[i][j - 1][k] + A[i][j][k + 1] + A[i][j][k - 1];"""),
    "transpose": (
        [("A", "f64", (700, 700)), ("B", "f64", (700, 700))],
        """for i in range(700):
    for j in range(700):
        B[j, i] = A[i, j]
""",
        "for (int i = 0; i < 700; i++) for (int j = 0; j < 700; j++) B[j][i] = A[i][j];"),
    "mvt": (
        [("A", "f64", (500, 500)), ("x", "f64", (500,)), ("y", "f64", (500,)), ("u", "f64", (500,)), ("v", "f64", (500,))],
        """for i in range(500):
    for j in range(500):
        x[i] += A[i, j] * u[j]
for i in range(500):
    for j in range(500):
        y[i] += A[j, i] * v[j]
""",
        """for (int i = 0; i < 500; i++) for (int j = 0; j < 500; j++) x[i] += A[i][j] * u[j];
for (int i = 0; i < 500; i++) for (int j = 0; j < 500; j++) y[i] += A[j][i] * v[j];"""),
    "atax": (
        [("A", "f64", (480, 700)), ("x", "f64", (700,)), ("t", "f64", (480,)), ("y", "f64", (700,))],
        """for i in range(480):
    for j in range(700):
        t[i] += A[i, j] * x[j]
    for j in range(700):
        y[j] += A[i, j] * t[i]
""",
        """for (int i = 0; i < 480; i++) {
  for (int j = 0; j < 700; j++) t[i] += A[i][j] * x[j];
  for (int j = 0; j < 700; j++) y[j] += A[i][j] * t[i];
}"""),
    "convolution 5x5": (
        [("X", "f32", (164, 164)), ("W", "f32", (5, 5)), ("Y", "f32", (160, 160))],
        """for i in range(160):
    for j in range(160):
        for r in range(5):
            for s in range(5):
                Y[i, j] += X[i + r, j + s] * W[r, s]
""",
        """for (int i = 0; i < 160; i++) for (int j = 0; j < 160; j++) for (int r = 0; r < 5; r++) for (int s = 0; s < 5; s++)
  Y[i][j] += X[i + r][j + s] * W[r][s];"""),
    "triangular product": (
        [("A", "f64", (120, 120)), ("B", "f64", (120, 100))],
        """for i in range(120):
    for j in range(100):
        for k in range(i + 1, 120):
            B[i, j] += A[k, i] * B[k, j]
""",
        """for (int i = 0; i < 120; i++) for (int j = 0; j < 100; j++) for (int k = i + 1; k < 120; k++)
  B[i][j] += A[k][i] * B[k][j];"""),
}
C_TYPES = {"f64": "double", "f32": "float"}


def run(words, **more):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
    return done


def c_text(arrays, loops):
    """Arrays as members of one aligned block, so that they lie as Kawara places them."""
    members = "".join(f"  _Alignas(64) {C_TYPES[elem]} {name}{''.join(f'[{n}]' for n in extents)};\n"
                      for name, elem, extents in arrays)
    for name, _, _ in arrays:
        loops = re.sub(rf"\b{name}\b(?=\[)", f"m.{name}", loops)
    return f"static struct {{\n{members}}} m __attribute__((aligned(4096)));\nint main(void) {{\n{loops}\nreturn ((volatile char *)&m)[0];\n}}\n"


def kawara_text(arrays, loops):
    return "".join(f"inout {name}: {elem}[{', '.join(map(str, extents))}]\n" for name, elem, extents in arrays) + loops


def cachegrind(folder, text, d1, ll):
    """(D1 misses, LL misses of data), reads and writes."""
    (folder / "p.c").write_text(text)
    run(["gcc", "-O2", "-fno-tree-vectorize", "-fno-tree-loop-distribute-patterns", "-fno-loop-interchange", "p.c", "-o", "p"], cwd=folder)
    out = run(["valgrind", "--tool=cachegrind", "--cache-sim=yes", f"--D1={d1}", f"--LL={ll}", "--cachegrind-out-file=/dev/null", "./p"],
              cwd=folder).stderr
    number = lambda name: int(re.search(rf"{name}\s*:?\s+misses:\s+([\d,]+)", out)[1].replace(",", ""))
    return number("D1"), number("LLd")


def simulated(kawara, folder, text, d1, ll):
    (folder / "p.kw").write_text(text)
    level = lambda words: "{0},{2},{1},lru".format(*words.split(","))
    made = json.loads(run([kawara, "cache", "p.kw", "--json", "--level", level(d1), "--level", level(ll)], cwd=folder).stdout)
    misses = [each["compulsory"] + each["capacity"] + each["conflict"] for each in made["levels"]]
    return made["accesses"], misses[0], misses[1]


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("kawara", type=pathlib.Path)
    options.add_argument("names", nargs="*")
    options.add_argument("--d1", default="8192,8,64")
    options.add_argument("--ll", default="131072,16,64")
    options.add_argument("--json")
    given = options.parse_args()
    rows = []
    print(f"{'program':<28}{'accesses':>12}{'D1 ours':>12}{'cachegrind':>12}{'of 100':>9}{'LL ours':>10}{'cachegrind':>12}{'of 100':>9}")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        nothing = cachegrind(folder, "int main(void) { return 0; }\n", given.d1, given.ll)
        for program in given.names or PROGRAMS:
            arrays, loops, c_loops = PROGRAMS[program]
            accesses, d1, ll = simulated(given.kawara.resolve(), folder, kawara_text(arrays, loops), given.d1, given.ll)
            theirs = [a - b for a, b in zip(cachegrind(folder, c_text(arrays, c_loops), given.d1, given.ll), nothing)]
            apart = [100 * (ours / each - 1) for ours, each in zip((d1, ll), theirs)]
            rows.append({"program": program, "accesses": accesses, "d1": d1, "d1_cachegrind": theirs[0], "ll": ll, "ll_cachegrind": theirs[1]})
            print(f"{program:<28}{accesses:>12}{d1:>12}{theirs[0]:>12}{apart[0]:>+9.2f}{ll:>10}{theirs[1]:>12}{apart[1]:>+9.2f}", flush=True)
    if given.json:
        pathlib.Path(given.json).write_text(json.dumps({"d1": given.d1, "ll": given.ll, "rows": rows}, indent=1) + "\n")
    far = [row for row in rows if abs(row["d1"] / row["d1_cachegrind"] - 1) > 0.02]
    print(f"{len(rows) - len(far)} of {len(rows)} within 2 of a hundred at D1")
    sys.exit(bool(far))


if __name__ == "__main__":
    main()
