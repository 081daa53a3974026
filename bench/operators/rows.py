"""Reductions over any axes, norms, searches along an axis, prefix sums."""

from model import I64, Case, floats, listed, positive, scalar, Values

REDUCTIONS = ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSum",
              "ReduceLogSumExp", "ReduceSumSquare"]
PLACES = {"the last axis": [-1], "the first axis": [0], "the middle axis": [1], "the last two axes": [-1, -2], "all axes": None}


def reduced(operator, place):
    def make(s):
        axes = PLACES[place]
        shape = s.shape(3 if place in ("the middle axis", "the last two axes") else 2)
        if place == "the first axis" or place == "the last axis":
            shape = s.row(2)
        case = Case()
        values = positive(*shape) if operator == "ReduceLogSum" else Values(shape, 0.9, 1.1) if operator == "ReduceProd" else floats(*shape)
        operands = [case.input(values)] + ([case.constant(listed(*axes))] if axes else [])
        return case.gives(case.node(operator, *operands, keepdims=0))
    return make


def along(operator, axis, rank=2, kind=None, results=1, **attributes):
    def make(s):
        case = Case()
        name = case.node(operator, case.input(floats(*s.row(rank))), axis=axis, **attributes)
        return case.gives(name, **({"kind": kind} if kind else {}))
    return make


def layer_norm(operator, has_bias):
    def make(s):
        case, shape = Case(), s.row()
        operands = [case.input(floats(*shape)), case.constant(floats(shape[-1]))]
        if has_bias:
            operands.append(case.constant(floats(shape[-1])))
        return case.gives(case.node(operator, *operands, axis=-1))
    return make


def batch_norm(s):
    case, image = Case(), s.image()
    operands = [case.constant(floats(image[1])) for _ in range(3)] + [case.constant(positive(image[1]))]
    return case.gives(case.node("BatchNormalization", case.input(floats(*image)), *operands))


def instance_norm(s):
    case, image = Case(), s.image()
    return case.gives(case.node("InstanceNormalization", case.input(floats(*image)), *[case.constant(floats(image[1])) for _ in range(2)]))


def group_norm(s):
    case, image = Case(), s.image()
    image[1] = max(4, image[1] // 4 * 4)
    operands = [case.constant(floats(image[1])) for _ in range(2)]
    return case.gives(case.node("GroupNormalization", case.input(floats(*image)), *operands, num_groups=4))


def of_image(operator, **attributes):
    def make(s):
        case = Case()
        return case.gives(case.node(operator, case.input(floats(*s.image())), **attributes))
    return make


def cumulative(axis, **attributes):
    def make(s):
        case = Case()
        return case.gives(case.node("CumSum", case.input(floats(*s.row())), case.constant(scalar(axis, I64)), **attributes))
    return make


def top(share, axis, largest=1):
    def make(s):
        case, shape = Case(), s.row()
        count = max(1, int(shape[axis] * share)) if share < 1 else min(share, shape[axis])
        best, places = case.node("TopK", case.input(floats(*shape)), case.constant(listed(count)), results=2, axis=axis, largest=largest)
        return case.gives(best).gives(places, kind=I64)
    return make


def loss(operator):
    def make(s):
        case, shape = Case(), s.row()
        labels = case.input(Values(shape[:1], 0, shape[1] - 1, I64))
        return case.gives(case.node(operator, case.input(floats(*shape)), labels))
    return make


CASES = [(f"{operator} over {place}", reduced(operator, place)) for operator in REDUCTIONS for place in ("the last axis", "the first axis")]
CASES += [(f"{operator} over {place}", reduced(operator, place)) for operator in ("ReduceSum", "ReduceMean", "ReduceMax")
          for place in ("the middle axis", "the last two axes", "all axes")]
CASES += [(f"{operator} over {name}", along(operator, axis)) for operator in ("Softmax", "LogSoftmax", "Hardmax")
          for name, axis in (("the last axis", -1), ("the first axis", 0))]
CASES += [("Softmax over the middle axis", along("Softmax", 1, 3))]
CASES += [(f"{operator} over {name}", along(operator, axis, kind=I64)) for operator in ("ArgMax", "ArgMin")
          for name, axis in (("the last axis", -1), ("the first axis", 0))]
CASES += [(f"LpNormalization p={p} over {name}", along("LpNormalization", axis, p=p)) for p in (1, 2)
          for name, axis in (("the last axis", -1), ("the first axis", 0))]
CASES += [("LayerNormalization", layer_norm("LayerNormalization", True)), ("LayerNormalization without a bias", layer_norm("LayerNormalization", False)),
          ("RMSNormalization", layer_norm("RMSNormalization", False)), ("BatchNormalization", batch_norm),
          ("InstanceNormalization", instance_norm), ("GroupNormalization", group_norm),
          ("MeanVarianceNormalization", of_image("MeanVarianceNormalization")), ("LRN", of_image("LRN", size=5))]
CASES += [("CumSum over the last axis", cumulative(1)), ("CumSum over the first axis", cumulative(0)),
          ("CumSum reverse", cumulative(1, reverse=1)), ("CumSum exclusive", cumulative(1, exclusive=1))]
CASES += [("TopK of 1", top(1, 1)), ("TopK of 10", top(10, 1)), ("TopK of a tenth", top(0.1, 1)), ("TopK of half", top(0.5, 1)),
          ("TopK of the smallest 5", top(5, 1, 0)), ("TopK of 5 over the first axis", top(5, 0))]
CASES += [(operator, loss(operator)) for operator in ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")]
