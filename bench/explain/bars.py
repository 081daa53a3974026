#!/usr/bin/env python3
"""Figures of `kawara explain`, `estimate --machine` and `cache` beside published or exact ones.

    bench/explain/bars.py [--kawara PATH] [--nets]

Prints a line for each: what, wanted, found. Exit code 1 where one misses. --nets also explains ResNet-50 and BERT-base.
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PRODUCT = """input A: f32[100, 100], B: f32[100, 100]
inout C: f32[100, 100]
for i in range(100):
    for j in range(100):
        for k in range(100):
            C[i, j] += A[i, k] * B[k, j]
"""
# Reads of A and B alone: sums are in a register.
PLAIN = """input A: f32[100, 100], B: f32[100, 100]
inout c: f32
for i in range(100):
    for j in range(100):
        for k in range(100):
            c += A[i, k] * B[k, j]
"""
TILED = """input A: f32[100, 100], B: f32[100, 100]
inout c: f32
for i_ in range(10):
    for j_ in range(10):
        for k_ in range(10):
            for i in range(10):
                for j in range(10):
                    for k in range(10):
                        c += A[i_ * 10 + i, k_ * 10 + k] * B[k_ * 10 + k, j_ * 10 + j]
"""
# image, filter, stride (no padding), workspace over image.
WINDOWS = [("5x5, 3x3", 1, 5, 3, "3.240"), ("AlexNet conv1", 3, 227, 11, "7.103")]


class Bars:
    def __init__(self, kawara, folder):
        self.kawara, self.folder, self.missed = str(kawara), pathlib.Path(folder), 0

    def json_of(self, *words):
        done = subprocess.run([self.kawara, *map(str, words), "--json"], capture_output=True, text=True, cwd=self.folder)
        if done.returncode != 0:
            sys.exit(f"kawara {' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
        return done.stdout

    def say(self, what, wanted, found, holds):
        self.missed += not holds
        print(f"{'ok' if holds else 'MISSED':<7}{what:<58}{wanted:>18}{found:>22}")

    def write(self, name, text):
        (self.folder / name).write_text(text)
        return name

    def bytes_per_flop(self):
        """Reads of A and B by a product of 100^3, words in one set, lru."""
        for name, text in (("plain.kw", PLAIN), ("tiled.kw", TILED)):
            self.write(name, text)
        for name, words, wanted in (("plain.kw", 1, 4.0), ("plain.kw", 256, 2.02), ("tiled.kw", 256, 0.40),
                                    ("tiled.kw", 1024, 0.40), ("tiled.kw", 4096, 0.22), ("tiled.kw", 12000, 0.04),
                                    ("plain.kw", 12000, 0.04)):
            level = json.loads(self.json_of("cache", name, "--level", f"{words * 4},4,full,lru"))["levels"][0]
            read = sum(r["compulsory"] + r["capacity"] + r["conflict"] for r in level["references"]) * 4
            found = read / 2e6
            self.say(f"{name[:-3]} 100^3, {words} words, bytes per FLOP", f"{wanted:.2f}", f"{found:.4f}",
                     abs(found - wanted) < 0.012)

    def lower_bound(self):
        text = PRODUCT.replace("100", "4096")
        self.write("large.kw", text)
        made = json.loads(self.json_of("explain", "large.kw", "--machine", "textbook-45nm", "-s", "source"))
        for level, size in zip(made["levels"], (128, 128 + 8192, 128 + 8192 + 1048576)):
            words = size / 4
            published = 4 * (2 * 4096**3 / words**0.5 - 2 * words)
            self.say(f"least of a product 4096^3 from {level['from']}", f"{published:.5g}", f"{level['least']:.5g}",
                     abs(level["least"] / published - 1) < 0.01)

    def windows(self):
        for name, channels, size, kernel, wanted in WINDOWS:
            stride = 4 if kernel == 11 else 1
            out = (size - kernel) // stride + 1
            self.write("window.kw", f"""input X: f32[{channels}, {size}, {size}], W: f32[8, {channels}, {kernel}, {kernel}]
inout Y: f32[8, {out}, {out}]
for k in range(8):
    for y in range({out}):
        for x in range({out}):
            for c in range({channels}):
                for r in range({kernel}):
                    for s in range({kernel}):
                        Y[k, y, x] += X[c, {stride} * y + r, {stride} * x + s] * W[k, c, r, s]
""")
            made = json.loads(self.json_of("explain", "window.kw", "-s", "source", "--machine", "neoverse-v1"))
            found = next(d["factor"] for d in made["duplicates"] if d["tensor"] == "X")
            self.say(f"windows of {name}: loads of an element", wanted, f"{found:.3f}", f"{found:.3f}" == wanted)

    def what_if(self):
        """20 edits of a machine file: each figure changes what rests on it, by as much."""
        chance = random.Random(29)
        base = json.loads(self.json_of("machine", "sapphire-rapids"))
        self.write("copy.kw", "param N\ninput A: f32[N]\noutput B: f32[N]\nfor i in range(N):\n    B[i] = A[i] * 2\n")
        ask = ["estimate", "copy.kw", "-p", "N=64000000", "-s", "source", "--target", "cpu:sapphirerapids"]
        before = json.loads(self.json_of(*ask, "--machine", "sapphire-rapids"))
        held = 0
        for _ in range(20):
            factor, place = chance.uniform(0.2, 5), chance.randrange(4)
            edited = json.loads(json.dumps(base))
            figures = edited["memory"] if place == 3 else edited["levels"][place]
            for name in ("one_core", "all_cores"):
                figures[name] *= factor
            self.write("edited.json", json.dumps(edited))
            after = json.loads(self.json_of(*ask, "--machine", "edited.json"))
            expected = [level["ms"] / (factor if k == place else 1) for k, level in enumerate(before["levels"])]
            total = max([before["arithmetic_ms"], *expected]) + before["fork_ms"]
            held += all(abs(a["ms"] - e) <= 1e-9 * e + 1e-12 for a, e in zip(after["levels"], expected)) and (
                abs(after["predicted_ms"] - total) <= 1e-9 * total)
        self.say("what-if: edits of a bandwidth that give the same time", "20 of 20", f"{held} of 20", held == 20)

    def timed(self, what, most, *words):
        begin = time.monotonic()
        first = self.json_of(*words)
        seconds = time.monotonic() - begin
        self.say(f"{what}: seconds", f"<= {most}", f"{seconds:.2f}", seconds <= most)
        self.say(f"{what}: the same bytes twice", "yes", "yes" if self.json_of(*words) == first else "no",
                 self.json_of(*words) == first)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kawara", default=ROOT / "build/tools/kawara", type=pathlib.Path)
    parser.add_argument("--nets", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bars = Bars(options.kawara.resolve(), folder)
        bars.bytes_per_flop()
        bars.lower_bound()
        bars.windows()
        bars.what_if()
        bars.timed("explain gemm.kw 1024^3", 3, "explain", ROOT / "examples/gemm.kw", "-p", "M=1024,N=1024,K=1024",
                   "--machine", "sapphire-rapids")
        for net, most in (("resnet50", 15), ("bert-base", 15)) if options.nets else ():
            subprocess.run([bars.kawara, "zoo", net, "-o", f"{net}.onnx"], check=True, cwd=folder, capture_output=True)
            bars.timed(f"explain {net}", most, "explain", f"{net}.onnx", "--machine", "sapphire-rapids")
    return 1 if bars.missed else 0


if __name__ == "__main__":
    sys.exit(main())
