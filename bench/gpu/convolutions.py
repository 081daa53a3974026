#!/usr/bin/env python3
"""Races the convolutions of ResNet-50 on a GPU against cuDNN on the same machine.

    bench/gpu/convolutions.py --kawara build/tools/kawara [--batches 1,32] [--only 3x3] [--write FOLDER] [--texts FOLDER]

Programs are those that operators with channels last write (src/program/operators/channels_last.cpp), in bf16, by their default
schedules; they are made, compiled and called as in race.py. cuDNN is called through PyTorch with tensors in channels_last and its own
search for the fastest algorithm. Inputs are fresh random numbers, results are compared with float64. Both are graphs
of ten calls, replayed in turns. The last line has the time of all 53 convolutions.
"""

import argparse
import concurrent.futures
import ctypes
import math
import pathlib
import re
import subprocess
import sys
import tempfile

import race

# channels, height and width, filters, window, stride, how often
LAYERS = [(3, 224, 64, 7, 2, 1), (64, 56, 64, 1, 1, 1), (64, 56, 64, 3, 1, 3), (64, 56, 256, 1, 1, 4),
          (256, 56, 64, 1, 1, 2), (256, 56, 128, 1, 1, 1), (128, 56, 128, 3, 2, 1), (256, 56, 512, 1, 2, 1),
          (128, 28, 512, 1, 1, 4), (512, 28, 128, 1, 1, 3), (128, 28, 128, 3, 1, 3), (512, 28, 256, 1, 1, 1),
          (256, 28, 256, 3, 2, 1), (512, 28, 1024, 1, 2, 1), (256, 14, 1024, 1, 1, 6), (1024, 14, 256, 1, 1, 5),
          (256, 14, 256, 3, 1, 5), (1024, 14, 512, 1, 1, 1), (512, 14, 512, 3, 2, 1), (1024, 14, 2048, 1, 2, 1),
          (512, 7, 2048, 1, 1, 3), (2048, 7, 512, 1, 1, 2), (512, 7, 512, 3, 1, 2)]
BLOCK = 8  # channels that fill 16 bytes


def nest(loops, lines):
    text, indent = "", ""
    for name, extent in loops:
        text += f"{indent}for {name} in range({extent}):\n"
        indent += "  "
    return text + "".join(f"{indent}{line}\n" for line in lines)


