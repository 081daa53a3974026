"""Nets of a few thousand weights as ONNX files, written byte by byte: no package is needed.

A net is a list of nodes; weights are random numbers. `write_all(folder)` writes each and returns {name: path}; as a program:

    small_nets.py FOLDER
"""

import pathlib
import random
import struct
import sys

FLOAT, UINT16, INT64 = 1, 4, 7
FORMATS = {FLOAT: "f", UINT16: "H", INT64: "q"}


def varint(value):
    out = b""
    value &= (1 << 64) - 1
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    """One field of a message: a number, or bytes with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def attribute(name, value):
    text = field(1, name)
    if isinstance(value, float):
        return text + varint(2 << 3 | 5) + struct.pack("<f", value) + field(20, 1)
    if isinstance(value, int):
        return text + field(3, value) + field(20, 2)
    return text + b"".join(field(8, v) for v in value) + field(20, 7)


def tensor(name, kind, shape, values):
    raw = struct.pack(f"<{len(values)}{FORMATS[kind]}", *values)
    return b"".join(field(1, d) for d in shape) + field(2, kind) + field(8, name) + field(9, raw)


def value_info(name, kind, shape):
    dims = b"".join(field(1, field(1, d)) for d in shape)
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, dims)))


class Net:
    def __init__(self, name, shape, kind=FLOAT, seed=1):
        self.name, self.random = name, random.Random(seed)
        self.nodes, self.weights, self.at, self.count = b"", b"", "input", 0
        self.inputs = field(11, value_info("input", kind, shape))

    def weight(self, *shape):
        count = 1
        for extent in shape:
            count *= extent
        depth = count // shape[-1] if len(shape) == 2 else count // shape[0]
        scale = max(depth, 1) ** -0.5
        return self.constant(FLOAT, shape, [self.random.uniform(-scale, scale) for _ in range(count)])

    def constant(self, kind, shape, values):
        self.count += 1
        name = f"w{self.count}"
        self.weights += field(5, tensor(name, kind, shape, values))
        return name

    def add(self, operator, *inputs, **attributes):
        """A node whose first input is what came last, unless others are given."""
        self.count += 1
        out = f"t{self.count}"
        node = b"".join(field(1, name) for name in (inputs or (self.at,)))
        node += field(2, out) + field(3, out) + field(4, operator)
        node += b"".join(field(5, attribute(name, value)) for name, value in attributes.items())
        self.nodes += field(1, node)
        self.at = out
        return out

    def conv(self, channels, filters, window, stride=1, source=None):
        pads = [window // 2] * 4
        return self.add("Conv", source or self.at, self.weight(filters, channels, window, window),
                        self.weight(filters), kernel_shape=[window] * 2, strides=[stride] * 2, pads=pads)

    def write(self, folder, shape, kind=FLOAT, opset=17):
        graph = self.nodes + field(2, self.name) + self.weights + self.inputs
        graph += field(12, value_info(self.at, kind, shape))
        path = folder / f"{self.name}.onnx"
        path.write_bytes(field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, opset)))
        return path


def digits(folder):
    """What MNIST's net has: two convolutions, two pools, a product."""
    net = Net("digits", [1, 1, 28, 28])
    net.conv(1, 8, 5)
    net.add("Relu")
    net.add("MaxPool", kernel_shape=[2, 2], strides=[2, 2])
    net.conv(8, 16, 5)
    net.add("Relu")
    net.add("MaxPool", kernel_shape=[3, 3], strides=[3, 3])
    net.add("Flatten")
    net.add("Gemm", net.at, net.weight(256, 10), net.weight(10))
    return net.write(folder, [1, 10])


def residual(folder):
    """A net's beginning, a block with two branches, and its end; odd sizes."""
    net = Net("residual", [2, 3, 61, 61])
    net.conv(3, 64, 7, 2)
    net.add("Relu")
    begin = net.add("MaxPool", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    branch = net.conv(64, 128, 1, source=begin)
    net.conv(64, 64, 1, source=begin)
    net.add("Relu")
    net.conv(64, 64, 3)
    net.add("Relu")
    net.add("Add", net.conv(64, 128, 1), branch)
    net.add("Relu")
    net.conv(128, 72, 3, 2)
    net.add("Relu")
    net.add("GlobalAveragePool")
    net.add("Flatten")
    net.add("Gemm", net.at, net.weight(72, 10), net.weight(10))
    return net.write(folder, [2, 10])


def words(folder):
    """Rows of a table by number, attention of one head, and a wide layer."""
    tokens, width = 37, 64
    net = Net("words", [1, tokens], INT64)
    table = net.weight(53, width)
    x = net.add("Gather", table, "input", axis=0)
    net.add("LayerNormalization", x, net.weight(width), net.weight(width), axis=-1, epsilon=1e-5)
    normal = net.at
    q, k, v = (net.add("MatMul", normal, net.weight(width, width)) for _ in range(3))
    scores = net.add("MatMul", q, net.add("Transpose", k, perm=[0, 2, 1]))
    net.add("Mul", scores, net.constant(FLOAT, [], [width**-0.5]))
    net.add("Softmax", axis=-1)
    x = net.add("Add", x, net.add("MatMul", net.at, v))
    net.add("MatMul", x, net.weight(width, 4 * width))
    net.add("Tanh")
    net.add("Add", x, net.add("MatMul", net.at, net.weight(4 * width, width)))
    return net.write(folder, [1, tokens, width])


def pixels(folder, images):
    """What squeezed images are weighed by: rows that no step of a reduction divides."""
    net = Net(f"pixels_{images}", [images, 26, 1, 1])
    net.conv(26, 104, 1)
    net.add("HardSigmoid", alpha=0.2, beta=0.5)
    return net.write(folder, [images, 104, 1, 1])


def classes(folder):
    """The last convolution of a segmentation net: few filters, an odd number."""
    net = Net("classes", [1, 40, 28, 28])
    net.conv(40, 21, 1)
    return net.write(folder, [1, 21, 28, 28])


def levels(folder):
    """Numbers to 16 bits without a sign, up to both ends."""
    net = Net("levels", [3, 100])
    scale, zero = net.constant(FLOAT, [], [2.0**-16]), net.constant(UINT16, [], [7])
    net.add("QuantizeLinear", "input", scale, zero)
    return net.write(folder, [3, 100], UINT16, 21)


def write_all(folder):
    nets = {"digits": digits(folder), "residual": residual(folder), "words": words(folder),
            "classes": classes(folder), "levels": levels(folder)}
    return nets | {f"pixels_{images}": pixels(folder, images) for images in (1, 2, 3, 4)}


if __name__ == "__main__":
    target = pathlib.Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    for name, path in write_all(target).items():
        print(path)
