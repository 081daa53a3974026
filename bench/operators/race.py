#!/usr/bin/env python3
"""Every operator of the standard on this processor beside ONNX Runtime: the ways it is used, three sizes each.

    bench/operators/race.py --peers FOLDER [--kawara build/tools/kawara] [--family rows] [--filter 'Resize|Pool'] [--sizes small,middle,large] [--seed 1]
                            [--threads 1] [--again 2] [--json results.json] [--through 'taskset -c 1']

Each case is a model of one node, or of the few that belong together; sizes and elements come from the seed: small ones have about 4,000 elements or
a million operations, middle ones 130,000 or 30 million, large ones 4 million or 600 million. FOLDER has libonnxruntime.so.1 (tools/fetch_onnxruntime.sh).
Both sides run in turns in one process (`kawara bench --against ort`), which compares the results, too. What is behind is measured again, and
the median of its runs counts. Prints all cases from the slowest, percentiles, and which families are slow. The exit code is 1 when a
result is wrong or a case could not be raced. --list prints the names of the cases, --missing what Kawara imports and no case has.
"""

import argparse
import json
import os
import pathlib
import random
import re
import shlex
import subprocess
import sys
import tempfile

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parent.parent / "sweep")]
import elementwise
import model
import movement
import products
import rows
import shapes
import sizes
import windows

FAMILIES = {"elementwise": elementwise, "rows": rows, "movement": movement, "windows": windows, "products": products}
LEAST, FIFTH, MEAN = 0.70, 0.90, 1.40
# Of the norm: a hundredth of the results one step of the scale away.
STEPS = 0.01
# Random numbers cannot be compared; lists of tensors, texts and windows of a signal are no work.
NOT_RACED = re.compile("Random|Bernoulli|Multinomial|Dropout|Sequence|Optional|Constant$|Shape$|Size$|Window$|TfIdf|EyeLike|Cast.ike|.*squeeze|Flatten")


def all_cases(families=tuple(FAMILIES)):
    return {name: make for family in families for name, make in FAMILIES[family].CASES}


class Refused(Exception):
    pass


