#!/usr/bin/env python3
"""Nets of torchvision and transformers on a GPU: Kawara beside torch.compile, as nobody has looked at them.

    bench/nets/race.py --kawara build/tools/kawara [--only vit,swin] [--batch 1] [--type bf16] [--mode default] [--jobs 8] [--json results.json]

Each net of zoo.py is made with seeded random weights, exported by torch.onnx, compiled and run by `kawara run --target cuda`, and compiled by
torch.compile; nets are prepared several at once, and timed one at a time: replays of CUDA graphs, rounds in turns, medians. A result is right
where it is at most twice as far from PyTorch's f32 result as PyTorch's own in the narrow type, plus 1 %. Prints a line for each net, percentiles and
the ten worst. --mode none leaves torch.compile out and races PyTorch as it is. --profile N shows the N longest steps of each net that is behind.
"""

import argparse
import concurrent.futures
import fcntl
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "sweep"), str(HERE.parent / "gpu")]
import export
import models
import shapes
import zoo

ROUNDS = 3


def distance(got, wanted):
    import numpy

    got, wanted = got.astype("f8"), wanted.astype("f8")
    if got.shape != wanted.shape:
        return float("inf")
    off = numpy.linalg.norm(got - wanted) / max(numpy.linalg.norm(wanted), 1e-30)
    return float("inf") if numpy.isnan(off) else float(off)


