#!/usr/bin/env python3
"""Runs one small kernel of every family under compute-sanitizer, on a machine with a GPU.

    tests/gpu/sanitize.py --kernels build/tests/gpu/gpu_kernels --kawara build/tools/kawara
                          [--only conv] [--tools memcheck,racecheck] [--jobs 8]

Programs are those of bench/gpu (products, attention, rows, convolutions) at small odd sizes, by their default schedules, run by
gpu_kernels (kernels.cpp) a few to a process, and small nets as whole models in both types. memcheck's runs are compared with the
interpreter, nets with the processor. Prints a line for each; the exit code is 1 when a tool found something, did not finish or
a result was wrong, and 77 when there is no compute-sanitizer or no GPU. --write FOLDER only writes the programs.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench" / "gpu"))
import convolutions
import race
import small_nets

# (kind, elem, sizes) of race.py. Some products and heads have more tiles than an H200 has multiprocessors (132).
PRODUCTS = [("gemm", "bf16", (200, 136, 72)), ("gemm", "bf16", (201, 137, 75)), ("gemm_nt", "bf16", (2060, 1288, 72)),
            ("gemm_tn", "bf16", (136, 200, 72)), ("gemm_tt", "f16", (136, 200, 72)),
            ("gemm_bias_gelu", "bf16", (200, 136, 72)), ("gemm_residual", "bf16", (2060, 1288, 72)),
            ("gemm_batched", "bf16", (72, 136, 40)), ("gemm", "bf16", (1, 1000, 777)),
            ("gemm_nt", "bf16", (3, 1001, 776)), ("gemm", "bf16", (16, 200, 1000)), ("gemm_nt", "f32", (3, 201, 300)),
            ("gemm", "f32", (192, 128, 80)), ("gemm", "f32", (100, 101, 77)), ("gemm", "f32", (64, 128, 1024)),
            ("gemm_nt", "f32", (192, 128, 80)), ("gemm_nt", "bf16", (64, 1120, 200)), ("gemm_nt_tf32", "f32", (136, 200, 72)),
            ("gemm_tf32", "f32", (136, 200, 72)), ("gemm_nt_bytes", "f8e4m3", (136, 208, 144)),
            ("gemm_bytes", "f8e5m2", (136, 208, 144)), ("gemm_nt_i8", "i8", (136, 208, 144))]
HEADS = [(kind, "bf16", sizes) for kind in ("attention", "attention_causal")
         for sizes in ((3, 200, 64), (2, 333, 128), (70, 256, 64))] + [("attention_grouped", "bf16", (2, 200, 64)), ("attention_batched", "bf16", (2, 3, 100, 64))]
ROWS = [(kind, elem, sizes) for elem in ("f32", "bf16")
        for kind, sizes in (("softmax", (37, 1003)), ("layer_norm", (37, 1000)), ("rms_norm", (70, 264)),
                            ("add_layer_norm", (37, 520)), ("bias_gelu", (37, 1003)), ("add_relu", (33, 1000)),
                            ("transpose", (100, 203)), ("sum_rows", (37, 1003)))]
# So many elements that threads have two rows and look gelu up in a table that TMA brings.
ROWS.append(("bias_gelu", "f32", (2130, 2048)))
# batch, channels, size, filters, window, stride
LAYERS = [(2, 64, 14, 72, 3, 1), (2, 64, 15, 128, 3, 2), (1, 64, 9, 64, 5, 1), (2, 64, 13, 136, 1, 2), (2, 64, 9, 72, 1, 1),
          (1, 3, 30, 64, 7, 2), (21, 64, 30, 64, 3, 1)]
OTHERS = {
    "max_pool": "input X: bf16[2, 15, 15, 24]\noutput Y: bf16[2, 7, 7, 24]\n"
                "Y[n, y, x, c] = max(r in range(3), s in range(3), X[n, 2 * y + r, 2 * x + s, c])\n",
    "mean_pool": "input X: bf16[3, 49, 40]\noutput Y: bf16[3, 40]\ntemp T: f32[3, 40]\n"
                 "T[n, c] = sum(p, f32(X[n, p, c]))\nY[n, c] = T[n, c] / 49\n",
    "sum_columns": "input X: f32[403, 101]\noutput s: f32[101]\ns[j] = sum(i, X[i, j])\n",
    "sum_all": "input X: f32[10007]\noutput s: f32[1]\ns[0] = 0\nfor i in range(10007):\n  s[0] += X[i]\n",
}
INTERPRETED = 3e7  # steps that the interpreter is asked for


class Job:
    def __init__(self, name, path, sizes=(), work=0.0, elem=None):
        self.name, self.path, self.work, self.elem = name, path, work, elem
        self.sizes = ",".join(f"{n}={v}" for n, v in sizes) or "-"

    def line(self, checks):
        """Of gpu_kernels' list; the interpreter is asked where it is quick enough."""
        # The interpreter does not round to tf32; race.py compares those with float64.
        what = "check" if checks and self.work <= INTERPRETED and "tf32" not in self.name else "run"
        return f"{self.name} {self.path} {self.sizes} {what}\n"


