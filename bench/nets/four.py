#!/usr/bin/env python3
"""Four kinds of nets on this processor beside ONNX Runtime, with random weights and sizes from a seed; no package is needed.

    bench/nets/four.py --peers FOLDER [--kawara build/tools/kawara] [--seed 1] [--threads 1] [--only tagger,chain] [--again 2] [--json results.json]

    tagger      tokens, embeddings, two bidirectional LSTMs, a tag for each token
    chain       3x3 convolutions of 64 channels one after the other on 96 x 128 pixels, with sums across every second
    files       bytes of a file, embeddings, 1-D convolutions, the greatest value of each filter, classes
    characters  3x3 convolutions and pools over a line of text, two large fully connected layers, a class for each place

FOLDER has libonnxruntime.so.1 (tools/fetch_onnxruntime.sh). Both sides run in turns in one process (`kawara bench --against ort`), which compares the results,
too. What is behind is measured again, and the median of its runs counts. Each net shall be at least 1.1 times as fast. The exit code is 1 when a result is
wrong or a net could not be raced.
"""

import argparse
import pathlib
import random
import sys
import tempfile

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent.parent / each) for each in ("operators", "sweep")]
import race
import shapes
from model import I64, Case, Values, floats, integers, listed, weights

LEAST = 1.1


class Net(Case):
    """Layers as nodes with their weights."""

    def dense(self, x, depth, width, activation="Relu"):
        sums = self.node("Gemm", x, self.constant(weights_of(depth, width)), self.constant(floats(width)))
        return self.node(activation, sums) if activation else sums

    def convolution(self, x, filters, channels, *window, activation="Relu", **attributes):
        sums = self.node("Conv", x, self.constant(weights(filters, channels, *window)), self.constant(floats(filters)), **attributes)
        return self.node(activation, sums) if activation else sums

    def embedded(self, count, width, low, high):
        table = self.constant(floats(high - low + 1, width))
        return self.node("Gather", table, self.input(integers(low, high, 1, count)), axis=0)

    def reshaped(self, x, *extents):
        return self.node("Reshape", x, self.constant(listed(*extents)))


def weights_of(depth, width):
    return Values([depth, width], -(depth**-0.5), depth**-0.5)


def tagger(rng):
    net, count = Net(), rng.randint(20, 60)
    depth, width, tags = 8 * rng.randint(8, 24), 8 * rng.randint(12, 24), rng.randint(9, 40)
    x = net.node("Transpose", net.embedded(count, depth, 0, 4999), perm=[1, 0, 2])
    for inputs in (depth, 2 * width):
        operands = [net.constant(weights(2, 4 * width, each)) for each in (inputs, width)] + [net.constant(weights(2, 8 * width))]
        both = net.node("LSTM", x, *operands, hidden_size=width, direction="bidirectional")
        x = net.reshaped(net.node("Transpose", both, perm=[0, 2, 1, 3]), count, 1, 2 * width)
    scores = net.node("Add", net.node("MatMul", x, net.constant(weights_of(2 * width, tags))), net.constant(floats(tags)))
    return net.gives(net.node("Softmax", scores, axis=-1))


def chain(rng):
    net = Net()
    x = net.convolution(net.input(floats(1, 3, 96, 128)), 64, 3, 3, 3, pads=[1, 1, 1, 1])
    for _ in range(rng.randint(3, 6)):
        inner = net.convolution(x, 64, 64, 3, 3, pads=[1, 1, 1, 1])
        x = net.node("Add", x, net.convolution(inner, 64, 64, 3, 3, pads=[1, 1, 1, 1], activation=None))
    return net.gives(net.convolution(x, 3, 64, 3, 3, pads=[1, 1, 1, 1], activation=None))


def files(rng):
    net, count, depth, filters = Net(), rng.randint(500, 2000), 8 * rng.randint(4, 12), 8 * rng.randint(16, 40)
    x = net.node("Transpose", net.embedded(count, depth, 0, 256), perm=[0, 2, 1])
    for channels, taps in ((depth, 5), (filters, 3)):
        x = net.convolution(x, filters, channels, taps)
    most = net.reshaped(net.node("GlobalMaxPool", x), 1, filters)
    return net.gives(net.node("Softmax", net.dense(net.dense(most, filters, 256), 256, 113, None), axis=-1))


def characters(rng):
    net, (height, length) = Net(), (32, 4 * rng.randint(20, 40))
    x, channels = net.input(floats(1, 1, height, length)), 1
    for filters in (32, 64, 128):
        x = net.convolution(x, filters, channels, 3, 3, pads=[1, 1, 1, 1])
        x, channels = net.node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2]), filters
    depth, width, places, classes = channels * height // 8 * (length // 8), 512 * rng.randint(2, 4), 8, 37
    x = net.dense(net.dense(net.reshaped(x, 1, depth), depth, width), width, width)
    return net.gives(net.reshaped(net.dense(x, width, places * classes, None), 1, places, classes))


NETS = {"tagger": tagger, "chain": chain, "files": files, "characters": characters}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kawara", default="build/tools/kawara")
    parser.add_argument("--peers", required=True, help="folder with libonnxruntime.so.1")
    parser.add_argument("--only", default=",".join(NETS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", default="1")
    parser.add_argument("--through", default="", help="words in front of each measurement, `taskset -c 1` for one")
    parser.add_argument("--again", type=int, default=2, help="how often what is behind is measured again")
    parser.add_argument("--machine", help="its name in the results, where it is not what lscpu says")
    parser.add_argument("--json", help="write all ratios to this file")
    options = parser.parse_args()
    threads = f"{options.threads} thread{'' if options.threads == '1' else 's'}"
    with tempfile.TemporaryDirectory() as folder:
        nets = race.Race(options, pathlib.Path(folder))
        nets.family = shapes.Family(f"four kinds of nets against ONNX Runtime, {threads}", LEAST, None)
        # Nets come in one size; they take but random numbers from what draws sizes.
        nets.run([(name, "middle", lambda sizes, make=NETS[name]: make(sizes.rng)) for name in options.only.split(",")])
        for _ in range(options.again):
            nets.again()
    nets.finish()
    print("\n".join(nets.family.lines()))
    slow = [what for ratio, what in nets.family.ratios if ratio < LEAST]
    print(f"asked: each >= {LEAST}; {len(slow)} below" + "".join(f"\n  {what}" for what in slow))
    if options.json:
        shapes.write(options.json, options.seed, options.machine or race.machine(), [nets.family], "medians of turns; what is behind: the median of several runs")
    return 1 if nets.family.wrong or nets.refused else 0


if __name__ == "__main__":
    sys.exit(main())
