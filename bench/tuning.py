#!/usr/bin/env python3
"""Tunes a set of programs and prints what was gained over the default, as a table.

    bench/tuning.py --kawara build/tools/kawara --budget 30s [--strategy guided] [--seed 1] [FILTER ...]
    bench/tuning.py --kawara build/tools/kawara --compare --budget 96trials --seeds 3 [FILTER ...]

With --compare: trials until the guided search is as fast as the random one is at the end.
"""

import argparse
import json
import math
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOFTMAX = """param N, D
input x: f32[N, D]
output y: f32[N, D]
temp m: f32[N], s: f32[N]
m[i] = max(j, x[i, j])
s[i] = sum(j, exp(x[i, j] - m[i]))
y[i, j] = exp(x[i, j] - m[i]) / s[i]
"""
ROWSUM = """param N, D
input x: f32[N, D]
output y: f32[N]
y[i] = sum(j, x[i, j] * x[i, j])
"""
TASKS = [
    ("gemm 97x101x103", "examples/gemm.kw", "M=97,N=101,K=103"),
    ("gemm 127x31x513", "examples/gemm.kw", "M=127,N=31,K=513"),
    ("gemm 7x512x512", "examples/gemm.kw", "M=7,N=512,K=512"),
    ("gemm 512x3x512", "examples/gemm.kw", "M=512,N=3,K=512"),
    ("gemm 31x31x31", "examples/gemm.kw", "M=31,N=31,K=31"),
    ("gemm+relu 67x59x61", "examples/gemm_relu.kw", "M=67,N=59,K=61"),
    ("softmax 64x200", SOFTMAX, "N=64,D=200"),
    ("softmax 257x1001", SOFTMAX, "N=257,D=1001"),
    ("row sums 61x997", ROWSUM, "N=61,D=997"),
    ("jacobi-2d 90, 40 steps", "examples/polybench/jacobi-2d.kw", "N=90,TSTEPS=40"),
    ("jacobi-2d 251, 20 steps", "examples/polybench/jacobi-2d.kw", "N=251,TSTEPS=20"),
    ("2mm 40x50x70x80", "examples/polybench/2mm.kw", "NI=40,NJ=50,NK=70,NL=80"),
    ("2mm 101x103x97x89", "examples/polybench/2mm.kw", "NI=101,NJ=103,NK=97,NL=89"),
    ("atax 390x410", "examples/polybench/atax.kw", "M=390,N=410"),
    ("gesummv 250", "examples/polybench/gesummv.kw", "N=250"),
]


def tune(arguments, folder, source, sizes, strategy, seed, database):
    path = ROOT / source
    if "\n" in source:
        path = pathlib.Path(folder) / "program.kw"
        path.write_text(source, encoding="utf-8")
    command = [arguments.kawara, "tune", str(path), "-p", sizes, "--budget", arguments.budget,
               "--strategy", strategy, "--seed", str(seed), "--json", "--db", database]
    done = subprocess.run(command, capture_output=True, check=False)
    return json.loads(done.stdout)


def mean(values):
    return math.exp(sum(math.log(v) for v in values) / max(len(values), 1))


def table(arguments, tasks, folder):
    gains = []
    print("| task | default | tuned | faster | 95 % | tried | a second | lost | pairs right |")
    print("|---|--:|--:|--:|---|--:|--:|--:|--:|")
    for number, (name, source, sizes) in enumerate(tasks):
        result = tune(arguments, folder, source, sizes, arguments.strategy, arguments.seed,
                      f"{folder}/{number}.db")
        if not result["ok"]:
            print(f"| {name} | {result['errors'][0]['message']} |")
            continue
        lost = result["trials"] - result["outcomes"].get("measured", 0)
        gain = 1 / result["ratio"][1] if result["is_faster"] else 1.0
        gains.append(gain)
        times = "| | | default stays | |"
        if result["is_faster"]:
            low, _, high = result["ratio"]
            times = (f"| {result['default_seconds_per_call'] * 1e6:.1f} us "
                     f"| {result['seconds_per_call'] * 1e6:.1f} us | {gain:.2f}x "
                     f"| {1 / high:.2f}x to {1 / low:.2f}x |")
        print(f"| {name} {times} {result['trials']} | {result['trials'] / result['seconds']:.1f} "
              f"| {lost} | {result.get('rank_accuracy', 0) * 100:.0f} % |", flush=True)
    print(f"\ngeometric mean over {len(gains)}: {mean(gains):.2f}x")


def best_after(result):
    """[(number of trials, best ratio so far)]"""
    return [(0, 1.0)] + [(step["trial"], step["ratio"]) for step in result.get("curve", [])]


def compare(arguments, tasks, folder):
    shares = []
    print("| task | seed | random: best after all | guided: best after all | trials until as fast |")
    print("|---|--:|--:|--:|--:|")
    for number, (name, source, sizes) in enumerate(tasks):
        for seed in range(1, arguments.seeds + 1):
            runs = {s: tune(arguments, folder, source, sizes, s, seed,
                            f"{folder}/{number}-{seed}-{s}.db") for s in ("random", "guided")}
            wanted = best_after(runs["random"])[-1]
            # Two per cent: measuring the same candidate twice differs by that much.
            when = next((trial for trial, ratio in best_after(runs["guided"])
                         if ratio <= wanted[1] * 1.02), None)
            shares.append(when / max(wanted[0], 1) if when is not None else math.inf)
            print(f"| {name} | {seed} | {1 / wanted[1]:.2f}x after {wanted[0]} "
                  f"| {1 / best_after(runs['guided'])[-1][1]:.2f}x | {when or 'never'} |", flush=True)
    shares.sort()
    print(f"\nmedian share of the random search's trials: {shares[len(shares) // 2]:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kawara", required=True)
    parser.add_argument("--budget", default="30s")
    parser.add_argument("--strategy", default="guided")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("filters", nargs="*")
    arguments = parser.parse_args()
    tasks = [t for t in TASKS if not arguments.filters or any(f in t[0] for f in arguments.filters)]
    with tempfile.TemporaryDirectory() as folder:
        (compare if arguments.compare else table)(arguments, tasks, folder)


if __name__ == "__main__":
    main()