class Layer:
    def __init__(self, batch, channels, size, filters, window, stride, count):
        self.batch, self.channels, self.size, self.filters = batch, channels, size, filters
        self.window, self.stride, self.count = window, stride, count
        self.pad = window // 2
        self.out = (size + 2 * self.pad - window) // stride + 1
        self.name = f"conv_{batch}_{channels}_{size}_{filters}_{window}x{window}_{stride}"
        self.has_blocks = channels < BLOCK
        self.taps = -(-window // stride)  # blocks under the window, each way
        self.elements = -(-channels * stride * stride // BLOCK) * BLOCK
        self.sides = self.out - 1 + self.taps
        self.flops = 2 * batch * self.out**2 * filters * channels * window**2

    def programs(self):
        """Texts by name, in the order of their calls."""
        if self.has_blocks:
            return {self.name + "_blocks": self.blocks(),
                    self.name: self.convolution(self.elements, self.sides, (self.taps, 1), 1, 0, self.taps)}
        return {self.name: self.convolution(self.channels, self.size, (self.window,) * 2, self.stride,
                                            self.pad, 1)}

    def blocks(self):
        step, channels, size = self.stride, self.channels, self.size
        row, column = (f"{step} * (h % {self.sides}) + e // {step * channels}",
                       f"{step} * x + e // {channels} % {step}")
        inside = [f"e < {step * step * channels}"]
        inside += [f"{place} >= {self.pad} and {place} < {self.pad + size}" for place in (row, column)]
        element = ", ".join(f"({place} + {size - self.pad}) % {size}" for place in (row, column))
        return (f"input X: bf16[{self.batch}, {channels}, {size}, {size}]\n"
                f"output D: bf16[{self.batch * self.sides}, {self.sides}, {self.elements}]\n"
                f"D[h, x, e] = select({' and '.join(inside)}, X[h // {self.sides}, e % {channels}, {element}], 0)\n")

    def convolution(self, channels, size, window, step, pad, runs_on):
        places, deep = self.batch * self.out**2, channels * runs_on
        if window == (1, 1) and step == 1:
            return (f"input X: bf16[{places}, {channels}], F: bf16[{self.filters}, {channels}]\n"
                    f"output Y: bf16[{places}, {self.filters}]\ntemp T: f32[{places}, {self.filters}]\n"
                    f"T[q, m] = sum(c, X[q, c] * F[m, c])\nY[q, m] = T[q, m]\n")
        y, x = f"{step} * y + r - {pad}", f"{step} * x + s - {pad}"
        element = f"W[(n * {self.out} + y) * {self.out} + x, r, s, c]"
        image = f"X[n, {y}, {x}, c]"
        if runs_on > 1:
            image = f"X[n, {y}, {x} + c // {channels}, c % {channels}]"
        lines = [f"{element} = {image}"]
        if pad:
            lines = [f"if {y} >= 0 and {y} < {size} and {x} >= 0 and {x} < {size}:", f"  {element} = {image}",
                     "else:", f"  {element} = 0"]
        return (f"input X: bf16[{self.batch}, {size}, {size}, {channels}], "
                f"F: bf16[{window[0]}, {window[1]}, {self.filters}, {deep}]\n"
                f"output Y: bf16[{places}, {self.filters}]\n"
                f"temp W: bf16[{places}, {window[0]}, {window[1]}, {deep}], T: f32[{places}, {self.filters}]\n" +
                nest([("n", self.batch), ("y", self.out), ("x", self.out), ("r", window[0]), ("s", window[1]),
                      ("c", deep)], lines) +
                "T[q, m] = sum((r, s, c), W[q, r, s, c] * F[r, s, m, c])\nY[q, m] = T[q, m]\n")

    def weights(self, torch, given):
        """[filters, channels, rows, columns] as the program wants them."""
        if not self.has_blocks:
            ready = given.permute(2, 3, 0, 1)
            return (ready[0, 0] if self.window == self.stride == 1 else ready).contiguous()
        out = torch.zeros(self.taps, 1, self.filters, self.taps, self.elements, dtype=given.dtype, device="cuda")
        for r in range(self.window):
            for s in range(self.window):
                first = (r % self.stride * self.stride + s % self.stride) * self.channels
                out[r // self.stride, 0, :, s // self.stride, first:first + self.channels] = given[:, :, r, s]
        return out.contiguous()


def text_of(name, text, kawara, folder):
    (folder / f"{name}.kw").write_text(text)
    made = subprocess.run([kawara, "show", str(folder / f"{name}.kw"), "-s", "auto", "--target", "cuda:sm_90a",
                           "--stage", "cuda"], capture_output=True, text=True)
    if made.returncode:
        raise RuntimeError(f"{name}: {made.stderr}")
    (folder / f"{name}.cu").write_text(made.stdout)


class ConvolutionRace(race.Race):
    """A layer's programs, one after the other, and conv2d."""

    def __init__(self, layer, libraries):
        import torch
        self.torch, self.layer, self.uses_graphs = torch, layer, True
        torch.backends.cudnn.benchmark = True
        kind = {"dtype": torch.bfloat16, "device": "cuda"}
        self.image = torch.randn(layer.batch, layer.channels, layer.size, layer.size, **kind)
        self.filters = torch.randn(layer.filters, layer.channels, layer.window, layer.window, **kind)
        self.result = torch.full((layer.batch * layer.out**2, layer.filters), math.nan, **kind)
        last = torch.channels_last
        wide, narrow = self.image.to(memory_format=last), self.filters.to(memory_format=last)
        self.own = [layer.weights(torch, self.filters), self.image.permute(0, 2, 3, 1).contiguous()]
        self.peer = lambda: torch.nn.functional.conv2d(wide, narrow, stride=layer.stride, padding=layer.pad)
        calls, source = [], self.own[1]
        for name, library in libraries.items():
            arguments = [source, self.own[0], self.result]
            if name.endswith("_blocks"):
                source = torch.empty(layer.batch, layer.sides, layer.sides, layer.elements, **kind)
                arguments = [self.image.contiguous(), source]
            calls.append(self.call_of(ctypes.CDLL(str(library)), name, arguments))
        self.kawara = lambda: max(call() for call in calls)

    def call_of(self, functions, name, tensors):
        function = getattr(functions, name)
        pointers = [ctypes.c_void_p(t.data_ptr()) for t in tensors]
        keep = list(tensors)
        if hasattr(functions, name + "_in"):
            room = getattr(functions, name + "_workspace")
            room.restype = ctypes.c_size_t
            keep.append(self.torch.empty(room(), dtype=self.torch.uint8, device="cuda"))
            pointers.append(ctypes.c_void_p(keep[-1].data_ptr()))
            function = getattr(functions, name + "_in")
        self.kept = getattr(self, "kept", []) + keep
        stream = self.torch.cuda.current_stream
        return lambda: function(*pointers, ctypes.c_void_p(stream().cuda_stream))

    def error(self):
        status = self.kawara()
        self.torch.cuda.synchronize()
        wanted = self.torch.nn.functional.conv2d(self.image.double(), self.filters.double(),
                                                 stride=self.layer.stride, padding=self.layer.pad)
        wanted = wanted.permute(0, 2, 3, 1).reshape(self.result.shape)
        distance = ((self.result.double() - wanted).norm() / wanted.norm()).item()
        return distance if status == 0 else math.inf


def layers_of(batch, only=""):
    return [layer for layer in (Layer(batch, *sizes) for sizes in LAYERS) if re.search(only, layer.name)]


def programs_of(layers):
    return [pair for layer in layers for pair in layer.programs().items()]


def make_texts(layers, kawara, folder):
    with concurrent.futures.ThreadPoolExecutor() as pool:
        list(pool.map(lambda pair: text_of(*pair, kawara, folder), programs_of(layers)))


def races(layers, folder):
    """(layer, is right, times of both in ms, line) for each, from texts in the folder."""
    names = [name for name, _ in programs_of(layers)]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        libraries = dict(zip(names, pool.map(lambda name: race.compiled({"name": name}, folder), names)))
    for layer in layers:
        mine = {name: libraries[name] for name in layer.programs()}
        problems = [text for text in mine.values() if isinstance(text, str)]
        if problems:
            yield layer, False, (0, 0), f"{layer.name}: nvcc says\n{problems[0][:2000]}"
            continue
        runner = ConvolutionRace(layer, mine)
        distance = runner.error()
        own, peer = runner.times()
        is_right = distance < 1e-2
        yield layer, is_right, (own, peer), (
            f"{layer.name:32s} {'right' if is_right else 'WRONG'} {distance:.1e} {own * 1e3:8.2f} us "
            f"{layer.flops / own * 1e-9:7.1f} TFLOP/s  cuDNN {peer * 1e3:8.2f} us {peer / own:6.2f}x")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kawara", default="build/tools/kawara")
    parser.add_argument("--batches", default="32")
    parser.add_argument("--only", default="", help="layers whose name has this regular expression")
    parser.add_argument("--write", help="only make the texts, in this folder")
    parser.add_argument("--texts", help="texts made before")
    options = parser.parse_args()
    folder = pathlib.Path(options.write or options.texts or tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    wrong = 0
    for batch in map(int, options.batches.split(",")):
        chosen = layers_of(batch, options.only)
        if not options.texts:
            make_texts(chosen, options.kawara, folder)
        if options.write:
            continue
        own_sum = peer_sum = 0
        for layer, is_right, times, line in races(chosen, folder):
            wrong += not is_right
            own_sum, peer_sum = own_sum + layer.count * times[0], peer_sum + layer.count * times[1]
            print(line, flush=True)
        if own_sum:
            print(f"batch {batch}, all of them: {own_sum * 1e3:.1f} us, cuDNN {peer_sum * 1e3:.1f} us "
                  f"({peer_sum / own_sum:.2f}x)", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
