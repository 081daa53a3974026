#!/usr/bin/env python3
"""Tunes sets of programs and prints what was gained over the default, or compares strategies.

    bench/tuning.py --kawara build/tools/kawara --set odd --budget 60s --out FOLDER
    bench/tuning.py --kawara build/tools/kawara --set named --budget 60s --out FOLDER
    bench/tuning.py --kawara build/tools/kawara --set polybench --sizes MEDIUM --budget 60s --out FOLDER
    bench/tuning.py --kawara build/tools/kawara --set polybench --sizes SMALL --budget 5s --again 3 --out FOLDER
    bench/tuning.py --kawara build/tools/kawara --compare --trials 64 --seeds 5 --out FOLDER
    bench/tuning.py --kawara build/tools/kawara --all --out FOLDER        all four, one after another

What is done is kept in FOLDER, one file for each task: a run that was interrupted goes on where it was, and
tasks can be measured again by removing their files. Further arguments choose tasks by parts of their names.
"""

import argparse
import json
import math
import pathlib
import re
import statistics
import subprocess
import sys
import time

import tuning_tasks

ROOT = tuning_tasks.ROOT


def slug(text):
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def file_of(out, source, name):
    if "\n" not in source:
        return ROOT / source
    path = out / f"{slug(name)}.kw"
    path.write_text(source, encoding="utf-8")
    return path


def run_tune(arguments, out, task, more):
    """What `kawara tune --json` says about a task."""
    name, source, sizes = task
    command = [arguments.kawara, "tune", str(file_of(out, source, name)), "-p", sizes, "--json"] + more
    done = subprocess.run(command, capture_output=True, check=False)
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        return {"ok": False, "errors": [{"message": f"ended with {done.returncode}"}]}


def kept(path, make):
    """The result in the file; made and written when there is none."""
    if path.exists():
        return json.loads(path.read_text(encoding="utf-8"))
    result = make()
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(result), encoding="utf-8")
    partial.rename(path)
    return result


def mean(values):
    return math.exp(sum(math.log(v) for v in values) / max(len(values), 1))


def row_of(name, result):
    """A line of the table, and the gain."""
    if not result.get("ok"):
        return f"| {name} | {result['errors'][0]['message']} | | | | | | |", None
    lost = result["trials"] - result["outcomes"].get("measured", 0)
    gain = 1 / result["ratio"][1] if result["is_faster"] else 1.0
    why = (" (others had the cores)" if result.get("is_undecided")
           else f" ({result['refuted']} refuted)" if result.get("refuted") else "")
    times = f"| | default stays{why} | |"
    if result["is_faster"]:
        low, _, high = result["ratio"]
        times = (f"| {result['default_seconds_per_call'] * 1e6:.1f} to "
                 f"{result['seconds_per_call'] * 1e6:.1f} us | {gain:.2f}x "
                 f"| {1 / high:.2f}x to {1 / low:.2f}x |")
    speed = result["trials"] / result["seconds"]
    accuracy = result.get("rank_accuracy", 0) * 100
    return f"| {name} {times} {result['trials']} | {speed:.1f} | {lost} | {accuracy:.0f} % |", gain


def checked_again(arguments, out, task, database):
    """How many times faster than `auto` the tuned program is in processes of its own, taken in turns."""
    name, source, sizes = task
    command = [arguments.kawara, "bench", str(file_of(out, source, name)), "-p", sizes, "-s", "auto", "--json"]
    ratios = []
    for _ in range(arguments.again):
        times = []
        for more in (["--no-db"], ["--db", str(database)]):
            done = subprocess.run(command + more, capture_output=True, check=False)
            if done.returncode != 0:
                return None
            times.append(json.loads(done.stdout)["min_ms"])
        ratios.append(times[0] / times[1])
    return statistics.median(ratios)


def table(arguments, set_name, out):
    """Tunes a set. With `--again` the winners meet `auto` once more, outside the search."""
    print(f"\n### {set_name}, {arguments.budget} each\n")
    print("| task | default to tuned | faster | 95 % | tried | a second | lost | pairs right |"
          + (" again |" if arguments.again else ""))
    print("|---|---|--:|---|--:|--:|--:|--:|" + ("--:|" if arguments.again else ""))
    gains = []
    for task in chosen(arguments, tuning_tasks.tasks_of(set_name, arguments.sizes)):
        database = out / f"{set_name}-{slug(task[0])}.db"
        more = ["--budget", arguments.budget, "--seed", str(arguments.seed), "--db", str(database)]
        result = kept(out / f"{set_name}-{slug(task[0])}.json",
                      lambda t=task, m=more: run_tune(arguments, out, t, m))
        line, gain = row_of(task[0], result)
        if arguments.again and result.get("is_faster"):
            again = kept(out / f"{set_name}-{slug(task[0])}-again.json",
                         lambda t=task, d=database: checked_again(arguments, out, t, d))
            line += " failed |" if again is None else f" {again:.2f}x |"
        print(line, flush=True)
        if gain is not None:
            gains.append(gain)
    better = [g for g in gains if g > 1]
    print(f"\ngeometric mean over {len(gains)}: {mean(gains):.2f}x; over the {len(better)} that gained: "
          f"{mean(better):.2f}x; slower than the default: {sum(g < 1 for g in gains)}")


