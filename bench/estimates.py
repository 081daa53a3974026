#!/usr/bin/env python3
"""Compares the times that `kawara estimate` predicts with those that `kawara bench` measures.

    bench/estimates.py build/tools/kawara [--threads 1] [--json FILE]

Every example is tried in a few sizes and schedules. Prints a table and, for all of them, the geometric mean of
the larger over the smaller time: 1.00 would be perfect.
"""

import argparse
import json
import math
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Example, sizes, schedules: what is in a cache, what is not, with and without vectors and tiles.
CASES = [
    ("add", "N=4096", ["", "auto"]),
    ("add", "N=16000000", ["", "auto"]),
    ("gemm", "M=128,N=128,K=128", ["", "@gemm_tiled", "auto"]),
    ("gemm", "M=512,N=512,K=512", ["", "@gemm_tiled", "@gemm_packed", "auto"]),
    ("gemm_relu", "M=256,N=256,K=256", ["", "@gemm_relu_tiled", "auto"]),
    ("blur", "H=254,W=256", ["@blur_root", "@blur_sliding", "@blur_strips"]),
    ("blur", "H=2046,W=2048", ["@blur_root", "@blur_inlined", "@blur_sliding", "@blur_strips",
                               "@blur_ring", "auto"]),
    ("conv2d", "", ["", "@conv2d_tiled", "auto"]),
    ("maxpool", "", ["", "auto"]),
    ("jacobi1d", "", ["", "auto"]),
    ("attention", "", ["", "auto"]),
    ("polyproduct", "", ["", "auto"]),
]
DEFAULT_SIZE = 96


def parameters(name):
    """Of a program: the names after `param`."""
    text = (ROOT / "examples" / f"{name}.kw").read_text()
    names = [line[6:] for line in text.splitlines() if line.startswith("param ")]
    return [n.strip() for line in names for n in line.split("#")[0].split(",") if n.strip()]


def answer(kawara, command, name, sizes, schedule, environment):
    sizes = sizes or ",".join(f"{p}={DEFAULT_SIZE}" for p in parameters(name))
    if schedule.startswith("@"):
        schedule = "@" + str(ROOT / "examples" / "schedules" / f"{schedule[1:]}.sched")
    words = [kawara, command, str(ROOT / "examples" / f"{name}.kw"), "--json"]
    words += ["-p", sizes] if sizes else []
    words += ["-s", schedule or "source"]
    words += ["--no-db"] if command == "bench" else []
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    found = json.loads(done.stdout or "{}")
    return found if found.get("ok") else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kawara")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", help="also write the rows to this file")
    options = parser.parse_args()
    environment = {**os.environ, "KAWARA_THREADS": str(options.threads)}
    rows = []
    print(f"{'example':<12}{'sizes':<22}{'schedule':<18}{'predicted':>12}{'measured':>12}"
          f"{'ratio':>8}  bound by")
    for name, sizes, schedules in CASES:
        for schedule in schedules:
            ask = lambda command: answer(options.kawara, command, name, sizes, schedule,
                                         environment)
            predicted, measured = ask("estimate"), ask("bench")
            if not predicted or not measured:
                print(f"{name:<12}{sizes:<22}{schedule or '-':<18}  not available")
                continue
            ratio = predicted["predicted_ms"] / measured["median_ms"]
            rows.append({"example": name, "sizes": sizes, "schedule": schedule, "ratio": ratio,
                         "predicted_ms": predicted["predicted_ms"],
                         "measured_ms": measured["median_ms"], "bound": predicted["bound"]})
            print(f"{name:<12}{sizes:<22}{schedule or '-':<18}{predicted['predicted_ms']:>9.3f} ms"
                  f"{measured['median_ms']:>9.3f} ms{ratio:>8.2f}  {predicted['bound']}", flush=True)
    if rows:
        off = math.exp(sum(abs(math.log(row["ratio"])) for row in rows) / len(rows))
        within = sum(0.5 <= row["ratio"] <= 2 for row in rows)
        print(f"{len(rows)} cases: off by a factor of {off:.2f} in the geometric mean, "
              f"{within} within a factor of 2")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