def sized(kind, elem, sizes):
    names = ("M", "N", "K") if kind.startswith("gemm") else ("M", "N")
    if kind.startswith("attention"):
        names = {"grouped": ("G", "N", "D"), "batched": ("B", "G", "N", "D")}.get(kind.rpartition("_")[2], ("H", "N", "D"))
    return {"kind": kind, "elem": elem, "sizes": dict(zip(names, sizes)),
            "name": f"{kind}_{elem}_" + "_".join(map(str, sizes))}


def race_jobs(folder):
    for kind, elem, sizes in PRODUCTS + HEADS + ROWS:
        case = sized(kind, elem, sizes)
        path = folder / f"{case['name']}.kw"
        path.write_text(race.program_of(case))
        work = 1.0
        for extent in sizes:
            work *= extent
        if kind.startswith("attention"):
            work *= 2 * case["sizes"]["N"] * (4 if "G" in case["sizes"] else 1)
        elif kind == "gemm_batched":
            work *= 32
        yield Job(case["name"], path, case["sizes"].items(), work)


def other_jobs(folder):
    for sizes in LAYERS:
        layer = convolutions.Layer(*sizes, 1)
        for name, text in layer.programs().items():
            path = folder / f"{name}.kw"
            path.write_text(text)
            yield Job(name, path, work=layer.flops / 2)
    layer = convolutions.Layer(2, 64, 14, 136, 1, 1, 1)
    OTHERS["conv_residual"] = layer.convolution(64, 14, (1, 1), 1, 0, 1).replace(
        "\noutput", ", R: bf16[392, 136]\noutput", 1).replace("= T[q, m]", "= max(T[q, m] + R[q, m], 0)")
    for name, text in OTHERS.items():
        path = folder / f"{name}.kw"
        path.write_text(text)
        yield Job(name, path)
    for name, path in small_nets.write_all(folder).items():
        for elem in ("f32", "bf16"):
            yield Job(f"net_{name}_{elem}", path, elem=elem)


FOUND = re.compile(r"^=+ +(Invalid|Error|Program hit|Misaligned|Out-of-range|.*[Rr]ace|.*hazard|Barrier|Uninit)", re.M)


def sanitized(tool, command, options, environment):
    """What is said under a tool, or None when it took too long."""
    try:
        done = subprocess.run(["compute-sanitizer", "--tool", tool, *command], capture_output=True, text=True,
                              timeout=options.timeout, env=environment)
    except subprocess.TimeoutExpired:
        return None
    return done.stdout + done.stderr


def summary_of(tool, text):
    """How much a tool found in a process, or None when it did not come to its end."""
    what = r"RACECHECK SUMMARY: (\d+) hazard" if tool == "racecheck" else r"ERROR SUMMARY: (\d+) error"
    found = re.search(what, text)
    return int(found.group(1)) if found else None


def verdict(said, is_right, findings):
    if not said:
        return "did not run"
    return f"{findings} found" if findings else "clean" if is_right else "wrong"


