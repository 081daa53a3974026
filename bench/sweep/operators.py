"""Models of one node with random sizes, as ONNX files: convolutions, and rows that are reduced, mapped, broadcast or transposed."""

import array
import math
import pathlib
import random
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "gpu")]
import shapes
from small_nets import FLOAT, INT64, attribute, field, tensor, value_info

OPSET = 20
# Arithmetic and elements that a case may have, so that a run ends.
MOST_FLOP, LEAST_FLOP = 4e9, 1e5
MOST_ELEMENTS, LEAST_ELEMENTS = 2**23, 2**12


def case(name, operator, inputs, output, weights=(), axes=None, **attributes):
    """`weights`: shapes of constants after the inputs; `axes`: a constant of integers behind them."""
    return {"name": name, "operator": operator, "inputs": inputs, "output": output, "weights": list(weights), "axes": axes,
            "attributes": attributes}


def convolution(rng):
    window = rng.choice([1, 3, 5, 7])
    kind = rng.choice(["dense", "dense", "dense", "depthwise", "grouped"])
    channels, filters = shapes.size(rng, 3, 1024), shapes.size(rng, 3, 1024)
    groups = 1
    if kind == "depthwise":
        groups, filters = channels, channels
    elif kind == "grouped":
        groups = shapes.log_uniform(rng, 2, 32)
        channels, filters = (max(1, round(c / groups)) * groups for c in (channels, filters))
    high = shapes.size(rng, 7, 256)
    wide = high if rng.random() < 0.5 else shapes.size(rng, 7, 256)
    stride = rng.choice([1, 1, 1, 2, 2, 3])
    dilation = rng.choice([1, 1, 1, 2, 3]) if window > 1 else 1
    pad = rng.choice([0, (window - 1) * dilation // 2])
    out = [(size + 2 * pad - (window - 1) * dilation - 1) // stride + 1 for size in (high, wide)]
    has_bias = rng.random() < 0.5
    flop = 2 * filters * channels // groups * window**2 * out[0] * out[1]
    elements = [channels * high * wide, filters * out[0] * out[1], filters * channels // groups * window**2]
    if min(out) < 1 or max(channels, filters) > 1024 or not LEAST_FLOP <= flop <= MOST_FLOP or max(elements) > MOST_ELEMENTS:
        return None
    name = (f"{kind} {window}x{window} {channels} -> {filters}" + (f" in {groups} groups" if kind == "grouped" else "")
            + f", {high}x{wide}" + (f", stride {stride}" if stride > 1 else "") + (f", dilation {dilation}" if dilation > 1 else "")
            + (f", pad {pad}" if pad else "") + (", bias" if has_bias else ""))
    return case(name, "Conv", [[1, channels, high, wide]], [1, filters, *out],
                [[filters, channels // groups, window, window]] + ([[filters]] if has_bias else []),
                kernel_shape=[window] * 2, strides=[stride] * 2, dilations=[dilation] * 2, pads=[pad] * 4, group=groups)


def shape(rng, least_rank=2):
    """Two to four dimensions, log-uniform; None where they have too many or too few elements together."""
    sizes = [shapes.size(rng, 1, 4096) for _ in range(rng.randint(least_rank, 4))]
    return sizes if LEAST_ELEMENTS <= math.prod(sizes) <= MOST_ELEMENTS else None


def text(sizes):
    return "x".join(map(str, sizes))


def reduction(rng, operator):
    sizes = shape(rng)
    if not sizes:
        return None
    axes = sorted(rng.sample(range(len(sizes)), rng.randint(1, len(sizes) - 1)))
    keeps = rng.choice([0, 1])
    out = [1 if at in axes else size for at, size in enumerate(sizes) if keeps or at not in axes]
    return case(f"{operator} {text(sizes)} over {','.join(map(str, axes))}", operator, [sizes], out, axes=axes, keepdims=keeps)


def along_axis(rng, operator):
    sizes = shape(rng)
    if not sizes:
        return None
    axis = rng.choice([len(sizes) - 1, rng.randrange(len(sizes))])
    return case(f"{operator} {text(sizes)} over {axis}", operator, [sizes], sizes, axis=axis)


def layer_norm(rng):
    sizes = shape(rng)
    return sizes and case(f"LayerNormalization {text(sizes)}", "LayerNormalization", [sizes], sizes, [sizes[-1:]] * 2, axis=-1,
                          epsilon=1e-5)


def broadcast(rng, operator):
    sizes = shape(rng)
    if not sizes:
        return None
    other = [rng.choice([1, size]) for size in sizes][rng.choice([0, 0, 1]):]
    return case(f"{operator} {text(sizes)} and {text(other)}", operator, [sizes, other], sizes)


def map_each(rng, operator):
    sizes = shape(rng)
    return sizes and case(f"{operator} {text(sizes)}", operator, [sizes], sizes)


def transpose(rng):
    sizes = shape(rng)
    if not sizes:
        return None
    order = list(range(len(sizes)))
    while order == sorted(order):
        rng.shuffle(order)
    return case(f"Transpose {text(sizes)} to {','.join(map(str, order))}", "Transpose", [sizes], [sizes[at] for at in order], perm=order)


def row(rng):
    make, *operator = rng.choice([
        (reduction, "ReduceSum"), (reduction, "ReduceMax"), (reduction, "ReduceMean"), (along_axis, "Softmax"), (along_axis, "LogSoftmax"),
        (layer_norm,), (broadcast, "Add"), (broadcast, "Mul"), (map_each, "Gelu"), (map_each, "Sigmoid"), (map_each, "Tanh"), (transpose,)])
    return make(rng, *operator)


def numbers(shape, seed):
    """Raw floats, from -1 to 1 and scaled for sums over all but the first dimension."""
    rng, count = random.Random(seed), math.prod(shape)
    scale = max(1, count // shape[0]) ** -0.5 if len(shape) > 1 else 1
    some = array.array("f", [rng.uniform(-scale, scale) for _ in range(min(count, 65521))])
    return (some * (count // len(some) + 1))[:count].tobytes()


def write(one, path):
    """The case as a model with inputs x0, x1 and an output y."""
    inputs = [f"x{at}" for at in range(len(one["inputs"]))]
    weights = [f"w{at}" for at in range(len(one["weights"]))]
    constants = b"".join(field(5, b"".join(field(1, size) for size in sizes) + field(2, FLOAT) + field(8, name)
                                  + field(9, numbers(sizes, at)))
                         for at, (name, sizes) in enumerate(zip(weights, one["weights"])))
    names = inputs + weights
    if one["axes"] is not None:
        names.append("axes")
        constants += field(5, tensor("axes", INT64, [len(one["axes"])], one["axes"]))
    node = b"".join(field(1, name) for name in names) + field(2, "y") + field(3, "node") + field(4, one["operator"])
    node += b"".join(field(5, attribute(name, value)) for name, value in one["attributes"].items())
    graph = field(1, node) + field(2, "case") + constants
    graph += b"".join(field(11, value_info(name, FLOAT, sizes)) for name, sizes in zip(inputs, one["inputs"]))
    graph += field(12, value_info("y", FLOAT, one["output"]))
    path.write_bytes(field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, OPSET)))
    return path
