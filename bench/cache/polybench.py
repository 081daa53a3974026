#!/usr/bin/env python3
"""polybench.py KAWARA [--policy one_set|lru|plru|fifo] [--json FILE] [KERNEL ...]

Misses of an L1 of 32 KiB for the kernels of PolyBench in size LARGE, in the C order of statements and loops, beside published
figures (published.json). One line a kernel: accesses, both counts, whether they are equal, seconds. Exits with 1 where one differs."""

import argparse
import json
import pathlib
import resource
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = HERE.parent.parent / "examples" / "polybench"
LEVELS = {"one_set": "32K,64,full,lru", "lru": "32K,64,8,lru", "plru": "32K,64,8,plru", "fifo": "32K,64,8,fifo"}


def text_of(kernel):
    """The text whose statements and accesses are those of the C program."""
    same = EXAMPLES / "c_order" / f"{kernel}.kw"
    return same if same.exists() else EXAMPLES / f"{kernel}.kw"


def processor_seconds():
    """Of all programs that were run and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def simulate(kawara, kernel, published, policy):
    sizes = json.loads((EXAMPLES / "sizes.json").read_text())[kernel]["LARGE"]
    words = [kawara, "cache", str(text_of(kernel)), "--json", "--level", LEVELS[policy],
             "-p", ",".join(f"{name}={value}" for name, value in sizes.items()),
             "--place", ",".join(published["place"])]
    start = processor_seconds()
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stdout + done.stderr)
    made = json.loads(done.stdout)
    level = made["levels"][0]
    misses = level["compulsory"] + level["capacity"] + level["conflict"]
    return {"kernel": kernel, "policy": policy, "accesses": made["accesses"], "misses": misses,
            "published_accesses": published["accesses"],
            "published": published["lru_one_set" if policy == "one_set" else policy],
            "seconds": processor_seconds() - start}


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("kawara")
    options.add_argument("kernels", nargs="*")
    options.add_argument("--policy", choices=list(LEVELS), default="one_set")
    options.add_argument("--json")
    given = options.parse_args()
    published = json.loads((HERE / "published.json").read_text())["kernels"]
    names = given.kernels or sorted(published, key=lambda name: published[name]["accesses"])
    print(f"{'kernel':<16}{'accesses':>14}{'published':>14}{'ours':>14}{'difference':>12}{'s':>8}{'M/s':>7}")
    rows = []
    for name in names:
        row = simulate(given.kawara, name, published[name], given.policy)
        rows.append(row)
        difference = row["misses"] - row["published"]
        same = "equal" if difference == 0 and row["accesses"] == row["published_accesses"] else f"{difference:+}"
        print(f"{name:<16}{row['accesses']:>14}{row['published']:>14}{row['misses']:>14}{same:>12}"
              f"{row['seconds']:>8.1f}{row['accesses'] / row['seconds'] * 1e-6:>7.0f}", flush=True)
    if given.json:
        pathlib.Path(given.json).write_text(json.dumps({"rows": rows}, indent=1) + "\n")
    right = sum(row["misses"] == row["published"] and row["accesses"] == row["published_accesses"] for row in rows)
    print(f"{right} of {len(rows)} equal, {sum(row['seconds'] for row in rows):.0f} s")
    sys.exit(right != len(rows))


if __name__ == "__main__":
    main()
