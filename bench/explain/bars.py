#!/usr/bin/env python3
"""Figures of `kawara explain`, `estimate --machine` and `cache` beside published or exact ones.

    bench/explain/bars.py [--kawara PATH] [--nets]

Prints a line for each: what, wanted, found. Exit code 1 where one misses. --nets also explains ResNet-50 and BERT-base
(a minute, and 2 GB of memory).
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


def sum_of(operators, holds):
    """FLOP and values of 4 bytes of operators; a sum of k terms takes k - 1 additions."""
    taken = [each for each in operators if holds(each["op"])]
    return [sum(each["operations"] - each["sums"] for each in taken), sum(each["bytes"] / 4 for each in taken)]


def bert_rows(operators):
    """FLOP and values of the encoder's layers: projections with their bias, products of activations, the feed-forward part with its bias, the
    others, all. GELU is one operator, which reads and writes its elements once. Masks and scales of scores are not in the published table."""
    rows = [[0.0, 0.0] for _ in range(4)]
    for each in operators:
        if not each["name"].startswith("layer"):
            continue
        part = each["name"].split(".", 1)[1]
        if part in ("attention.scaled", "attention.masked") or "transposed" in part:
            continue
        flop, values = each["operations"] - each["sums"], each["bytes"] / 4
        if part in ("attention.scores", "attention.mixed"):
            row = 1
        elif part.split(".")[-1] == "product" and "gelu" not in part:
            row = 2 if part.startswith(("wide", "narrow")) else 0
        elif part in ("wide", "narrow") or part.startswith("attention.") and part.split(".")[1] in (
                "query", "key", "value", "output"):
            row = 2 if part in ("wide", "narrow") else 0
            values -= 2 * each["operations"]  # the bias alone: its sum is formed in the product's operator
        else:
            row = 3
            if part.startswith("gelu") and part != "gelu.erf":
                values = 0
        rows[row][0] += flop
        rows[row][1] += values
    return rows + [[sum(row[k] for row in rows) for k in (0, 1)]]


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

    def net(self, name, *choices):
        subprocess.run([self.kawara, "zoo", name, "-o", f"{name}.onnx", *map(str, choices)], check=True, cwd=self.folder,
                       capture_output=True)

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

    def published_bert(self):
        """Kim et al. 2302.14017, table 3: BERT-base, a byte a value, each operator reads and writes everything once."""
        rows = {128: ((7.25, 192.00), (0.60, 63.62), (14.50, 211.86), (0.08, 3.14), (22.42, 159.68)),
                512: ((28.99, 438.86), (9.62, 101.95), (57.98, 558.54), (0.42, 2.73), (97.02, 231.0)),
                4096: ((231.93, 702.17), (616.02, 123.63), (463.86, 1068.52), (11.85, 2.16), (1323.66, 117.96))}
        names = ("MHA projections", "act-to-act products", "FFN", "other", "total")
        for length, wanted in rows.items():
            self.net("bert-base", "--seq", length)
            found = bert_rows(json.loads(self.json_of("explain", "bert-base.onnx", "--kernels", "--machine",
                                                      "sapphire-rapids"))["fusion"]["operators"])
            for name, (gflop, intensity), (flop, values) in zip(names, wanted, found):
                near = abs(flop / values / intensity - 1)
                self.say(f"BERT-base, {length} tokens, {name}: FLOP per byte", f"{intensity:.2f}", f"{flop / values:.2f}",
                         near < 0.01)
                self.say(f"BERT-base, {length} tokens, {name}: GFLOP", f"{gflop:.2f}", f"{flop * 1e-9:.2f}",
                         abs(flop * 1e-9 - gflop) <= max(0.01 * gflop, 0.005))

    def published_resnet(self):
        """Table 4 of the same: ResNet-50, batch normalisation and ReLU within the convolutions or alone. Its row of batch normalisation has a
        byte for each FLOP, three an element, where reading and writing each element once would take two; both ways are printed. Its
        convolutions have 7.26 GFLOP: those of the net here have 8.16 (the stride is in the 3 x 3), so that ratios are compared."""
        self.net("resnet50")
        fusion = json.loads(self.json_of("explain", "resnet50.onnx", "--machine", "sapphire-rapids"))["fusion"]
        flop, values = sum_of(fusion["operators"], lambda op: True)
        norm_flop, norm_values = sum_of(fusion["operators"], lambda op: op == "BatchNormalization")
        relu_values = sum_of(fusion["operators"], lambda op: op == "Relu")[1]
        conv_flop, conv_values = sum_of(fusion["operators"], lambda op: op == "Conv")
        fused = (flop - norm_flop) / (values - norm_values - relu_values)
        self.say("ResNet-50, convolutions: FLOP per byte", "183.36", f"{conv_flop / conv_values:.2f}",
                 abs(conv_flop / conv_values / 183.36 - 1) < 0.01)
        unfused = flop / (values - norm_values + norm_flop)
        self.say("ResNet-50, BN and ReLU in convolutions or alone", "1.81 +- 0.03", f"{fused / unfused:.3f}",
                 abs(fused / unfused - 1.81) <= 0.03)
        after = fusion["after"]["operations"] / fusion["after"]["bytes"] * 4
        print(f"       FLOP per byte of values: alone {unfused:.2f} (published 66.94), in convolutions {fused:.2f} (121.36); BN that moves\n"
              f"       each element twice: alone {flop / values:.2f}, ratio {fused * values / flop:.3f}; as Kawara fuses: {after:.2f}, "
              f"ratio {after * values / flop:.3f}")

    def measured_trace(self):
        """The steps of a measured trace together, and what `bench` says of a call."""
        self.net("resnet50")
        traced = json.loads(self.json_of("trace", "resnet50.onnx", "-o", "t.json", "--measure"))["ms"]
        called = json.loads(self.json_of("bench", "resnet50.onnx"))["median_ms"]
        self.say("ResNet-50, steps of a measured trace over bench", "1 +- 0.05", f"{traced / called:.3f}",
                 abs(traced / called - 1) <= 0.05)

    def attention(self):
        """Bytes of attention in three operators over those of one: 1 + tokens / width of a head."""
        for tokens in (128, 512, 1024):
            self.net("one-attention", "--seq", tokens)
            made = {way: json.loads(self.json_of("explain", "one-attention.onnx", "--attention", way, "--machine",
                                                 "sapphire-rapids")) for way in ("parts", "whole")}
            apart = sum(o["bytes"] for o in made["parts"]["fusion"]["operators"]
                        if o["name"] in ("scores", "weights", "mixed"))
            whole = next(n["bytes"] for n in made["whole"]["graph"]["nodes"] if "Attention" in n["op"])
            wanted = 1 + tokens / 64
            self.say(f"attention, {tokens} tokens, heads of 64: naive over fused", f"{wanted:.2f}",
                     f"{apart / whole:.2f}", abs(apart / whole / wanted - 1) < 0.02)

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
        bars.attention()
        if options.nets:
            bars.published_resnet()
            bars.published_bert()
            bars.measured_trace()
        for net, most in (("resnet50", 15), ("bert-base", 15)) if options.nets else ():
            bars.net(net)
            bars.timed(f"explain {net}", most, "explain", f"{net}.onnx", "--machine", "sapphire-rapids")
    return 1 if bars.missed else 0


if __name__ == "__main__":
    sys.exit(main())
