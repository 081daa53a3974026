"""Models of one node or a few as ONNX files, with the elements of their inputs as .npy files. No package is needed."""

import array
import math
import pathlib
import random
import struct
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "gpu")]
from small_nets import field, value_info, varint

OPSET = 23
# Numbers of element types in ONNX, names in .npy files, letters of Python's arrays.
F32, U8, I8, I32, I64, BOOL, F16 = 1, 2, 3, 6, 7, 9, 10
NPY = {F32: "<f4", U8: "|u1", I8: "|i1", I32: "<i4", I64: "<i8", BOOL: "|b1"}
LETTERS = {F32: "f", U8: "B", I8: "b", I32: "i", I64: "q", BOOL: "B"}
# Different elements; after these they begin again, which is no divisor of any size.
DISTINCT = 65521


class Values:
    """A tensor by its type, shape and the range of its elements; or by the elements themselves."""

    def __init__(self, shape, low=-1.0, high=1.0, kind=F32, listed=None):
        self.shape, self.low, self.high, self.kind, self.listed = list(shape), low, high, kind, listed

    def data(self, seed):
        if self.listed is not None:
            return array.array(LETTERS[self.kind], self.listed).tobytes()
        rng, count = random.Random(seed), math.prod(self.shape)
        if self.kind == F32:
            some = [rng.uniform(self.low, self.high) for _ in range(min(count, DISTINCT))]
        else:
            some = [rng.randint(int(self.low), int(self.high)) for _ in range(min(count, DISTINCT))]
        some = array.array(LETTERS[self.kind], some)
        return (some * (count // max(len(some), 1) + 1))[:count].tobytes()


def floats(*shape):
    return Values(shape)


def positive(*shape):
    return Values(shape, 0.25, 2.0)


def weights(*shape):
    """Of about the size that keeps sums over all but the first dimension near 1."""
    bound = max(1, math.prod(shape[1:])) ** -0.5
    return Values(shape, -bound, bound)


def integers(low, high, *shape, kind=I64):
    """From low to high, both included."""
    return Values(shape, low, high, kind)


def listed(*elements, kind=I64):
    return Values([len(elements)], kind=kind, listed=elements)


def scalar(element, kind=F32):
    return Values([], kind=kind, listed=[element])


class Case:
    """Nodes in order. Inputs are given with each run, constants are in the file."""

    def __init__(self, opset=OPSET, may_round=False):
        """`may_round`: results may differ by more than their last places: steps of a scale, of which a sum takes either of two near ones;
        elements between places that are computed in f32."""
        self.opset, self.may_round, self.inputs, self.constants, self.nodes, self.outputs = opset, may_round, {}, {}, [], []

    def input(self, values):
        name = f"x{len(self.inputs)}"
        self.inputs[name] = values
        return name

    def constant(self, values):
        name = f"w{len(self.constants)}"
        self.constants[name] = values
        return name

    def node(self, operator, *operands, results=1, **attributes):
        """The name of its result, or their names. An operand is a name, or None where it is left out."""
        names = [f"t{len(self.nodes)}_{at}" for at in range(results)]
        self.nodes.append((operator, [name or "" for name in operands], names, attributes))
        return names[0] if results == 1 else names

    def gives(self, *names, kind=F32):
        self.outputs += [(name, kind) for name in names]
        return self


def attribute(name, value):
    text = field(1, name)
    if isinstance(value, str):
        return text + field(4, value) + field(20, 3)
    if isinstance(value, float):
        return text + varint(2 << 3 | 5) + struct.pack("<f", value) + field(20, 1)
    if isinstance(value, int):
        return text + field(3, value) + field(20, 2)
    if value and isinstance(value[0], float):
        return text + field(7, struct.pack(f"<{len(value)}f", *value)) + field(20, 6)
    if value and isinstance(value[0], str):
        return text + b"".join(field(9, each) for each in value) + field(20, 8)
    return text + b"".join(field(8, each) for each in value) + field(20, 7)


def constant(name, values, seed):
    return (b"".join(field(1, extent) for extent in values.shape) + field(2, values.kind) + field(8, name)
            + field(9, values.data(seed)))


def of_any_shape(name, kind):
    return field(1, name) + field(2, field(1, field(1, kind)))


def node(at, operator, operands, results, attributes):
    return (b"".join(field(1, name) for name in operands) + b"".join(field(2, name) for name in results)
            + field(3, f"n{at}") + field(4, operator)
            + b"".join(field(5, attribute(*each)) for each in attributes.items()))


def write_npy(path, values, seed):
    text = f"{{'descr': '{NPY[values.kind]}', 'fortran_order': False, 'shape': ({''.join(f'{n}, ' for n in values.shape)}), }}"
    text += " " * (63 - (len(text) + 10) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + values.data(seed))


def write(case, folder, seed):
    """The paths of the model and of its inputs, by name."""
    graph = b"".join(field(1, node(at, *each)) for at, each in enumerate(case.nodes)) + field(2, "case")
    graph += b"".join(field(5, constant(name, values, f"{seed}/{name}")) for name, values in case.constants.items())
    graph += b"".join(field(11, value_info(name, values.kind, values.shape)) for name, values in case.inputs.items())
    graph += b"".join(field(12, of_any_shape(name, kind)) for name, kind in case.outputs)
    model = folder / "case.onnx"
    model.write_bytes(field(1, 10) + field(7, graph) + field(8, field(1, "") + field(2, case.opset)))
    arrays = {}
    for name, values in case.inputs.items():
        arrays[name] = folder / f"{name}.npy"
        write_npy(arrays[name], values, f"{seed}/{name}")
    return model, arrays
