#!/usr/bin/env python3
"""replay.py [--kawara BINARY] [--against REV | --before BINARY]: what a change does to the code that Kawara makes.

Every program of the corpus (examples, PolyBench, the suite of bench_cpu, the kernels that bench/gpu races, nets) is compiled by default
schedules for every target. Of each, the loops and the emitted code (assembly or CUDA) are compared: between this build and another binary, or
with the build of another revision, which is made in a folder of its own. Pure moves and renames show no change.

    tools/replay.py --against HEAD~3                 what the last three commits changed, with the first difference of each program
    tools/replay.py --before old/kawara --only gemm  two binaries, programs whose name has `gemm`
    tools/replay.py --twice --quick                  one binary twice, on a small part: the same text gives the same code
    tools/replay.py --spelled-out                    the directives that `auto` stands for, against `auto`
    tools/replay.py --save before.json               keep the hashes; `--compare before.json` later says what changed

The exit code is 1 where anything changed."""

import argparse
import concurrent.futures
import difflib
import hashlib
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
CPUS = ["neoverse-n1", "neoverse-v1", "sapphirerapids", "generic-x86_64"]
GPU = "cuda:sm_90a"
QUICK = {"gemm", "conv2d", "attention", "argmax", "csr", "polybench/lu", "polybench/jacobi-2d", "polybench/deriche"}


class Item:
    """One program or net, with the sizes that it is compiled for."""

    def __init__(self, name, path, sizes="", targets=None):
        self.name, self.path, self.sizes = name, path, sizes
        self.targets = targets or [f"cpu:{cpu}" for cpu in CPUS] + [GPU]


def examples():
    for path in sorted((ROOT / "examples").glob("*.kw")):
        yield Item(path.stem, path)
    sizes = json.loads((ROOT / "examples/polybench/sizes.json").read_text())
    for path in sorted((ROOT / "examples/polybench").rglob("*.kw")):
        name = str(path.relative_to(ROOT / "examples").with_suffix(""))
        yield Item(name, path)
        fixed = ",".join(f"{k}={v}" for k, v in sizes[path.stem]["MEDIUM"].items())
        yield Item(f"{name} at MEDIUM", path, fixed, [f"cpu:{cpu}" for cpu in CPUS])


def cpu_suite(bench, folder):
    """The cases of bench_cpu, where it is built."""
    if not bench.exists():
        return
    subprocess.run([bench, "--programs", folder], check=True)
    for path in sorted(folder.glob("*.kw")):
        yield Item(f"cpu/{path.stem}", path, "", [f"cpu:{cpu}" for cpu in CPUS])


def gpu_suite(folder):
    spec = importlib.util.spec_from_file_location("race", ROOT / "bench/gpu/race.py")
    race = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(race)
    for case in race.cases():
        path = folder / f"{case['name']}.kw"
        path.write_text(race.program_of(case))
        yield Item(f"gpu/{case['name']}", path, ",".join(f"{k}={v}" for k, v in case["sizes"].items()), [GPU])


def nets(folder):
    for path in sorted(folder.rglob("*.onnx")):
        yield Item(f"net/{path.relative_to(folder)}", path, "", ["cpu", GPU])


COMMENT = re.compile(r"[ \t]*//[^\n]*")


def hashed(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def made(kawara, item, target, schedule="auto"):
    """Loops and code; what Kawara says where it makes none."""
    environment = dict(os.environ, KAWARA_THREADS="1")
    if item.name.startswith("net/") and target == "cpu":
        with tempfile.NamedTemporaryFile(suffix=".kwx") as out:
            run = subprocess.run([kawara, "compile", item.path, "-o", out.name], capture_output=True, env=environment)
            return "", run.stderr.decode(errors="replace") + hashlib.sha256(pathlib.Path(out.name).read_bytes()).hexdigest()
    stage = "cuda" if target == GPU else "asm"
    command = [kawara, "show", item.path, "--target", target, "--stage", stage]
    if not item.name.startswith("net/"):
        command += ["-s", schedule, "--print-after", "loops"]
    if item.sizes:
        command += ["-p", item.sizes]
    run = subprocess.run(command, capture_output=True, text=True, errors="replace", env=environment)
    # Comments of CUDA text are not code, and warnings name the file.
    return run.stderr[max(0, run.stderr.find("--- after loops")):], COMMENT.sub("", run.stdout) if stage == "cuda" else run.stdout


def spelled_out(kawara, item, target):
    """What the written program makes with the written directives (`show --stage rewritten`, `show --spelled-out`)."""
    def shown(*arguments):
        command = [kawara, "show", item.path, "--target", target, "-s", "auto", *arguments]
        command += ["-p", item.sizes] if item.sizes else []
        return subprocess.run(command, capture_output=True, text=True, errors="replace").stdout

    with tempfile.TemporaryDirectory() as folder:
        program, directives = pathlib.Path(folder) / item.path.name, pathlib.Path(folder) / "steps"
        program.write_text(shown("--stage", "rewritten"))
        directives.write_text(shown("--spelled-out"))
        if "auto" in re.sub(r"#[^\n]*", "", directives.read_text()).split():
            return "", "`auto` has no directives"
        sizes = item.sizes if re.search(r"^param ", program.read_text(), re.M) else ""
        return made(kawara, Item(item.name, program, sizes), target, f"@{directives}")


def first_difference(before, after):
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "before", "after", lineterm="", n=2)
    return [line[:200] for _, line in zip(range(24), lines)]


