"""Random shapes and what is reported of races over them. A seed gives the same shapes on every machine.

    shapes.py RESULTS.json ...   their percentiles, as a table in Markdown
"""

import datetime
import json
import math
import pathlib
import random
import subprocess
import sys


def log_uniform(rng, low, high, granule=1):
    """An integer from low to high whose logarithm is uniform; a multiple of `granule` where one lies in the range."""
    value = math.exp(rng.uniform(math.log(low), math.log(high + 1)))
    return max(low, min(high, max(1, int(value) // granule) * granule))


def size(rng, low, high):
    """Half of all sizes are any integer, the others multiples of 8: nets have both."""
    return log_uniform(rng, low, high, rng.choice([1, 8]))


def draw(seed, count, make):
    """`count` different cases; `make(rng)` gives one or None, where the shape is beyond what the family allows."""
    rng, found, names = random.Random(seed), [], set()
    while len(found) < count:
        case = make(rng)
        if case and case["name"] not in names:
            names.add(case["name"])
            found.append(case)
    return found


def percentile(values, share):
    """Linear between neighbours."""
    ordered = sorted(values)
    at = share * (len(ordered) - 1)
    low = math.floor(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def mean(ratios):
    """The geometric one."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


class Family:
    """Ratios of one family: the peer's time over Kawara's. Above 1 Kawara is faster."""

    def __init__(self, name, fifth, median):
        self.name, self.fifth, self.median = name, fifth, median
        self.ratios, self.wrong, self.times = [], [], {}

    def add(self, what, is_right, ratio, times=None):
        """`times`: kawara_ms, peer_ms and peer, where they are known. How long a wrong result took says nothing."""
        if ratio and is_right:
            self.ratios.append((ratio, what))
            self.times[what] = times or {}
        if not is_right:
            self.wrong.append(what)

    def lines(self):
        if not self.ratios:
            return [f"{self.name}: nothing ran, {len(self.wrong)} wrong"]
        values = [ratio for ratio, _ in self.ratios]
        shares = "  ".join(f"{100 * s:g}%: {percentile(values, s):.2f}x" for s in (0, 0.05, 0.25, 0.5, 0.75, 0.95))
        asked = f"5% >= {self.fifth:.2f}x" + (f", median >= {self.median:.2f}x" if self.median else "")
        is_met = not self.wrong and percentile(values, 0.05) >= self.fifth and percentile(values, 0.5) >= (self.median or 0)
        out = [f"{self.name}: {len(values)} shapes, {len(self.wrong)} wrong, mean {mean(values):.2f}x  {shares}  "
               f"({asked}: {'met' if is_met else 'NOT met'})", "  the ten worst:"]
        out += [f"    {ratio:5.2f}x  {what}{self.both_times(what)}" for ratio, what in sorted(self.ratios)[:10]]
        out += [f"    wrong: {what}" for what in self.wrong]
        return out

    def both_times(self, what):
        times = self.times[what]
        return f": {times['kawara_ms']:.4g} ms, {times['peer']} {times['peer_ms']:.4g} ms" if times else ""

    def rounded_times(self, what):
        return {key: value if key == "peer" else float(f"{value:.4g}") for key, value in self.times[what].items()}

    def as_json(self):
        return {"family": self.name, "asked": {"5%": self.fifth, "median": self.median}, "wrong": self.wrong,
                "ratios": [{"case": what, "ratio": round(ratio, 4), **self.rounded_times(what)} for ratio, what in self.ratios]}


def commit():
    done = subprocess.run(["git", "rev-parse", "--short=8", "HEAD"], capture_output=True, text=True, cwd=pathlib.Path(__file__).parent)
    return done.stdout.strip() or "unknown"


def write(path, seed, machine, families, samples):
    """One case a line: differences of results can be read."""
    head = {"date": datetime.date.today().isoformat(), "commit": commit(), "samples": samples, "seed": seed, "machine": machine}
    told = []
    for family in (f.as_json() for f in families):
        ratios = ",\n".join(map(json.dumps, family.pop("ratios")))
        told.append(json.dumps(family)[:-1] + ', "ratios": [\n' + ratios + "\n]}")
    with open(path, "w") as out:
        out.write(json.dumps(head)[:-1] + ', "families": [\n' + ",\n".join(told) + "\n]}\n")


def table(paths):
    """The results of these files as a table in Markdown, a row for each family."""
    shares = (0, 0.05, 0.25, 0.5, 0.75, 0.95)
    lines = ["| family | seed | commit | shapes | least | 5 % | 25 % | median | 75 % | 95 % | asked |", "|---|---|---|" + "---:|" * 7 + "---|"]
    for path in paths:
        results = json.loads(pathlib.Path(path).read_text())
        for family in results["families"]:
            values = [each["ratio"] for each in family["ratios"]]
            asked = f"5 % >= {family['asked']['5%']:.2f}" + (f", median >= {family['asked']['median']:.2f}" if family["asked"]["median"] else "")
            fields = [family["family"], str(results["seed"]), results["commit"], str(len(values))] + [f"{percentile(values, s):.2f}" for s in shares]
            lines.append(f"| {' | '.join(fields)} | {asked} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(sys.argv[1:]))