class Net:
    """One net, its files and both sides, in a process of its own."""

    def __init__(self, name, options, folder):
        import torch

        self.torch, self.options, self.folder = torch, options, folder
        self.stem = folder / export.file_name(name)
        self.module, self.inputs = zoo.make(name, options.batch)
        self.elem = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}[options.type]

    def prepare(self):
        """Exports the net; what Kawara says of the first run; PyTorch compiled."""
        import numpy
        import onnx

        torch = self.torch
        with torch.no_grad():
            torch.onnx.export(self.module, self.inputs, f"{self.stem}.onnx", dynamo=True, external_data=True, verbose=False)
            self.wanted = self.module.cuda()(*(x.cuda() for x in self.inputs)).float().cpu().numpy()
        names = [value.name for value in onnx.load(f"{self.stem}.onnx", load_external_data=False).graph.input]
        self.given = []
        for at, (name, value) in enumerate(zip(names, self.inputs)):
            numpy.save(f"{self.stem}.in{at}.npy", value.numpy())
            self.given += ["--input", f"{name}={self.stem}.in{at}.npy"]
        self.first = self.kawara("--output-dir", str(self.folder / (self.stem.name + ".out")))
        narrow = self.module.to(self.elem)
        device = [x.cuda().to(self.elem) if x.is_floating_point() else x.cuda() for x in self.inputs]
        begin = time.time()
        call = narrow if self.options.mode == "none" else torch.compile(narrow, mode=self.mode(), dynamic=False)
        with torch.no_grad():
            self.theirs = call(*device).float().cpu().numpy()
        self.compile_s = time.time() - begin
        self.call = lambda: call(*device)

    def mode(self):
        return {"default": "default", "max-autotune": "max-autotune-no-cudagraphs"}[self.options.mode]

    def kawara(self, *more):
        kind = [] if self.options.type == "f32" else ["--type", self.options.type]
        done = subprocess.run([self.options.kawara, "run", f"{self.stem}.onnx", "--target", "cuda", "--json", "--time", *kind, *self.given, *more],
                              capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError((done.stderr or done.stdout).strip().splitlines()[0])
        return json.loads(done.stdout)

    def race(self):
        """Medians of both in milliseconds; the caller has the GPU for itself."""
        ours, theirs = [], []
        with self.torch.no_grad():
            replay = models.replayed(self.torch, self.call)
            for _ in range(ROUNDS):
                theirs.append(models.median_ms(self.torch, replay, 0.2))
                ours.append(self.kawara()["device_ms"])
        return statistics.median(ours), statistics.median(theirs)

    def result(self):
        import numpy

        folder = self.folder / (self.stem.name + ".out")
        return numpy.load(folder / "output_0.npy")


def run_one(name, options, folder):
    """What is known of the net, as a dictionary."""
    told = {"net": name, "batch": options.batch}
    net = Net(name, options, folder)
    net.prepare()
    told |= {"off": distance(net.result(), net.wanted), "peer_off": distance(net.theirs, net.wanted), "peer_compile_s": net.compile_s,
             "compile_s": net.first["compile_ms"] / 1e3, "from_cache": net.first.get("from_cache", 0)}
    with open(folder / "gpu.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        told["kawara_ms"], told["peer_ms"] = net.race()
        if options.profile and told["kawara_ms"] > told["peer_ms"]:
            told["steps"] = longest_steps(net, options)
    told["is_right"] = told["off"] <= 2 * told["peer_off"] + 0.01
    return told


def longest_steps(net, options):
    """Lines of Kawara's table of steps, those that take longest first."""
    kind = [] if options.type == "f32" else ["--type", options.type]
    done = subprocess.run([options.kawara, "bench", f"{net.stem}.onnx", "--target", "cuda", *kind, *net.given], capture_output=True, text=True)
    lines = done.stdout.splitlines()
    head = next((at for at, line in enumerate(lines) if line.strip().startswith("share")), None)
    return lines[head + 1:head + 1 + options.profile] if head is not None else []


def in_process(name, options, folder):
    command = [sys.executable, __file__, "--one", name, "--folder", str(folder), "--kawara", options.kawara, "--batch", str(options.batch),
               "--type", options.type, "--mode", options.mode, "--profile", str(options.profile)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=options.seconds, env=os.environ | {"OMP_NUM_THREADS": "2"})
    except subprocess.TimeoutExpired:
        return {"net": name, "error": f"not done after {options.seconds} s"}
    if done.returncode:
        return {"net": name, "error": (done.stderr.strip().splitlines() or ["no message"])[-1][:300]}
    return json.loads(done.stdout.splitlines()[-1])


def line_of(told):
    if "error" in told:
        return f"{told['net']}: {told['error']}"
    return (f"{told['net']:50} {'right' if told['is_right'] else 'WRONG'} {told['off']:.1e} (theirs {told['peer_off']:.1e}) "
            f"{told['kawara_ms']:9.3f} ms {told['peer_ms']:9.3f} ms {told['peer_ms'] / told['kawara_ms']:6.2f}x  "
            f"compiled in {told['compile_s']:.1f} s, theirs {told['peer_compile_s']:.1f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kawara", required=True)
    parser.add_argument("--only", default="", help="nets whose name contains one of these words")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--type", choices=["bf16", "f16", "f32"], default="bf16")
    parser.add_argument("--mode", choices=["default", "max-autotune", "none"], default="default")
    parser.add_argument("--jobs", type=int, default=8, help="nets that are prepared at a time")
    parser.add_argument("--seconds", type=float, default=300, help="for one net")
    parser.add_argument("--profile", type=int, default=0)
    parser.add_argument("--json", help="write all results to this file")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(run_one(options.one, options, pathlib.Path(options.folder))))
        return 0
    words = [word for word in options.only.split(",") if word]
    nets = [net for net in zoo.names() if not words or any(word in net for word in words)]
    family = shapes.Family(f"nets {options.type}, batch {options.batch}, against "
                           + ("PyTorch" if options.mode == "none" else f"torch.compile ({options.mode})"), 0.95, None)
    results = []
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for done in concurrent.futures.as_completed([pool.submit(in_process, net, options, pathlib.Path(folder)) for net in nets]):
            told = done.result()
            results.append(told)
            times = {"kawara_ms": told.get("kawara_ms"), "peer_ms": told.get("peer_ms"), "peer": "torch"} if "kawara_ms" in told else None
            family.add(told["net"], told.get("is_right", False), told["peer_ms"] / told["kawara_ms"] if times else None, times)
            print(line_of(told), flush=True)
            for step in told.get("steps", []):
                print("    " + step)
    print("\n".join(family.lines()))
    if options.json:
        import torch

        shapes.write(options.json, 7, torch.cuda.get_device_name(), [family], f"medians of {ROUNDS} rounds in turns, replays of CUDA graphs")
    return 1 if family.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