def raced(name, size, make, options, folder):
    """(times, is right) of one case; other sizes and elements with every seed."""
    seed = f"{options.seed}/{name}/{size}"
    case = make(sizes.Sizes(random.Random(seed), size))
    path, arrays = model.write(case, folder, seed)
    words = [*shlex.split(options.through), options.kawara, "bench", path, "--against", "ort", "--peers", options.peers, "--no-db", "--json"]
    for each, array in arrays.items():
        words += ["--input", f"{each}={array}"]
    environment = dict(os.environ, **({} if options.threads == "all" else {"KAWARA_THREADS": options.threads}))
    done = subprocess.run(words, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise Refused(f"{done.stdout[-300:]}{done.stderr[-700:]}".strip())
    told = json.loads(done.stdout)["onnxruntime"]
    compared = [each for each in told["outputs_compared"] if each["compared"]]
    times = {"ratio": told["times_faster"], "kawara_ms": told["kawara_ms"], "peer_ms": told["median_ms"], "peer": "ORT"}
    shape = ", ".join("x".join(map(str, values.shape)) or "one" for values in case.inputs.values())
    return times, shape, all(each["within"] or (case.may_round and each["norm"] < STEPS) for each in compared)


class Race:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.family = shapes.Family(f"operators against ONNX Runtime, {options.threads} thread{'' if options.threads == '1' else 's'}", FIFTH, None)
        self.runs, self.refused = {}, []

    def run(self, some):
        for name, size, make in some:
            try:
                times, shape, is_right = raced(name, size, make, self.options, self.folder)
            except Refused as why:
                print(f"{name}, {size}: not raced\n  {why}", file=sys.stderr, flush=True)
                self.refused.append(f"{name}, {size}")
                continue
            self.runs.setdefault((name, size, make), []).append((times, shape, is_right))
            print(f"{times['ratio']:6.2f}x  {times['kawara_ms']:10.4f} ms, ORT {times['peer_ms']:10.4f} ms  {name}, {size}: {shape}"
                  + ("" if is_right else "  WRONG"), flush=True)

    def ratio(self, key):
        return shapes.percentile([run[0]["ratio"] for run in self.runs[key]], 0.5)

    def again(self):
        """What is behind may have been so by chance."""
        slow = [key for key in self.runs if self.ratio(key) < 1.0]
        print(f"{len(slow)} of {len(self.runs)} are behind and run again:", flush=True)
        self.run(slow)

    def finish(self):
        for key, runs in self.runs.items():
            name, size, _ = key
            middle = self.ratio(key)
            times, shape, _ = min(runs, key=lambda run: abs(run[0]["ratio"] - middle))
            times = {each: times[each] for each in ("kawara_ms", "peer_ms", "peer")}
            self.family.add(f"{name}, {size}: {shape}", all(run[2] for run in runs), middle, times)

    def report(self):
        ordered = sorted(self.family.ratios)
        print("\nall, from the slowest:")
        for ratio, what in ordered:
            print(f"  {ratio:6.2f}x  {what}{self.family.both_times(what)}")
        for size in sizes.ELEMENTS:
            values = [ratio for ratio, what in ordered if f", {size}: " in what]
            if values:
                print(f"{size}: {summary(values)}")
        print("\n".join(self.family.lines()))
        values = [ratio for ratio, _ in ordered]
        if values:
            print(f"asked: least >= {LEAST}, 5 % >= {FIFTH}, mean >= {MEAN}; is: {summary(values)}; "
                  f"{sum(value < LEAST for value in values)} below {LEAST}; {len(self.refused)} not raced")


def summary(values):
    return (f"{len(values)} cases, least {min(values):.2f}, 5 % {shapes.percentile(values, 0.05):.2f}, median {shapes.percentile(values, 0.5):.2f}, "
            f"mean {shapes.mean(values):.2f}")


def operators_of(case):
    return {operator for operator, *_ in case.nodes}


def missing():
    """What Kawara imports (docs/reference/models.md lists it by the tables of program/operators and run/functions) and no case has."""
    root = pathlib.Path(__file__).resolve().parents[2] / "src"
    text = "".join(path.read_text() for part in ("program/operators", "run/functions") for path in sorted((root / part).glob("*.cpp")))
    tables = "".join(re.findall(r"kAll\[\] = \{(.*?)\};", text, re.S))
    known = set(re.findall(r'\{"([A-Z]\w+)",', tables))
    used = set()
    for make in all_cases().values():
        used |= operators_of(make(sizes.Sizes(random.Random(1), "small")))
    return sorted(each for each in known - used if not each.startswith("ChannelsLast") and not NOT_RACED.search(each))


def machine():
    told = subprocess.run(["lscpu"], capture_output=True, text=True).stdout.splitlines()
    return ", ".join([line.split(":")[1].strip() for line in told if line.startswith("Model name")] + [f"{os.cpu_count()} cores"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kawara", default="build/tools/kawara")
    parser.add_argument("--peers", help="folder with libonnxruntime.so.1")
    parser.add_argument("--family", default=",".join(FAMILIES))
    parser.add_argument("--filter", default="", help="only cases in whose names this regular expression is found")
    parser.add_argument("--sizes", default=",".join(sizes.ELEMENTS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", default="1")
    parser.add_argument("--again", type=int, default=2, help="how often what is behind is measured again")
    parser.add_argument("--through", default="", help="words in front of each measurement, `taskset -c 1` for one")
    parser.add_argument("--machine", help="its name in the results, where it is not what lscpu says")
    parser.add_argument("--json", help="write all ratios to this file")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--missing", action="store_true")
    options = parser.parse_args()
    chosen = {name: make for name, make in all_cases(options.family.split(",")).items() if re.search(options.filter, name)}
    if options.list or options.missing:
        print("\n".join(chosen if options.list else missing()))
        return 1 if options.missing and missing() else 0
    if not options.peers:
        parser.error("--peers is needed: the folder of libonnxruntime.so.1")
    with tempfile.TemporaryDirectory() as folder:
        race = Race(options, pathlib.Path(folder))
        race.run([(name, size, make) for name, make in chosen.items() for size in options.sizes.split(",")])
        for _ in range(options.again):
            race.again()
    race.finish()
    race.report()
    if options.json:
        shapes.write(options.json, options.seed, options.machine or machine(), [race.family],
                     "medians of turns; what is behind: the median of several runs")
    return 1 if race.family.wrong or race.refused else 0


if __name__ == "__main__":
    sys.exit(main())
