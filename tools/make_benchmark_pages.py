#!/usr/bin/env python3
"""Makes docs/benchmarks/results.md, its plot and the tables of both READMEs from bench/results/*.json.

    tools/make_benchmark_pages.py              writes them
    tools/make_benchmark_pages.py --check      complains about what is not as it would write it
    tools/make_benchmark_pages.py --self-test  tries itself on examples

bench/results/README.md describes the files. Nothing is measured here, and no figure is written by hand.
"""

import json
import math
import pathlib
import re
import sys

import tree

RESULTS = "bench/results"
PAGE = "docs/benchmarks/results.md"
PLOT = "docs/benchmarks/over_time.svg"
NEEDED = ("machine", "date", "commit", "samples", "families")
READMES = {"README.md": "en", "README.ja.md": "ja"}
BEGIN, END = "<!-- results: tools/make_benchmark_pages.py -->", "<!-- end of results -->"

# Rows of the READMEs: machine, threads, family, then what each language calls it.
HEADLINES = [
    ("Neoverse-N1", 1, "f32 products", "f32 matrix products", "f32 行列積"),
    ("Sapphire Rapids", 1, "f32 products", "f32 matrix products", "f32 行列積"),
    ("Neoverse-N1", 1, "convolutions of ResNet-50 together", "ResNet-50's 53 convolutions, total", "ResNet-50 の畳み込み 53 層の合計"),
    ("Sapphire Rapids", 1, "convolutions of ResNet-50 together", "ResNet-50's 53 convolutions, total", "ResNet-50 の畳み込み 53 層の合計"),
    ("Neoverse-V1", 2, "nets", "whole nets", "ネットワーク全体"),
    ("Sapphire Rapids", 16, "nets", "whole nets", "ネットワーク全体"),
    ("Neoverse-V1", 2, "PolyBench", "PolyBench loops", "PolyBench のループ"),
    ("NVIDIA H200", None, "products bf16, random shapes", "bf16 products, random shapes", "bf16 行列積、形状は乱数"),
    ("NVIDIA H200", None, "attention, random shapes", "attention, random shapes", "アテンション、形状は乱数"),
    ("NVIDIA H200", None, "rows, random shapes", "softmax, norms and other rows, random shapes", "softmax・正規化など行単位の演算、形状は乱数"),
    ("NVIDIA H200", None, "nets, bf16, max-autotune", "whole nets, bf16", "ネットワーク全体、bf16"),
]
WORDS = {
    "en": {"head": "| what | machine | against | cases | 5 % | median | mean | least |", "threads": "{} thread{}",
           "best peer": "the best of BLAS libraries, oneDNN, ACL, ONNX Runtime", "naive C, clang -O3": "the same loops in C, clang -O3, one thread"},
    "ja": {"head": "| 対象 | マシン | 比較相手 | 件数 | 5 % | 中央値 | 平均 | 最小 |", "threads": "{} スレッド{}",
           "best peer": "BLAS 各種・oneDNN・ACL・ONNX Runtime のうち最速のもの", "naive C, clang -O3": "同じループの C(clang -O3、1 スレッド)"},
}


class Measured:
    """One family of one file: its ratios (above 1, Kawara is faster), or what was kept of them."""

    def __init__(self, name, content, family):
        title, _, peer = family["family"].partition(" against ")
        counted = re.fullmatch(r"(.*), (\w+) threads?", title)
        self.threads = family.get("threads")
        if counted:
            title, self.threads = counted[1], int(counted[2]) if counted[2].isdigit() else counted[2]
        self.is_random = "seed" in content
        self.family = title + (", random shapes" if self.is_random else "")
        self.peer = family.get("peer") or peer
        self.machine, self.date, self.commit = content["machine"], content["date"], content.get("commit")
        self.samples, self.file = content["samples"], name
        self.moment = (content["date"], content.get("time", ""), content.get("run", 0), name)
        ratios = sorted(each["ratio"] for each in family.get("ratios", []) if each.get("ratio") is not None)
        self.count = len(ratios) or family.get("count")
        self.mean, self.least = family.get("mean"), family.get("least")
        self.fifth = self.median = None
        if ratios:
            self.mean = math.exp(sum(math.log(max(ratio, 1e-3)) for ratio in ratios) / len(ratios))
            self.least = ratios[0] if len(ratios) > 1 else None
        if len(ratios) >= 9:
            self.fifth, self.median = share(ratios, 0.05), share(ratios, 0.5)

    def key(self):
        return self.machine, self.threads, self.family, self.peer