def run_programs(jobs, tool, number, options, environment, folder):
    """{name: (verdict, text)} of several programs in one process."""
    lines = folder / f"list{number}.{tool}"
    lines.write_text("".join(job.line(tool == "memcheck") for job in jobs))
    text = sanitized(tool, [options.kernels, str(lines)], options, environment) or ""
    results = {}
    for job in jobs:
        part = re.search(rf"^begin {job.name}$(.*?)^end {job.name} (.*?)$", text, re.M | re.S)
        own = part.group(1) if part else ""
        results[job.name] = verdict(part, part and part.group(2) in ("right", "done"), len(FOUND.findall(own))), own
    total = summary_of(tool, text)
    if total != 0:  # what nobody was charged with, everybody is
        charged = any("found" in said for said, _ in results.values())
        for job in jobs:
            if not charged and results[job.name][0] == "clean":
                results[job.name] = (f"{total} found" if total else "no summary"), text
    return results


def run_net(job, tool, options, environment):
    text = sanitized(tool, [options.kawara, "run", str(job.path), "--target", "cuda", "--type", job.elem, "--check"],
                     options, environment) or ""
    total = summary_of(tool, text)
    # A net that differs from the processor's is reported as an error of Kawara.
    return {job.name: (verdict(total is not None, "error[" not in text, total), text)}


def shares(jobs, count):
    """The jobs in so many heaps of about the same work; scheduling and compiling count, too."""
    heaps = [[] for _ in range(max(count, 1))]
    costs = [0.0] * len(heaps)
    for job in sorted(jobs, key=lambda job: -job.work):
        least = costs.index(min(costs))
        heaps[least].append(job)
        costs[least] += min(job.work, INTERPRETED) + 1e7
    return [heap for heap in heaps if heap]


def run_all(jobs, tools, options, environment, folder):
    """{(name, tool): (verdict, text)}; one tool after the other, so that the second finds compiled code."""
    nets = [job for job in jobs if job.elem]
    heaps = shares([job for job in jobs if not job.elem], options.jobs)
    results = {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for tool in tools:
            begin = time.time()
            works = [pool.submit(run_programs, heap, tool, number, options, environment, folder)
                     for number, heap in enumerate(heaps)]
            works += [pool.submit(run_net, job, tool, options, environment) for job in nets]
            for work in works:
                results.update({(name, tool): result for name, result in work.result().items()})
            others = [f"{job.name} ({results[job.name, tool][0]})" for job in jobs if results[job.name, tool][0] != "clean"]
            print(f"{tool}: {len(jobs) - len(others)} clean in {time.time() - begin:.0f} s; others: "
                  f"{', '.join(others) or 'none'}", flush=True)
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kawara", default="build/tools/kawara")
    parser.add_argument("--kernels", default="build/tests/gpu/gpu_kernels")
    parser.add_argument("--only", default="", help="kernels whose name has this regular expression")
    parser.add_argument("--tools", default="memcheck,racecheck")
    parser.add_argument("--jobs", type=int, default=min(8, os.cpu_count() or 1))
    parser.add_argument("--timeout", type=int, default=120, help="seconds for one process")
    parser.add_argument("--log", help="folder for what tools said of kernels that are not clean")
    parser.add_argument("--write", help="only write the programs, in this folder")
    options = parser.parse_args()
    folder = pathlib.Path(options.write or tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    jobs = [job for job in [*race_jobs(folder), *other_jobs(folder)] if re.search(options.only, job.name)]
    if options.write:
        print("".join(job.line(True) for job in jobs if not job.elem), end="")
        return 0
    has_gpu = shutil.which("nvidia-smi") and subprocess.run(["nvidia-smi", "-L"], capture_output=True).returncode == 0
    if not shutil.which("compute-sanitizer") or not has_gpu:
        print("no compute-sanitizer, or no GPU, on this machine: nothing was run")
        return 77
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
    tools = options.tools.split(",")
    begin, wrong = time.time(), 0
    results = run_all(jobs, tools, options, environment, folder)
    for job in jobs:
        row = [results[job.name, tool] for tool in tools]
        wrong += any(said != "clean" for said, _ in row)
        print(f"{job.name:40s} " + "  ".join(f"{tool} {said:12s}" for tool, (said, _) in zip(tools, row)))
        for tool, (said, text) in zip(tools, row):
            if said != "clean" and options.log:
                pathlib.Path(options.log).mkdir(parents=True, exist_ok=True)
                (pathlib.Path(options.log) / f"{job.name}.{tool}.txt").write_text(text)
    print(f"{len(jobs)} kernels and nets, {wrong} not clean, {time.time() - begin:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
