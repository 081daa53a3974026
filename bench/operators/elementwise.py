"""What maps elements: functions, arithmetic with broadcasts, comparisons, conversions."""

from model import BOOL, F16, F32, I32, I64, I8, U8, Case, Values, floats, integers, positive, scalar

# Operators of one operand, the range of its elements, attributes.
MAPS = [("Abs", -2, 2, {}), ("Acos", -1, 1, {}), ("Acosh", 1, 4, {}), ("Asin", -1, 1, {}), ("Asinh", -4, 4, {}), ("Atan", -4, 4, {}),
        ("Atanh", -0.9, 0.9, {}), ("Ceil", -9, 9, {}), ("Celu", -2, 2, {}), ("Cos", -9, 9, {}), ("Cosh", -3, 3, {}), ("Elu", -2, 2, {}),
        ("Erf", -3, 3, {}), ("Exp", -4, 4, {}), ("Floor", -9, 9, {}), ("Gelu", -3, 3, {}), ("Gelu", -3, 3, {"approximate": "tanh"}),
        ("HardSigmoid", -4, 4, {}), ("HardSwish", -4, 4, {}), ("Identity", -1, 1, {}), ("LeakyRelu", -2, 2, {}), ("Log", 0.1, 9, {}),
        ("Mish", -3, 3, {}), ("Neg", -2, 2, {}), ("Reciprocal", 0.25, 2, {}), ("Relu", -2, 2, {}), ("Round", -9, 9, {}),
        ("Selu", -2, 2, {}), ("Shrink", -2, 2, {}), ("Sigmoid", -4, 4, {}), ("Sign", -2, 2, {}), ("Sin", -9, 9, {}), ("Sinh", -3, 3, {}),
        ("Softplus", -3, 3, {}), ("Softsign", -3, 3, {}), ("Sqrt", 0, 9, {}), ("Tan", -1.5, 1.5, {}),
        ("Tanh", -3, 3, {}), ("ThresholdedRelu", -2, 2, {})]
ARITHMETIC = ["Add", "Sub", "Mul", "Div", "Max", "Min"]
COMPARISONS = ["Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"]
WAYS = ["of one shape", "with a number", "with a row", "with a column", "with channels", "outer"]


def mapped(operator, low, high, attributes):
    def make(s):
        case = Case()
        return case.gives(case.node(operator, case.input(Values(s.shape(), low, high)), **attributes))
    return make


def partners(s, way):
    """Two shapes that are broadcast in this way."""
    if way == "with channels":
        image = s.image()
        return image, [1, image[1], 1, 1]
    if way == "outer":
        rows, columns = s.shape(2)
        return [rows, 1], [1, columns]
    shape = s.shape(2)
    return shape, {"of one shape": shape, "with a number": [], "with a row": shape[-1:], "with a column": [shape[0], 1]}[way]


def paired(operator, way, kind=F32, result=None):
    def make(s):
        case = Case()
        first, second = partners(s, way)
        values = ([positive(*each) for each in (first, second)] if kind == F32 and operator == "Div"
                  else [floats(*each) for each in (first, second)] if kind == F32
                  else [integers(1, 100, *each, kind=kind) for each in (first, second)])
        names = [case.input(each) for each in values]
        return case.gives(case.node(operator, *names), kind=result or kind)
    return make


def power(exponent):
    def make(s):
        case, shape = Case(), s.shape()
        raised = case.input(positive(*shape) if exponent is None or exponent != int(exponent) else Values(shape, -2, 2))
        return case.gives(case.node("Pow", raised, case.input(floats(*shape)) if exponent is None else case.constant(scalar(exponent))))
    return make


def several(operator):
    def make(s):
        case, shape = Case(), s.shape()
        return case.gives(case.node(operator, *[case.input(floats(*shape)) for _ in range(3)]))
    return make


def logical(operator):
    def make(s):
        case, shape = Case(), s.shape()
        count = 1 if operator == "Not" else 2
        return case.gives(case.node(operator, *[case.input(integers(0, 1, *shape, kind=BOOL)) for _ in range(count)]), kind=BOOL)
    return make


def bits(operator, kind):
    def make(s):
        case, shape = Case(), s.shape()
        count = 1 if operator == "BitwiseNot" else 2
        high = 7 if operator == "BitShift" else 100
        attributes = {"direction": "LEFT"} if operator == "BitShift" else {}
        names = [case.input(integers(0, high, *shape, kind=kind)) for _ in range(count)]
        return case.gives(case.node(operator, *names, **attributes), kind=kind)
    return make