def share(ratios, part):
    """The percentile of sorted ratios, between the two nearest, as bench/sweep computes it."""
    place = part * (len(ratios) - 1)
    low = int(place)
    high = min(low + 1, len(ratios) - 1)
    return ratios[low] + (place - low) * (ratios[high] - ratios[low])


def measured(root):
    """All families of all files, the oldest first, and complaints about files that say too little."""
    found, complaints = [], []
    for name in tree.files(root, {"bench"}, {".json"}):
        if name.parent.as_posix() == RESULTS:
            content = json.loads(tree.text_of(root, name))
            missing = [field for field in NEEDED if field not in content]
            if missing:
                complaints.append(f"{name}: no {', '.join(missing)}")
            else:
                found += [Measured(name.name, content, family) for family in content["families"]]
    return sorted(found, key=lambda each: each.moment), complaints


def series(found):
    """The measurements of each machine, number of threads, family and peer."""
    lines = {}
    for each in found:
        lines.setdefault(each.key(), []).append(each)
    return lines


def figure(value):
    return "" if value is None else f"{value:.2f}"


def figures(each):
    return f"{each.count or ''} | {figure(each.fifth)} | {figure(each.median)} | {figure(each.mean)} | {figure(each.least)}"


def threads_of(each, language="en"):
    if each.threads is None:
        return ""
    several = "" if each.threads == 1 or language == "ja" else "s"
    return WORDS[language]["threads"].format(each.threads, several)


def headline_table(found, language):
    words, lines = WORDS[language], series(found)
    rows = [words["head"], "|---|---|---|---:|---:|---:|---:|---:|"]
    for machine, threads, family, english, japanese in HEADLINES:
        last = next((line[-1] for key, line in lines.items() if key[:3] == (machine, threads, family)), None)
        if last:
            where = ", ".join(filter(None, [machine, threads_of(last, language)]))
            what = english if language == "en" else japanese
            rows.append(f"| {what} | {where} | {words.get(last.peer, last.peer)} | {figures(last)} |")
    return "\n".join(rows)


def results_page(found):
    lines = series(found)
    parts = ["# Results", "<!-- made from bench/results/ by tools/make_benchmark_pages.py -->",
             "Time of the peer over Kawara's, default schedules: above 1, Kawara is faster. The newest measurement of each family; means are geometric.\n"
             "Percentiles are of the cases of one run, where there are nine or more. Suites have shapes that were chosen; *random shapes* were drawn from a seed.\n"
             "Where a run's single ratios were not kept, only its mean and least are known. [Archive](archive/README.md): how, and what was tried."]
    for machine in sorted({key[0] for key in lines}):
        rows = ["| family | threads | against | cases | 5 % | median | mean | least | date | commit | file |",
                "|---|---:|---|---:|---:|---:|---:|---:|---|---|---|"]
        for (_, threads, family, peer), line in sorted((item for item in lines.items() if item[0][0] == machine),
                                                       key=lambda item: (item[0][2], str(item[0][1]).zfill(4), item[0][3])):
            last = line[-1]
            rows.append(f"| {family} | {threads or ''} | {peer} | {figures(last)} | {last.date} | {last.commit or 'not kept'} | "
                        f"[{last.file}](../../{RESULTS}/{last.file}) |")
        parts += [f"## {machine}", "\n".join(rows)]
    parts += ["## Over time", f"![Means of each family over time]({pathlib.PurePosixPath(PLOT).name})",
              "Every family that was measured more than once. The peer's version and the cases may differ between two points: the files say.",
              "\n".join(["| machine | family | threads | against | means, oldest first |", "|---|---|---:|---|---|"] +
                        [f"| {key[0]} | {key[2]} | {key[1] or ''} | {key[3]} | " +
                         ", ".join(f"{figure(each.mean)} ({each.date[5:]})" for each in line) + " |"
                         for key, line in sorted(lines.items(), key=str) if len(line) > 1])]
    return "\n\n".join(parts) + "\n"


WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 1060, 420, 50, 520, 20, 40
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f5200", "#444444", "#882255", "#44aa99"]


