#!/usr/bin/env python3
"""Random shapes on this processor: default schedules beside OpenBLAS and ONNX Runtime, and how the percentiles stand.

    bench/sweep/cpu.py --peers FOLDER [--build build] [--family products] [--threads 1,all] [--count 100] [--seed 1] [--json results.json]

Families: `products` (f32; M, N, K 1 to 4096, at most 2e10 FLOP) against the better of OpenBLAS and ONNX Runtime, `convolutions` (1x1 to 7x7,
dense, depthwise, grouped, strides, dilations; 7 to 256 pixels, 3 to 1024 channels) and `rows` (softmax, norms, reductions over any axes, element by
element with broadcasts, transposes) against ONNX Runtime. No shape is chosen by hand: sizes are log-uniform, half of them multiples of 8, from the
seed. FOLDER has libonnxruntime.so.1 (tools/fetch_onnxruntime.sh) and libopenblas.so.0, where the system does not. Both sides run in turns in
one process, `bench_cpu --products` or `kawara bench --against ort`, which compare the results, too. Prints percentiles and the ten
worst of each family, which are measured again: the median of their runs counts. The exit code is 1 when a result is wrong.
"""

import argparse
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent)]
import operators
import shapes

MOST_FLOP = 2e10


def product(rng):
    m, n, k = (shapes.size(rng, 1, 4096) for _ in range(3))
    return None if 2 * m * n * k > MOST_FLOP else {"name": f"{m} x {n} x {k}", "sizes": (m, n, k)}


FAMILIES = {"products": (product, "products f32 against OpenBLAS and ONNX Runtime", 0.90, 1.03),
            "convolutions": (operators.convolution, "convolutions against ONNX Runtime", 0.97, 1.35),
            "rows": (operators.row, "rows against ONNX Runtime", 0.95, None)}


def called(words, threads):
    """Standard output; a run that fails says so."""
    environment = dict(os.environ)
    if threads != "all":
        environment["KAWARA_THREADS"] = threads
    done = subprocess.run(words, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, words))}: {done.stdout[-600:]}{done.stderr[-600:]}")
    return done.stdout


def products(cases, threads, options, folder):
    """(case, is right, peer's milliseconds, own, who): all in one process."""
    listed, results = folder / "products.txt", folder / "products.json"
    listed.write_text("".join("{} {} {}\n".format(*one["sizes"]) for one in cases))
    called([options.build / "bench" / "bench_cpu", "--products", listed, "--peers", "OpenBLAS,ORT", "--peer-folder", options.peers,
            "--threads", threads, "--json", results] + (["--quick"] if options.quick else []), threads)
    for one, row in zip(cases, json.loads(results.read_text())["runs"][0]["cases"]):
        entries = {entry["contestant"]: entry for entry in row["entries"]}
        own = entries.pop("kawara")
        if "failure" in own:
            print(f"{one['name']}: {own['failure']}", file=sys.stderr)
            yield one, False, None, None, ""
            continue
        peers = {name: entry for name, entry in entries.items() if "median_s" in entry}
        best = min(peers, key=lambda name: peers[name]["median_s"])
        yield one, own["right"], peers[best]["median_s"] * 1e3, own["median_s"] * 1e3, best


def models(cases, threads, options, folder):
    for one in cases:
        path = operators.write(one, folder / "case.onnx")
        try:
            out = called([options.build / "tools" / "kawara", "bench", path, "--against", "ort", "--peers", options.peers, "--no-db", "--json"],
                         threads)
        except RuntimeError as refused:
            print(f"{one['name']}: {refused}", file=sys.stderr)
            yield one, False, None, None, ""
            continue
        told = json.loads(out)["onnxruntime"]
        yield one, all(each["within"] for each in told["outputs_compared"]), told["median_ms"], told["kawara_ms"], "ORT"


def median(values):
    return shapes.percentile(values, 0.5)


def raced(name, threads, options, folder):
    make, title, fifth, least_median = FAMILIES[name]
    family = shapes.Family(f"{title}, {threads} thread{'' if threads == '1' else 's'}", fifth, least_median)
    cases = [one for one in shapes.draw(options.seed, options.count, make) if options.filter in one["name"]]
    race = products if name == "products" else models
    found = {}

    def note(these):
        for one, is_right, theirs, own, peer in race(these, threads, options, folder):
            if own:
                found.setdefault(one["name"], []).append((theirs / own, theirs, own, peer, is_right))
                print(f"{theirs / own:6.2f}x  {own:10.4f} ms, {peer} {theirs:10.4f} ms  {one['name']}"
                      + ("" if is_right else "  WRONG"), flush=True)
            else:
                family.add(one["name"] + " (refused)", False, None)

    note(cases)
    for _ in range(options.again):  # what was slow by chance is not slow again
        worst = sorted((each for each in cases if each["name"] in found), key=lambda one: median([r[0] for r in found[one["name"]]]))[:10]
        print(f"the {len(worst)} worst again:", flush=True)
        note(worst)
    for what, runs in found.items():
        ratio = median([run[0] for run in runs])
        _, theirs, own, peer, _ = min(runs, key=lambda run: abs(run[0] - ratio))
        family.add(what, all(run[4] for run in runs), ratio, {"kawara_ms": own, "peer_ms": theirs, "peer": peer})
    return family


def machine():
    told = subprocess.run(["lscpu"], capture_output=True, text=True).stdout.splitlines()
    models = [line.split(":")[1].strip() for line in told if line.startswith("Model name")]
    return f"{', '.join(models) or platform.machine()}, {os.cpu_count()} cores"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"), help="folder of the build: kawara and bench_cpu")
    parser.add_argument("--peers", required=True, help="folder with libonnxruntime.so.1 and libopenblas.so.0")
    parser.add_argument("--family", choices=[*FAMILIES, "all"], default="all")
    parser.add_argument("--threads", default="1,all")
    parser.add_argument("--count", type=int, default=100, help="shapes of each family")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--filter", default="", help="of the shapes drawn only those with this text in their names")
    parser.add_argument("--again", type=int, default=2, help="how often the ten worst are measured again")
    parser.add_argument("--quick", action="store_true", help="products: fewer and shorter samples")
    parser.add_argument("--json", help="write all times to this file")
    options = parser.parse_args()
    chosen = list(FAMILIES) if options.family == "all" else [options.family]
    families = []
    with tempfile.TemporaryDirectory() as folder:
        for name in chosen:
            for threads in options.threads.split(","):
                families.append(raced(name, threads, options, pathlib.Path(folder)))
                print("\n".join(families[-1].lines()), flush=True)
    if options.json:
        shapes.write(options.json, options.seed, machine(), families,
                     "medians of samples in turns; the ten worst: the median of several runs")
    return 1 if any(f.wrong for f in families) else 0


if __name__ == "__main__":
    sys.exit(main())
