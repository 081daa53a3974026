"""Products: matrices, sums by Einstein's convention, recurrent layers, attention, numbers of 8 bits; transforms."""

import pathlib
import sys

from model import F32, I32, I64, I8, U8, Case, Values, floats, integers, listed, positive, scalar, weights

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "sweep")]
import shapes


def matrices(s, batch=1):
    """M, N, K whose product is about the class's operations."""
    while True:
        m, n, k = (s.between(8, 2048) for _ in range(3))
        if s.operations / 2 <= 2 * batch * m * n * k <= s.operations * 2:
            return m, n, k


def product(batch=1, is_constant=False):
    def make(s):
        case, (m, n, k) = Case(), matrices(s, batch)
        front = [batch] if batch > 1 else []
        second = (case.constant if is_constant else case.input)(floats(*front, k, n))
        return case.gives(case.node("MatMul", case.input(floats(*front, m, k)), second))
    return make


def by_vector(s):
    case, (n, k) = Case(), s.row()
    return case.gives(case.node("MatMul", case.input(floats(1, n)), case.constant(floats(n, k))))


def gemm(first, second):
    def make(s):
        case, (m, n, k) = Case(), matrices(s)
        a = floats(*([k, m] if first else [m, k]))
        b = floats(*([n, k] if second else [k, n]))
        return case.gives(case.node("Gemm", case.input(a), case.constant(b), case.constant(floats(n)), transA=first, transB=second))
    return make


def einsum(equation):
    def make(s):
        case, (m, n, k) = Case(), matrices(s, 4)
        extents = {"b": 4, "i": m, "j": n, "k": k, "h": 4}
        first, second = (floats(*[extents[letter] for letter in part]) for part in equation.split("->")[0].split(","))
        return case.gives(case.node("Einsum", case.input(first), case.input(second), equation=equation))
    return make


def recurrent(operator, gates, directions=1, batch=1):
    def make(s):
        case = Case()
        width = {1e6: 32, 3e7: 128, 6e8: 256}[s.operations] + 8 * s.rng.randint(0, 8)
        depth, count = width + 8 * s.rng.randint(0, 8), max(4, min(100, round(s.operations / (4 * gates * directions * batch * width**2))))
        operands = [case.input(floats(count, batch, depth)), case.constant(weights(directions, gates * width, depth)),
                    case.constant(weights(directions, gates * width, width)), case.constant(weights(directions, 2 * gates * width))]
        attributes = {"direction": "bidirectional"} if directions == 2 else {}
        if operator == "GRU":
            attributes["linear_before_reset"] = 1
        return case.gives(case.node(operator, *operands, hidden_size=width, **attributes))
    return make


def attention(is_causal):
    def make(s):
        case = Case()
        heads, width = s.choice([2, 4, 8]), s.choice([32, 64])
        steps = max(4, round((s.operations / (4 * heads * width)) ** 0.5))
        operands = [case.input(floats(1, heads, steps, width)) for _ in range(3)]
        return case.gives(case.node("Attention", *operands, is_causal=is_causal))
    return make