def plot(found):
    """An SVG: geometric means on a logarithmic axis, one column for each moment, one line for each family."""
    lines = [(key, line) for key, line in sorted(series(found).items(), key=str) if len(line) > 1]
    moments = sorted({each.moment[:3] for _, line in lines for each in line})
    low = min([0.5] + [each.mean for _, line in lines for each in line]) / 1.1
    high = max([2.0] + [each.mean for _, line in lines for each in line]) * 1.1

    def x(each):
        return LEFT + (WIDTH - LEFT - RIGHT) * (moments.index(each.moment[:3]) + 0.5) / max(len(moments), 1)

    def y(value):
        return TOP + (HEIGHT - TOP - BOTTOM) * math.log(high / value) / math.log(high / low)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>']
    for value in (0.1, 0.2, 0.5, 1, 2, 5):
        if low < value < high:
            out.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(value):.1f}" y2="{y(value):.1f}" '
                       f'stroke="{"#333333" if value == 1 else "#dddddd"}"/>')
            out.append(f'<text x="{LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{value:g}</text>')
    for date in sorted({moment[0] for moment in moments}):
        places = [number for number, moment in enumerate(moments) if moment[0] == date]
        middle = LEFT + (WIDTH - LEFT - RIGHT) * (sum(places) / len(places) + 0.5) / len(moments)
        out.append(f'<text x="{middle:.1f}" y="{HEIGHT - 15}" text-anchor="middle">{date[5:]}</text>')
    for number, (key, line) in enumerate(lines):
        out += drawn(number, key, [(x(each), y(each.mean)) for each in line], line[-1].mean)
    return "\n".join([*out, "</svg>"]) + "\n"


def drawn(number, key, points, last):
    """One family: its line, its points, its entry in the legend."""
    colour, dash = COLOURS[number % len(COLOURS)], "" if number < len(COLOURS) else ' stroke-dasharray="4 3"'
    path = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
    yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>'
    for px, py in points:
        yield f'<circle cx="{px:.1f}" cy="{py:.1f}" r="3" fill="{colour}"/>'
    machine, threads, family, peer = key
    text = f"{last:.2f}  {family}, {machine}{f' x {threads}' if threads else ''}, {peer}"
    row = TOP + 12 + 20 * number
    yield f'<rect x="{WIDTH - RIGHT + 12}" y="{row - 9}" width="10" height="10" fill="{colour}"/>'
    yield f'<text x="{WIDTH - RIGHT + 28}" y="{row}">{text.replace("&", "&amp;")}</text>'


def with_table(text, table):
    """A README with the table between its marks; None where it has no marks."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    return f"{before}{begin}\n{table}\n{end}{after}" if begin and end else None


def wanted(root):
    """{path: text} of everything that is made, and complaints."""
    found, complaints = measured(root)
    pages = {PAGE: results_page(found), PLOT: plot(found)}
    for name, language in READMES.items():
        if (root / name).is_file():
            pages[name] = with_table((root / name).read_text(), headline_table(found, language))
            if pages[name] is None:
                complaints.append(f"{name}: no place for the results, {BEGIN} to {END}")
                del pages[name]
    return pages, complaints


def check(root):
    pages, complaints = wanted(root)
    for name, text in pages.items():
        if not (root / name).is_file():
            complaints.append(f"{name}: missing; run tools/make_benchmark_pages.py")
        elif (root / name).read_text() != text:
            complaints.append(f"{name}: not as {RESULTS} says; run tools/make_benchmark_pages.py")
    return complaints


def write(root):
    for name, text in wanted(root)[0].items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def result(date, *ratios):
    cases = [{"case": str(number), "ratio": ratio} for number, ratio in enumerate(ratios)]
    return json.dumps({"date": date, "commit": None, "machine": "M", "samples": "", "families": [
        {"family": "nets", "threads": 1, "peer": "P", "ratios": cases}]})


TWO = {f"{RESULTS}/a.json": result("2026-01-02", 2.0, 8.0), f"{RESULTS}/b.json": result("2026-01-01", 1.0, 1.0)}


def made(files):
    """The files and what belongs to them."""
    found = sorted((Measured(pathlib.PurePosixPath(name).name, json.loads(text), family)
                    for name, text in files.items() for family in json.loads(text)["families"]), key=lambda each: each.moment)
    return {**files, PAGE: results_page(found), PLOT: plot(found)}


EXAMPLES = [
    (TWO, ["results.md: missing", "over_time.svg: missing"]),
    (made(TWO), []),
    ({**made(TWO), f"{RESULTS}/a.json": result("2026-01-02", 2.0, 4.0)}, ["results.md: not as bench/results says"]),
    ({**made(TWO), PAGE: made(TWO)[PAGE].replace("4.00", "5.00")}, ["results.md: not as bench/results says"]),
    ({**made(TWO), f"{RESULTS}/c.json": '{"families": []}'}, ["c.json: no machine, date, commit, samples"]),
    ({**made(TWO), "README.md": "# no marks\n"}, ["README.md: no place for the results"]),
]

if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        sys.argv[1:] = []
        sys.exit(tree.main(check, EXAMPLES))
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(tree.main(check, EXAMPLES))
    write(tree.ROOT)