def tested(operator):
    def make(s):
        case = Case()
        return case.gives(case.node(operator, case.input(floats(*s.shape()))), kind=BOOL)
    return make


def cast(from_kind, to_kind):
    def make(s):
        case, shape = Case(), s.shape()
        values = Values(shape, 0, 100) if from_kind == F32 else integers(0, 100, *shape, kind=from_kind)
        name = case.input(values)
        if from_kind == F16:
            name = case.node("Cast", name, to=F16)
        return case.gives(case.node("Cast", name, to=to_kind), kind=to_kind)
    return make


def half_to_float(s):
    case = Case()
    return case.gives(case.node("Cast", case.node("Cast", case.input(floats(*s.shape())), to=F16), to=F32))


def clip(s):
    case = Case()
    return case.gives(case.node("Clip", case.input(floats(*s.shape())), case.constant(scalar(-0.5)), case.constant(scalar(0.5))))


def prelu(s):
    case, image = Case(), s.image()
    return case.gives(case.node("PRelu", case.input(floats(*image)), case.constant(floats(image[1], 1, 1))))


def where(way):
    def make(s):
        case = Case()
        first, second = partners(s, way)
        names = case.input(integers(0, 1, *first, kind=BOOL)), case.input(floats(*first)), case.input(floats(*second))
        return case.gives(case.node("Where", *names))
    return make


def remainder(kind, fmod):
    def make(s):
        case, shape = Case(), s.shape()
        names = ([case.input(Values(shape, -9, 9)), case.input(positive(*shape))] if kind == F32
                 else [case.input(integers(-1000, 1000, *shape, kind=kind)), case.input(integers(1, 50, *shape, kind=kind))])
        return case.gives(case.node("Mod", *names, fmod=fmod), kind=kind)
    return make


KINDS = {F32: "f32", I64: "i64", I32: "i32", I8: "i8", U8: "u8", BOOL: "bool", F16: "f16"}
CASES = [(" ".join([operator, *map(str, attributes.values())]), mapped(operator, low, high, attributes))
         for operator, low, high, attributes in MAPS]
CASES += [(f"{operator} {way}", paired(operator, way)) for operator in ("Add", "Mul", "Div") for way in WAYS]
CASES += [(f"{operator} {way}", paired(operator, way)) for operator in ("Sub", "Max", "Min") for way in WAYS[:3]]
CASES += [(f"{operator} of i64", paired(operator, "of one shape", I64)) for operator in ARITHMETIC]
CASES += [(f"{operator} of one shape", paired(operator, "of one shape", F32, BOOL)) for operator in COMPARISONS]
CASES += [(f"{operator} of i64 with a number", paired(operator, "with a number", I64, BOOL)) for operator in ("Equal", "Less")]
CASES += [("Pow 2", power(2.0)), ("Pow 3", power(3.0)), ("Pow 0.5", power(0.5)), ("Pow -1", power(-1.0)), ("Pow 7", power(7.0)),
          ("Pow 1.7", power(1.7)), ("Pow of tensors", power(None))]
CASES += [(f"{operator} of three", several(operator)) for operator in ("Sum", "Mean", "Max")]
CASES += [(operator, logical(operator)) for operator in ("And", "Or", "Xor", "Not")]
CASES += [("BitwiseAnd i32", bits("BitwiseAnd", I32)), ("BitwiseNot i32", bits("BitwiseNot", I32)), ("BitShift u8", bits("BitShift", U8))]
CASES += [(operator, tested(operator)) for operator in ("IsInf", "IsNaN")]
CASES += [(f"Cast {KINDS[a]} to {KINDS[b]}", cast(a, b))
          for a, b in ((F32, I64), (F32, I32), (F32, U8), (F32, BOOL), (I64, F32), (I32, F32), (U8, F32), (I64, I32), (BOOL, F32), (F32, F16))]
CASES += [("Cast to f16 and back", half_to_float), ("Clip", clip), ("PRelu", prelu), ("Where of one shape", where("of one shape")),
          ("Where with a number", where("with a number")), ("Where with a row", where("with a row"))]
CASES += [("Mod of i64", remainder(I64, 0)), ("Mod of f32", remainder(F32, 1))]
