#!/usr/bin/env python3
"""everyday.py KAWARA [--cc CC] [--rounds N] [--only NAMES] [--json FILE]: what people write every day, beside the plain C and NumPy.

Prefix sums, argmax, moving average, histogram, embedding, gather, sparse rows, FFT and Mandelbrot of examples/ on one thread and the same
data: `kawara bench --input`, `cc -O3 -march=native` of bench/everyday.c called in this process, and NumPy where it is installed. The three take
turns, N rounds of each; the table has the medians in microseconds and how many times as fast as the faster of the others Kawara is."""

import argparse
import array
import ctypes
import json
import os
import pathlib
import random
import statistics
import struct
import subprocess
import sys
import tempfile
import time

try:
    import numpy
except ImportError:
    numpy = None

ROOT = pathlib.Path(__file__).resolve().parent.parent
TYPES = {"f": "<f4", "i": "<i4", "q": "<i8"}


class Data:
    """Elements of one type; a file for Kawara, a pointer for C, an array for NumPy."""

    def __init__(self, kind, shape, elements):
        self.kind, self.shape, self.elements = kind, shape, array.array(kind, elements)

    def write(self, path):
        shape = "(" + "".join(f"{n}, " for n in self.shape) + ")"
        head = f"{{'descr': '{TYPES[self.kind]}', 'fortran_order': False, 'shape': {shape}, }}"
        head += " " * (63 - (len(head) + 10) % 64) + "\n"
        path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + self.elements.tobytes())

    def pointer(self):
        return ctypes.c_void_p(self.elements.buffer_info()[0])

    def numpy(self):
        return numpy.frombuffer(self.elements, TYPES[self.kind]).reshape(self.shape)


def floats(*shape):
    count = 1
    for n in shape:
        count *= n
    return Data("f", shape, (random.uniform(-1, 1) for _ in range(count)))


def indices(count, below):
    return Data("i", (count,), (random.randrange(below) for _ in range(count)))


def zeros(kind, *shape):
    count = 1
    for n in shape:
        count *= n
    return Data(kind, shape, bytes(count * array.array(kind).itemsize))


def sparse_rows(rows, columns):
    """Rows of 0 to 40 elements."""
    ptr = [0]
    for _ in range(rows):
        ptr.append(ptr[-1] + random.randrange(41))
    return Data("i", (rows + 1,), ptr), indices(ptr[-1], columns), floats(ptr[-1])


def cases():
    """Per name: inputs of the program, sizes that no input has, arguments of the C, the same in NumPy."""
    x = floats(256, 4096)
    yield "argmax", {"x": x}, {}, [256, 4096, x, zeros("q", 256), zeros("f", 256)], \
        lambda n: (n["x"].argmax(1), n["x"].max(1))
    x = floats(1000000)
    yield "prefix", {"x": x}, {}, [1000000, x, zeros("f", 1000000)], lambda n: n["x"].cumsum(dtype="f4")
    x = floats(1000004)
    yield "moving_average", {"x": x}, {}, [1000000, x, zeros("f", 1000000)], \
        lambda n: numpy.lib.stride_tricks.sliding_window_view(n["x"], 5).mean(1)
    b, w = indices(1000000, 1000), floats(1000000)
    yield "histogram", {"bin": b, "w": w}, {"B": 1000}, [1000000, 1000, b, w, zeros("f", 1000)], \
        lambda n: numpy.bincount(n["bin"], n["w"], 1000)
    e, ids = floats(20000, 64), indices(20000, 20000)
    yield "embedding", {"E": e, "ids": ids}, {}, [20000, 64, e, ids, zeros("f", 20000, 64)], lambda n: n["E"][n["ids"]]
    x, idx = floats(1000000), indices(1000000, 1000000)
    yield "gather", {"x": x, "idx": idx}, {}, [1000000, x, idx, zeros("f", 1000000)], lambda n: n["x"][n["idx"]]
    (ptr, col, val), x = sparse_rows(50000, 50000), floats(50000)
    yield "csr", {"ptr": ptr, "col": col, "val": val, "x": x}, {}, [50000, ptr, col, val, x, zeros("f", 50000)], \
        lambda n: numpy.add.reduceat(numpy.append(n["val"] * n["x"][n["col"]], 0), n["ptr"][:-1])
    c, s, xr, xi = floats(32), floats(32), floats(4096, 64), floats(4096, 64)
    yield "fft", {"c": c, "s": s, "xr": xr, "xi": xi}, {}, \
        [4096, c, s, xr, xi, zeros("f", 4096, 64), zeros("f", 4096, 64), zeros("f", 256)], \
        lambda n: numpy.fft.fft(n["xr"] + 1j * n["xi"])
    yield "mandelbrot", {}, {"H": 256, "W": 384, "STEPS": 100}, [256, 384, 100, zeros("i", 256, 384)], None


def seconds_of(call):
    """Of one call, a median of samples of at least 2 ms."""
    call()
    begin = time.perf_counter()
    call()
    calls = max(1, int(0.002 / max(1e-9, time.perf_counter() - begin)))
    samples = []
    for _ in range(7):
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        samples.append((time.perf_counter() - begin) / calls)
    return statistics.median(samples)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kawara")
    parser.add_argument("--cc", default="gcc")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="")
    parser.add_argument("--json", default="")
    options = parser.parse_args()
    random.seed(1)
    environment = dict(os.environ, KAWARA_THREADS="1")
    results = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        native = "-mcpu=native" if os.uname().machine == "aarch64" else "-march=native"
        subprocess.run([options.cc, "-O3", native, "-shared", "-fPIC", ROOT / "bench/everyday.c", "-o", folder / "plain.so", "-lm"],
                       check=True)
        plain = ctypes.CDLL(str(folder / "plain.so"))
        print(f"{'':16}{'kawara us':>12}{'cc -O3 us':>12}{'NumPy us':>12}{'ratio':>8}")
        for name, inputs, sizes, arguments, in_numpy in cases():
            if options.only and name not in options.only.split(","):
                continue
            command = [options.kawara, "bench", ROOT / f"examples/{name}.kw", "--json", "--no-db"]
            for key, value in inputs.items():
                value.write(folder / f"{name}_{key}.npy")
                command += ["--input", f"{key}={folder / f'{name}_{key}.npy'}"]
            if sizes:
                command += ["-p", ",".join(f"{k}={v}" for k, v in sizes.items())]
            given = [a.pointer() if isinstance(a, Data) else ctypes.c_int64(a) for a in arguments]
            arrays = {key: value.numpy() for key, value in inputs.items()} if numpy else {}
            times = {"kawara": [], "c": [], "numpy": []}
            for _ in range(options.rounds):
                out = subprocess.run(command, env=environment, capture_output=True, text=True)
                if out.returncode != 0:
                    sys.exit(out.stdout + out.stderr)
                times["kawara"].append(json.loads(out.stdout)["median_ms"] / 1e3)
                times["c"].append(seconds_of(lambda: getattr(plain, name)(*given)))
                if numpy and in_numpy:
                    times["numpy"].append(seconds_of(lambda: in_numpy(arrays)))
            median = {who: statistics.median(t) * 1e6 for who, t in times.items() if t}
            ratio = min(v for who, v in median.items() if who != "kawara") / median["kawara"]
            results.append({"name": name, "us": median, "ratio": ratio, "samples": times})
            shown = f"{median['numpy']:12.1f}" if "numpy" in median else f"{'–':>12}"
            print(f"{name:16}{median['kawara']:12.1f}{median['c']:12.1f}{shown}{ratio:8.2f}", flush=True)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(results, indent=1))


main()
