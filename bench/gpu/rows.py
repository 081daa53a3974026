#!/usr/bin/env python3
"""Row-wise programs on a GPU: how near to a copy they come, and torch.compile beside them.

    bench/gpu/rows.py --kawara build/tools/kawara [--only gelu] [--sizes 8192x8192] [--peer eager] [--jobs 8]

Default schedules (`auto`) of softmax, layer norm, residual + layer norm, bias + gelu and RMS norm, in f32 and bf16, made,
checked and timed as in race.py: graphs of ten calls replayed in turns with what torch.compile (max-autotune) makes of
the same function. A copy of a matrix of the same size and type is timed in turns with both. Rates are bytes that have to
be moved (every input once, every output once). With --jobs the peer's kernels are compiled by so many processes first; the
race finds them in torch.compile's cache.
"""

import argparse
import concurrent.futures
import math
import pathlib
import re
import subprocess
import sys
import tempfile

import race

KINDS = ["softmax", "layer_norm", "add_layer_norm", "bias_gelu", "rms_norm"]


def chosen_cases(only, sizes):
    for elem in ("f32", "bf16"):
        for kind in KINDS:
            for rows, columns in sizes:
                name = f"{kind}_{elem}_{rows}_{columns}"
                if re.search(only, name):
                    yield {"kind": kind, "elem": elem, "sizes": {"M": rows, "N": columns},
                           "name": name}


def warm(case):
    """Has torch.compile make its kernel, as race.Race does."""
    import torch
    types = {"f32": torch.float32, "bf16": torch.bfloat16}
    inputs = {name: torch.randn(shape, device="cuda").to(types[elem])
              for name, elem, shape, is_output in race.tensors_of(case) if not is_output}
    function = eval(f"lambda {', '.join(inputs)}: {race.TORCH[case['kind']]}",
                    {"torch": torch, "F": torch.nn.functional})
    torch.compile(function, mode="max-autotune-no-cudagraphs", dynamic=False)(*inputs.values())
    torch.cuda.synchronize()


def warm_all(cases, jobs):
    def one(case):
        rows, columns = case["sizes"].values()
        subprocess.run([sys.executable, __file__, "--warm", "--only", f"^{case['name']}$",
                        "--sizes", f"{rows}x{columns}"], capture_output=True)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(one, cases))


class Beside(race.Race):
    """A race of three: Kawara, the peer and a copy."""

    def times(self):
        torch = self.torch
        source = self.given["X"]
        target = torch.empty_like(source)
        works = [self.replayed(work) for work in
                 (self.kawara, self.peer, lambda: target.copy_(source))]
        batches = []
        for work in works:
            self.seconds(work, 2)
            batches.append(max(2, min(50, int(10 / max(self.seconds(work, 1), 1e-3)))))
        rounds = [[self.seconds(w, b) / race.CALLS_OF_GRAPH for w, b in zip(works, batches)]
                  for _ in range(9)]
        return [sorted(column)[4] for column in zip(*rounds)]

    def row(self):
        distance = self.error()
        own, peer, copy = self.times()
        bytes_of = lambda name: self.given[name].numel() * self.given[name].element_size()
        rate = sum(map(bytes_of, self.given)) / own * 1e-9
        copied = 2 * bytes_of("X") / copy * 1e-9
        is_right = distance < (1e-5 if self.case["elem"] == "f32" else 1e-2)
        line = (f"{self.case['name']:32s} {'right' if is_right else 'WRONG'} {distance:.1e} "
                f"{own * 1e3:8.1f} us {rate:6.2f} TB/s  {rate / copied:5.2f} of the copy's "
                f"{copied:.2f}  {peer / own:5.2f}x")
        return is_right, rate / copied, peer / own, line


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kawara", default="build/tools/kawara")
    parser.add_argument("--only", default="", help="cases whose name has this regular expression")
    parser.add_argument("--sizes", default="8192x8192", help="rows x columns, separated by commas")
    parser.add_argument("--peer", default="compile", choices=["compile", "eager"])
    parser.add_argument("--jobs", type=int, default=0, help="processes that compile for the peer first")
    parser.add_argument("--warm", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    sizes = [tuple(map(int, pair.split("x"))) for pair in options.sizes.split(",")]
    cases = list(chosen_cases(options.only, sizes))
    if options.warm:
        for case in cases:
            warm(case)
        return 0
    folder = pathlib.Path(tempfile.mkdtemp())

    def made(case):
        race.text_of(case, options.kawara, folder, "auto")
        return race.compiled(case, folder)

    with concurrent.futures.ThreadPoolExecutor() as pool:
        libraries = list(pool.map(made, cases))
    if options.jobs and options.peer == "compile":
        warm_all(cases, options.jobs)
    rows, wrong = [], 0
    for case, library in zip(cases, libraries):
        if isinstance(library, str):
            print(f"{case['name']}: nvcc says\n{library[:2000]}")
            wrong += 1
            continue
        is_right, of_copy, ratio, line = Beside(case, library, True,
                                                options.peer == "compile").row()
        wrong += not is_right
        rows.append((of_copy, ratio))
        print(line, flush=True)
    if rows:
        mean = math.exp(sum(math.log(ratio) for _, ratio in rows) / len(rows))
        print(f"{len(rows)} races against {options.peer}, {wrong} wrong, geometric mean {mean:.2f}x, "
              f"the least {min(r for _, r in rows):.2f}x; of the copy the least "
              f"{min(c for c, _ in rows):.2f}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