def rotary(s):
    case, heads, width = Case(), 4, 64
    steps = max(2, s.elements // (heads * width))
    tables = [case.constant(floats(1, steps, width // 2)) for _ in range(2)]
    return case.gives(case.node("RotaryEmbedding", case.input(floats(1, heads, steps, width)), *tables))


def of_bytes(is_dynamic):
    """Products of bytes whose second factor is constant; the first may be quantised first."""
    def make(s):
        case, (m, n, k) = Case(), matrices(s)
        second, second_zero = case.constant(integers(-127, 127, k, n, kind=I8)), case.constant(scalar(0, I8))
        if not is_dynamic:
            operands = case.input(integers(0, 255, m, k, kind=U8)), second, case.constant(scalar(117, U8)), second_zero
            return case.gives(case.node("MatMulInteger", *operands), kind=I32)
        first, scale, zero = case.node("DynamicQuantizeLinear", case.input(floats(m, k)), results=3)
        sums = case.node("Cast", case.node("MatMulInteger", first, second, zero, second_zero), to=F32)
        return case.gives(case.node("Mul", sums, case.node("Mul", scale, case.constant(scalar(0.01)))))
    return make


def quantised_product(s):
    case, (m, n, k) = Case(may_round=True), matrices(s)
    operands = [case.input(integers(0, 255, m, k, kind=U8)), case.constant(scalar(0.02)), case.constant(scalar(117, U8)),
                case.constant(integers(-127, 127, k, n, kind=I8)), case.constant(scalar(0.003)), case.constant(scalar(0, I8)),
                case.constant(scalar(0.3 * k**0.5)), case.constant(scalar(113, U8))]
    return case.gives(case.node("QLinearMatMul", *operands), kind=U8)


def around_product(s):
    """A product between QuantizeLinear and DequantizeLinear, as quantised nets are exported."""
    case, (m, n, k) = Case(may_round=True), matrices(s)
    scale, zero = case.constant(scalar(0.0078)), case.constant(scalar(128, U8))
    first = case.node("DequantizeLinear", case.node("QuantizeLinear", case.input(floats(m, k)), scale, zero), scale, zero)
    second = case.node("DequantizeLinear", case.constant(integers(-127, 127, k, n, kind=I8)), case.constant(scalar(0.0079)),
                       case.constant(scalar(0, I8)))
    last = case.constant(scalar(0.02 * k**0.5))
    return case.gives(case.node("DequantizeLinear", case.node("QuantizeLinear", case.node("MatMul", first, second), last, zero), last, zero))


def to_bytes(is_per_channel, kind=U8):
    def make(s):
        case, image = Case(), s.image()
        extents = [image[1]] if is_per_channel else []
        operands = [case.input(Values(image, -3, 3)), case.constant(Values(extents, 0.02, 0.04) if extents else scalar(0.02)),
                    case.constant(integers(-9, 9, *extents, kind=kind) if kind == I8 else integers(100, 140, *extents, kind=kind))]
        return case.gives(case.node("QuantizeLinear", *operands, axis=1), kind=kind)
    return make


def from_bytes(is_per_channel, kind=U8):
    def make(s):
        case, image = Case(), s.image()
        extents = [image[1]] if is_per_channel else []
        operands = [case.input(integers(0, 100, *image, kind=kind)), case.constant(Values(extents, 0.02, 0.04) if extents else scalar(0.02)),
                    case.constant(integers(0, 9, *extents, kind=kind))]
        return case.gives(case.node("DequantizeLinear", *operands, axis=1))
    return make


def dynamic(s):
    case = Case()
    values, scale, zero = case.node("DynamicQuantizeLinear", case.input(floats(*s.shape(2))), results=3)
    return case.gives(values, kind=U8).gives(scale).gives(zero, kind=U8)


def determinants(s):
    case, side = Case(), s.between(2, 16)
    return case.gives(case.node("Det", case.input(floats(max(1, s.elements // side**2), side, side))))


def fourier(s):
    case = Case()
    length = 2 ** s.rng.randint(6, 10)
    return case.gives(case.node("DFT", case.input(floats(max(1, s.elements // length), length, 1)), None, case.constant(scalar(1, I64))))


CASES = [("MatMul", product()), ("MatMul with a constant", product(is_constant=True)), ("MatMul of 12", product(12)),
         ("MatMul of a row", by_vector), ("Gemm", gemm(0, 0)), ("Gemm, second transposed", gemm(0, 1)), ("Gemm, first transposed", gemm(1, 0))]
CASES += [(f"Einsum {equation}", einsum(equation)) for equation in ("bik,bkj->bij", "bik,bjk->bij", "ik,kj->ji", "bhik,bhjk->bhij", "ij,ij->i")]
CASES += [("LSTM", recurrent("LSTM", 4)), ("LSTM of 8 at once", recurrent("LSTM", 4, batch=8)), ("LSTM bidirectional", recurrent("LSTM", 4, 2)),
          ("GRU", recurrent("GRU", 3)), ("GRU of 8 at once", recurrent("GRU", 3, batch=8)), ("RNN", recurrent("RNN", 1))]
CASES += [("Attention", attention(0)), ("Attention, causal", attention(1)), ("RotaryEmbedding", rotary)]
CASES += [("MatMulInteger", of_bytes(False)), ("DynamicQuantizeLinear, MatMulInteger", of_bytes(True)), ("QLinearMatMul", quantised_product),
          ("QDQ around MatMul", around_product), ("QuantizeLinear", to_bytes(False)), ("QuantizeLinear of channels", to_bytes(True)),
          ("QuantizeLinear to i8", to_bytes(False, I8)), ("DequantizeLinear", from_bytes(False)), ("DequantizeLinear of channels", from_bytes(True)),
          ("DequantizeLinear from i8", from_bytes(False, I8)), ("DynamicQuantizeLinear", dynamic)]
CASES += [("Det", determinants), ("DFT", fourier)]