def best_after(result, trials):
    """Fastest ratio among the first trials."""
    return min([1.0] + [s["ratio"] for s in result.get("curve", []) if s["trial"] <= trials])


def first_as_fast(result, ratio):
    # One per cent: measuring the same candidate twice differs by that much.
    if ratio * 1.01 >= 1:
        return 0
    return next((s["trial"] for s in result.get("curve", []) if s["ratio"] <= ratio * 1.01), None)


def compare(arguments, out):
    """Random and guided searches on the same recorded times."""
    quarter = arguments.trials // 4
    print(f"\n### guided against random, {arguments.trials} trials, {arguments.seeds} seeds\n")
    print(f"| task | random: best after {arguments.trials} | guided: best after {quarter} "
          f"| guided: trials until as fast as random, by seed | share | pairs right |")
    print("|---|--:|--:|---|--:|--:|")
    shares, worth = [], []
    for task in chosen(arguments, tuning_tasks.COMPARED):
        begun = time.time()
        runs = {}
        for strategy, trials in (("random", arguments.trials), ("guided", arguments.trials // 2)):
            for seed in range(1, arguments.seeds + 1):
                more = ["--recorded", str(out / f"recorded-{slug(task[0])}.db"), "--strategy", strategy,
                        "--budget", f"{trials}trials", "--seed", str(seed)]
                more += ["--learner", arguments.learner] if strategy == "guided" else []
                more += ["--workers", str(arguments.workers)] if arguments.workers else []
                # Not kept: with the table of times at hand a search takes a moment, and strategies change.
                result = run_tune(arguments, out, task, more)
                if not result.get("ok"):
                    sys.exit(f"{task[0]}: {result['errors'][0]['message']}")
                runs[strategy, seed] = result
        random = [best_after(runs["random", s], arguments.trials) for s in range(1, arguments.seeds + 1)]
        guided = [best_after(runs["guided", s], quarter) for s in range(1, arguments.seeds + 1)]
        whens = [first_as_fast(runs["guided", s + 1], random[s]) for s in range(arguments.seeds)]
        own = [w / arguments.trials if w is not None else 1.0 for w in whens]
        shares += own
        # Where chance finds nothing there is nothing to find as fast.
        worth += [o for o, r in zip(own, random) if r * 1.01 < 1]
        pairs = statistics.median(runs["guided", s].get("rank_accuracy", 0)
                                  for s in range(1, arguments.seeds + 1))
        print(f"| {task[0]} | {1 / statistics.median(random):.2f}x | {1 / statistics.median(guided):.2f}x "
              f"| {', '.join('later' if w is None else str(w) for w in whens)} "
              f"| {statistics.median(own):.2f} | {pairs * 100:.0f} % |", flush=True)
        print(f"{task[0]}: {time.time() - begun:.0f} s", file=sys.stderr)
    for name, some in (("all", shares), ("those where random search gains more than 1 %", worth)):
        print(f"\n{name}: median share of the random search's trials {statistics.median(some or [1.0]):.2f}; within "
              f"a quarter {sum(s <= 0.25 for s in some)} of {len(some)}")


def chosen(arguments, tasks):
    return [t for t in tasks if not arguments.filters or any(f in t[0] for f in arguments.filters)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kawara", required=True)
    parser.add_argument("--set", choices=["odd", "named", "polybench", "compared"], default="odd")
    parser.add_argument("--sizes", default="MEDIUM", help="of PolyBench")
    parser.add_argument("--budget", default="60s")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--again", type=int, default=0, help="times that winners meet `auto` again")
    parser.add_argument("--trials", type=int, default=128)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=0, help="processes that compile; one per thread")
    parser.add_argument("--learner", choices=["trees", "xgboost"], default="trees",
                        help="of the guided search, in comparisons")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("tuning-results"))
    parser.add_argument("filters", nargs="*")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    out = arguments.out.resolve()
    if arguments.all:
        for set_name in ("odd", "named", "polybench"):
            table(arguments, set_name, out)
    if arguments.all or arguments.compare:
        compare(arguments, out)
    elif not arguments.all:
        table(arguments, arguments.set, out)


if __name__ == "__main__":
    main()
