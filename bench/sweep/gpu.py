#!/usr/bin/env python3
"""Random shapes on a GPU: default schedules beside cuBLAS, cuDNN and torch.compile, and how the percentiles stand.

    bench/sweep/gpu.py --kawara build/tools/kawara [--family products] [--count 100] [--seed 1] [--json results.json]

Families: `products` (bf16, with and without bias, GELU, residual; M 1 to 16384) against cuBLAS, `attention` (N 100 to 16384, head
sizes 32 to 256, full, causal, grouped, in batches) against cuDNN, `rows` (softmax, norms, element by element; f32 and bf16) against torch.compile, or eager
PyTorch with --eager. No shape is chosen by hand: sizes are log-uniform, half of them multiples of 8, from the seed. Kernels are made, checked
against float64 and timed as in bench/gpu/race.py: graphs of ten calls, in turns. Prints percentiles and the ten worst of each family.
--write FOLDER only makes the texts, which needs no GPU; --texts FOLDER uses them. The exit code is 1 when a result is wrong.
"""

import argparse
import json
import pathlib
import sys
import tempfile

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parent.parent / "gpu")]
import race
import shapes

PRODUCTS = ["gemm", "gemm_nt", "gemm_relu", "gemm_bias_gelu", "gemm_residual"]
ROWS = ["softmax", "layer_norm", "rms_norm", "add_layer_norm", "bias_gelu", "add_relu", "sum_rows"]
# Arithmetic and elements that a case may have, so that a run ends.
MOST_FLOP, MOST_ELEMENTS = 4e12, 2**28


def named(kind, elem, sizes):
    return {"kind": kind, "elem": elem, "sizes": sizes, "name": f"{kind}_{elem}_" + "_".join(map(str, sizes.values()))}


def product(rng):
    m, n, k = shapes.size(rng, 1, 16384), shapes.size(rng, 16, 16384), shapes.size(rng, 16, 16384)
    if 2 * m * n * k > MOST_FLOP:
        return None
    return named(rng.choice(PRODUCTS), "bf16", {"M": m, "N": n, "K": k})


def attention(rng):
    kind = rng.choice(["attention", "attention_causal", "attention_grouped", "attention_batched"])
    heads, positions = shapes.log_uniform(rng, 1, 128), shapes.size(rng, 100, 16384)
    batches = shapes.log_uniform(rng, 1, 32) if kind == "attention_batched" else 1
    each = 4 if kind in ("attention_grouped", "attention_batched") else 1
    width = 8 * rng.randint(4, 32) if rng.random() < 0.5 else rng.choice([32, 64, 96, 128, 192, 256])  # cuDNN takes multiples of 8
    if 4 * batches * heads * each * positions**2 * width > MOST_FLOP or batches * heads * each * positions**2 > 2**31:
        return None
    sizes = {"G" if each == 4 else "H": heads, "N": positions, "D": width}
    return named(kind, "bf16", ({"B": batches} if kind == "attention_batched" else {}) | sizes)


def rows(rng):
    m, n = shapes.size(rng, 1, 65536), shapes.size(rng, 16, 65536)
    if m * n > MOST_ELEMENTS or m * n < 4096:
        return None
    return named(rng.choice(ROWS), rng.choice(["f32", "bf16"]), {"M": m, "N": n})


FAMILIES = {"products": (product, "products bf16 against cuBLAS", 0.93, 1.02),
            "attention": (attention, "attention against cuDNN", 1.00, None),
            "rows": (rows, "rows against torch.compile", 1.00, None)}


def raced(name, options, folder):
    make, title, fifth, median = FAMILIES[name]
    compiles = name == "rows" and not options.eager
    family = shapes.Family(title.replace("torch.compile", "torch.compile" if compiles else "eager PyTorch"), fifth, median)
    cases = shapes.draw(options.seed, options.count, make)
    if not options.texts:
        cases = with_texts(cases, options.kawara, folder, family)
    if options.write:
        return family
    made = [case for case in cases if (folder / f"{case['name']}.cu").exists()]
    for case, is_right, ratio, line in race.races(made, folder, True, compiles):
        family.add(case["name"], is_right, ratio)
        print(line, flush=True)
    return family


def with_texts(cases, kawara, folder, family):
    """Those that Kawara makes code of; the others count as wrong."""
    done = []
    for at, case in enumerate(cases):
        if sys.stderr.isatty():
            print(f"\r\033[K{at + 1} of {len(cases)}: {case['name']}", end="", file=sys.stderr, flush=True)
        try:
            race.text_of(case, kawara, folder, "auto")
            done.append(case)
        except RuntimeError as refused:
            print(refused, file=sys.stderr)
            family.add(f"{case['name']} (refused)", False, None)
    return done


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kawara", default="build/tools/kawara")
    parser.add_argument("--family", choices=[*FAMILIES, "all"], default="all")
    parser.add_argument("--count", type=int, default=100, help="shapes of each family")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--eager", action="store_true", help="rows against PyTorch as it is: torch.compile takes minutes")
    parser.add_argument("--json", help="write all ratios to this file")
    parser.add_argument("--write", help="only make the texts, in this folder")
    parser.add_argument("--texts", help="texts made before")
    options = parser.parse_args()
    folder = pathlib.Path(options.write or options.texts or tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    chosen = list(FAMILIES) if options.family == "all" else [options.family]
    families = [raced(name, options, folder) for name in chosen]
    if options.write:
        print(json.dumps({f.name: f.wrong for f in families}))
        return 1 if any(f.wrong for f in families) else 0
    for family in families:
        print("\n".join(family.lines()))
    if options.json:
        import torch
        shapes.write(options.json, options.seed, torch.cuda.get_device_name(), families,
                     "medians of 7 rounds in turns, graphs of ten calls")
    return 1 if any(f.wrong for f in families) else 0


if __name__ == "__main__":
    sys.exit(main())
