#!/usr/bin/env python3
"""Every family of kernels on a GPU beside PyTorch on the same machine, in one run, and how they stand.

    bench/gpu/all.py --kawara build/tools/kawara [--only attention] [--quick] [--compile] [--write results.json]

Families are those of race.py (products, attention, rows), convolutions.py and models.py, which say how each is made, checked
(against float64, on fresh random numbers, outputs full of NaN before) and timed (graphs, both in turns). Prints a line for each race,
then one for each family: how many races, how many results were right, geometric mean and least of the ratios, and what is
asked of them. A ratio above 1: Kawara is faster. --quick takes the first two shapes of a family. --compile races rows and nets against
torch.compile (max-autotune), which takes minutes; otherwise the peer is eager. The exit code is 1 when a result is wrong.
"""

import argparse
import json
import math
import pathlib
import re
import sys
import tempfile

import convolutions
import models
import race

# Families of race.py: name, cases, the ratio that is asked of their mean and of the least.
FAMILIES = [
    ("products bf16, large", r"^gemm_bf16_(2048|4096|8192)_\1_\1$", 1.02, 1.02),
    ("products bf16, all", r"^gemm(_nt)?_bf16_", 1.0, 0.9),
    ("products bf16, transposed, with more", r"^gemm_(tn|tt|relu|bias_gelu|residual|batched|f32out)_bf16_", 1.0, None),
    ("products fp8", r"^gemm_nt_bytes_f8e4m3_(8192|4096)_", 0.95, 0.95),
    ("products i8", r"^gemm_nt_i8_", 0.95, None),
    ("products f32", r"^gemm_f32_4096_4096_4096$", 0.95, 0.95),
    ("products f32 as tf32", r"^gemm(_nt)?_tf32_f32_4096_", 0.9, 0.9),
    ("attention d 128, N 4096 to 16384", r"^attention(_causal)?_bf16_\d+_(4096|8192|16384)_128$", 1.0, 1.0),
    ("attention d 128, N 512 to 1024", r"^attention(_causal)?_bf16_\d+_(512|1000|1024)_128$", 0.95, 0.95),
    ("attention d 64", r"^attention(_causal)?_bf16_\d+_\d+_64$", 1.0, 1.0),
    ("attention, grouped queries", r"^attention_grouped_bf16_", 1.0, 1.0),
    ("rows", r"^(softmax|layer_norm|rms_norm|add_layer_norm|bias_gelu)_(bf16|f32)_8192_8192$", 1.0, 1.0),
    ("element by element, transpose, sums", r"^(add_relu|transpose|sum_rows)_(bf16|f32)_8192_8192$", 1.0, 1.0),
]
NETS = [("resnet50", 1), ("resnet50", 32), ("bert-base", 1), ("bert-base", 8), ("gpt2-prefill", 1), ("gpt2-prefill", 8)]


class Family:
    def __init__(self, name, mean, least):
        self.name, self.mean, self.least = name, mean, least
        self.ratios, self.wrong = [], []

    def add(self, what, is_right, ratio):
        self.ratios += [ratio] if ratio else []
        self.wrong += [] if is_right else [what]

    def line(self):
        if not self.ratios:
            return f"{self.name:40s} nothing ran, {len(self.wrong)} wrong"
        mean = math.exp(sum(map(math.log, self.ratios)) / len(self.ratios))
        least = min(self.ratios)
        is_met = not self.wrong and mean >= self.mean and (self.least is None or least >= self.least)
        asked = f"{self.mean:.2f}" + (f", none under {self.least:.2f}" if self.least else "")
        return (f"{self.name:40s} {len(self.ratios):3d} races, {len(self.wrong)} wrong, mean {mean:.2f}x, "
                f"least {least:.2f}x  {'meets' if is_met else 'MISSES'} {asked}")


def chosen_cases(pattern, is_quick):
    found = [case for case in race.cases() if re.search(pattern, case["name"])]
    return found[:2] if is_quick else found


def print_copy_rate():
    """What rows can reach at best: bytes read and written by a copy on the device."""
    import torch
    given = torch.randn(8192, 8192, device="cuda")
    kept = torch.empty_like(given)
    spent = models.median_ms(torch, lambda: kept.copy_(given), 0.1)
    print(f"a copy moves {2 * given.numel() * 4 / spent * 1e-9:.2f} TB/s", flush=True)


def race_family(family, pattern, options, folder):
    chosen = chosen_cases(pattern, options.quick)
    race.make_texts(chosen, options.kawara, folder)
    compiles = options.compile and family.name == "rows"
    if family.name == "rows":
        print_copy_rate()
    for case, is_right, ratio, line in race.races(chosen, folder, True, compiles):
        print(line, flush=True)
        family.add(case["name"], is_right, ratio)


def race_convolutions(family, batch, options, folder):
    layers = convolutions.layers_of(batch)
    layers = layers[:2] if options.quick else layers
    convolutions.make_texts(layers, options.kawara, folder)
    sums = [0, 0]
    for layer, is_right, times, line in convolutions.races(layers, folder):
        print(line, flush=True)
        sums = [total + layer.count * time for total, time in zip(sums, times)]
        family.wrong += [] if is_right else [layer.name]
    family.ratios = [sums[1] / sums[0]] if sums[0] else []


def race_net(family, name, batch, options, folder):
    import torch
    ours = models.race_kawara(options.kawara, name, batch, folder)
    theirs = models.race_torch(torch, name, batch, "max-autotune" if options.compile else None)
    print(models.line_of(name, batch, ours, theirs), flush=True)
    peer = theirs.get("compiled_ms", theirs["eager_ms"])
    # Nets of bf16 differ from f32 by what rounding leaves.
    is_right = "error" not in ours and ours["check"]["norm"] < 5e-2
    family.add(name, is_right, peer / ours["device_ms"] if "error" not in ours else None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kawara", default="build/tools/kawara")
    parser.add_argument("--only", default="", help="families whose name has this regular expression")
    parser.add_argument("--quick", action="store_true", help="two shapes of each family")
    parser.add_argument("--compile", action="store_true", help="torch.compile (max-autotune) as the peer of rows and nets")
    parser.add_argument("--write", help="file for the ratios as JSON")
    options = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp())
    works = [(Family(name, mean, least), lambda f, p=pattern: race_family(f, p, options, folder))
             for name, pattern, mean, least in FAMILIES]
    works += [(Family(f"convolutions of ResNet-50, batch {batch}", 1.1, None),
               lambda f, b=batch: race_convolutions(f, b, options, folder)) for batch in (32, 1)]
    works += [(Family(f"{name}, batch {batch}", 0.95, None),
               lambda f, n=name, b=batch: race_net(f, n, b, options, folder)) for name, batch in NETS]
    done = []
    for family, work in works:
        if re.search(options.only, family.name):
            work(family)
            done.append(family)
    print()
    for family in done:
        print(family.line())
    if options.write:
        pathlib.Path(options.write).write_text(json.dumps(
            [{"family": f.name, "ratios": f.ratios, "wrong": f.wrong} for f in done], indent=2))
    return 1 if any(family.wrong for family in done) else 0


if __name__ == "__main__":
    sys.exit(main())