def binary_of(revision):
    """Builds kawara of a revision beside this build."""
    name = subprocess.run(["git", "rev-parse", "--short", revision], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    folder = ROOT / "build" / "replay" / name
    if not (folder / "source").exists():
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "worktree", "add", "--detach", folder / "source", name], cwd=ROOT, check=True)
    print(f"building kawara of {name}", file=sys.stderr, flush=True)
    subprocess.run(["cmake", "-S", folder / "source", "-B", folder / "build", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                    "-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", folder / "build", "kawara"], check=True, stdout=subprocess.DEVNULL)
    return folder / "build/tools/kawara"


def corpus(options, folder):
    for part in ("cpu", "gpu"):
        (folder / part).mkdir()
    yield from examples()
    if not options.quick:
        yield from cpu_suite(options.kawara.parent.parent / "bench/bench_cpu", folder / "cpu")
        yield from gpu_suite(folder / "gpu")
    if options.nets:
        yield from nets(pathlib.Path(options.nets))


def asked(options, folder):
    for item in corpus(options, folder):
        if options.quick and item.name not in QUICK or not re.search(options.only, item.name):
            continue
        for target in item.targets:
            if re.search(options.target, target):
                yield item, target


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kawara", type=pathlib.Path, default=ROOT / "build/tools/kawara")
    parser.add_argument("--against", metavar="REV", help="a revision, which is built in build/replay")
    parser.add_argument("--before", type=pathlib.Path, help="another binary")
    parser.add_argument("--twice", action="store_true", help="this binary against itself")
    parser.add_argument("--spelled-out", action="store_true", help="the directives of `auto` against `auto`")
    parser.add_argument("--save", type=pathlib.Path, help="write the hashes to this file")
    parser.add_argument("--compare", type=pathlib.Path, help="hashes that were written before")
    parser.add_argument("--only", default="", help="programs whose name has this regular expression")
    parser.add_argument("--target", default="", help="targets whose name has this regular expression")
    parser.add_argument("--nets", help="a folder with ONNX models, to be compiled as well")
    parser.add_argument("--quick", action="store_true", help="eight programs")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    before = options.kawara if options.twice else options.before
    if options.against:
        before = binary_of(options.against)
    known = json.loads(options.compare.read_text()) if options.compare else None
    hashes, changed, count, begin = {}, 0, 0, time.monotonic()

    def one(pair):
        item, target = pair
        if options.spelled_out:
            return item, target, spelled_out(options.kawara, item, target), made(options.kawara, item, target)
        return item, target, made(options.kawara, item, target), made(before, item, target) if before else None

    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        work = list(asked(options, pathlib.Path(folder)))
        if options.quick and not options.only and QUICK - {item.name for item, _ in work}:
            sys.exit("some of the quick programs are gone: " + ", ".join(QUICK - {item.name for item, _ in work}))
        if not work:
            sys.exit("no program is chosen")
        for item, target, now, then in pool.map(one, work):
            count += 1
            if sys.stderr.isatty():
                print(f"\r\033[K{count} of {len(work)}: {item.name} for {target}", end="", file=sys.stderr, flush=True)
            key = f"{item.name} | {target}"
            hashes[key] = [hashed(part) for part in now]
            differs = then is not None and then != now or known is not None and known.get(key) != hashes[key]
            if not differs:
                continue
            changed += 1
            which = "loops" if (then[0] != now[0] if then else known.get(key, [None])[0] != hashes[key][0]) else "code"
            print(f"\r\033[K" if sys.stderr.isatty() else "", end="", file=sys.stderr)
            print(f"{item.name} for {target}: other {which}", flush=True)
            if then:
                at = 0 if which == "loops" else 1
                print("\n".join("    " + line for line in first_difference(then[at], now[at])), flush=True)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    if options.save:
        options.save.write_text(json.dumps(hashes, indent=1, sort_keys=True) + "\n")
    print(f"{count} programs x targets, {changed} changed, {time.monotonic() - begin:.0f} s")
    sys.exit(1 if changed else 0)


if __name__ == "__main__":
    main()
