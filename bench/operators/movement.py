"""What moves elements: transpositions, cuts, joins, borders, and places that are read from data."""

from model import BOOL, I64, Case, floats, integers, listed, scalar, Values


def transposed(order):
    def make(s):
        case = Case()
        return case.gives(case.node("Transpose", case.input(floats(*s.shape(len(order)))), perm=order))
    return make


def joined(axis, rank, count):
    def make(s):
        case, shape = Case(), s.shape(rank, 4)
        names = []
        for _ in range(count):
            shape[axis] = max(1, shape[axis] // count) if len(names) == 0 else shape[axis]
            names.append(case.input(floats(*shape)))
        return case.gives(case.node("Concat", *names, axis=axis))
    return make


def parted(axis, rank, count):
    def make(s):
        case, shape = Case(), s.shape(rank, 4)
        shape[axis] = max(1, shape[axis] // count) * count
        return case.gives(*case.node("Split", case.input(floats(*shape)), results=count, axis=axis, num_outputs=count))
    return make


def cut(axis, step):
    def make(s):
        case, shape = Case(), s.shape(3, 4)
        extent = shape[axis]
        start, end = (extent - 1, -extent - 1) if step < 0 else (0, extent) if step > 1 else (extent // 4, max(extent // 4 + 1, extent * 3 // 4))
        operands = [case.constant(listed(each)) for each in (start, end, axis, step)]
        return case.gives(case.node("Slice", case.input(floats(*shape)), *operands))
    return make


def padded(mode, only_width=False):
    def make(s):
        case, image = Case(), s.image()
        high, wide = 0 if only_width else s.choice([1, 2, 3]), s.choice([1, 2, 3, 4])
        operands = [case.input(floats(*image)), case.constant(listed(0, 0, high, wide, 0, 0, high, wide))]
        if mode == "constant":
            operands.append(case.constant(scalar(0.5)))
        return case.gives(case.node("Pad", *operands, mode=mode))
    return make


def stretched(axis):
    def make(s):
        case, shape = Case(), s.shape(2)
        small = [1 if at == axis else extent for at, extent in enumerate(shape)]
        return case.gives(case.node("Expand", case.input(floats(*small)), case.constant(listed(*shape))))
    return make


def tiled(axis):
    def make(s):
        case, shape = Case(), s.shape(2)
        times = s.choice([2, 3, 4])
        shape[axis] = max(1, shape[axis] // times)
        repeats = [times if at == axis else 1 for at in range(2)]
        return case.gives(case.node("Tile", case.input(floats(*shape)), case.constant(listed(*repeats))))
    return make


def blocks(operator, **attributes):
    def make(s):
        case, image = Case(), s.image()
        size = s.choice([2, 3])
        if operator == "DepthToSpace":
            image[1] = max(1, image[1] // size**2) * size**2
        else:
            image[2:] = [extent // size * size for extent in image[2:]]
        return case.gives(case.node(operator, case.input(floats(*image)), blocksize=size, **attributes))
    return make


def triangle(upper):
    def make(s):
        case = Case()
        return case.gives(case.node("Trilu", case.input(floats(*s.row())), upper=upper))
    return make


def gather_rows(is_constant=False):
    """Rows of a table, as embeddings are looked up."""
    def make(s):
        case = Case()
        width = s.between(16, 1024)
        count = max(1, s.elements // width)
        table = s.between(max(2, count // 2), count * 2)
        places = integers(-table, table - 1, count)
        return case.gives(case.node("Gather", case.input(floats(table, width)), (case.constant if is_constant else case.input)(places)))
    return make


def gather_columns(s):
    case, (rows, columns) = Case(), s.row()
    count = max(1, columns // 2)
    return case.gives(case.node("Gather", case.input(floats(rows, columns)), case.input(integers(0, columns - 1, count)), axis=1))


def gather_one(s):
    """One of a few, as queries, keys and values are taken apart."""
    case, (rows, columns) = Case(), s.shape(2)
    return case.gives(case.node("Gather", case.input(floats(3, rows, columns)), case.constant(scalar(1, I64))))


def gather_elements(axis):
    def make(s):
        case, shape = Case(), s.row()
        places = integers(0, shape[axis] - 1, *shape)
        return case.gives(case.node("GatherElements", case.input(floats(*shape)), case.input(places), axis=axis))
    return make


def gather_nd(depth):
    def make(s):
        case, shape = Case(), s.shape(3, 4)
        count = max(1, s.elements // (shape[2] if depth == 2 else 1))
        least = min(shape[:depth])
        places = integers(0, least - 1, count, depth)
        return case.gives(case.node("GatherND", case.input(floats(*shape)), case.input(places)))
    return make


def scatter_elements(axis, reduction):
    def make(s):
        case, shape = Case(), s.row()
        few = list(shape)
        few[axis] = 1 if reduction == "none" else max(1, shape[axis] // 2)
        names = case.input(floats(*shape)), case.input(integers(0, shape[axis] - 1, *few)), case.input(floats(*few))
        return case.gives(case.node("ScatterElements", *names, axis=axis, reduction=reduction))
    return make


def scatter_nd(reduction):
    def make(s):
        case, (rows, columns) = Case(), s.row()
        count = max(1, rows // 2)
        places = Values([count, 1], kind=I64, listed=[at * 2 % rows for at in range(count)])
        names = case.input(floats(rows, columns)), case.input(places), case.input(floats(count, columns))
        return case.gives(case.node("ScatterND", *names, reduction=reduction))
    return make


def one_hot(s):
    case = Case()
    depth = s.between(8, 1024)
    count = max(1, s.elements // depth)
    operands = case.input(integers(0, depth - 1, count)), case.constant(scalar(depth, I64)), case.constant(Values([2], listed=[0.0, 1.0]))
    return case.gives(case.node("OneHot", *operands))


def nonzero(s):
    case = Case()
    return case.gives(case.node("NonZero", case.input(integers(0, 1, *s.shape(2), kind=BOOL))), kind=I64)


def compressed(s):
    case, (rows, columns) = Case(), s.row()
    return case.gives(case.node("Compress", case.input(floats(rows, columns)), case.input(integers(0, 1, rows, kind=BOOL)), axis=0))


def reversed_sequences(s):
    case, (steps, batch, width) = Case(), s.shape(3, 4)
    operands = case.input(floats(steps, batch, width)), case.input(integers(1, steps, batch))
    return case.gives(case.node("ReverseSequence", *operands, time_axis=0, batch_axis=1))


def unique(s):
    case = Case()
    return case.gives(case.node("Unique", case.input(integers(0, 1000, s.elements)), sorted=1), kind=I64)


def filled(s):
    case = Case()
    return case.gives(case.node("ConstantOfShape", case.input(listed(*s.shape(2)))))


def counted(s):
    case = Case()
    return case.gives(case.node("Range", *[case.input(scalar(each, I64)) for each in (0, s.elements, 1)]), kind=I64)


def reshaped(s):
    case, shape = Case(), s.shape(3)
    return case.gives(case.node("Reshape", case.input(floats(*shape)), case.constant(listed(shape[0], -1))))


ORDERS = {"of a matrix": [1, 0], "channels last": [0, 2, 3, 1], "channels first": [0, 3, 1, 2], "of heads": [0, 2, 1, 3],
          "of the last two": [0, 2, 1], "of all": [3, 2, 1, 0], "of keys": [0, 2, 3, 1]}
CASES = [(f"Transpose {name}", transposed(order)) for name, order in ORDERS.items()]
CASES += [(f"Concat of {count} along axis {axis}", joined(axis, 3, count)) for axis in (0, 1, 2) for count in (2, 4)]
CASES += [(f"Split in {count} along axis {axis}", parted(axis, 3, count)) for axis in (0, 1, 2) for count in (2, 3)]
CASES += [(f"Slice of axis {axis}, step {step}", cut(axis, step)) for axis in (0, 1, 2) for step in (1, 2, -1)]
CASES += [(f"Pad {mode}", padded(mode)) for mode in ("constant", "reflect", "edge", "wrap")]
CASES += [("Pad reflect, width only", padded("reflect", True)), ("Expand the first axis", stretched(0)), ("Expand the last axis", stretched(1)),
          ("Tile the first axis", tiled(0)), ("Tile the last axis", tiled(1)), ("DepthToSpace DCR", blocks("DepthToSpace", mode="DCR")),
          ("DepthToSpace CRD", blocks("DepthToSpace", mode="CRD")), ("SpaceToDepth", blocks("SpaceToDepth")), ("Trilu upper", triangle(1)),
          ("Trilu lower", triangle(0)), ("Reshape", reshaped)]
CASES += [("Gather rows", gather_rows()), ("Gather rows, constant indices", gather_rows(True)), ("Gather columns", gather_columns),
          ("Gather one of three, constant index", gather_one), ("GatherElements over the last axis", gather_elements(1)),
          ("GatherElements over the first axis", gather_elements(0)), ("GatherND elements", gather_nd(3)), ("GatherND rows", gather_nd(2))]
CASES += [(f"ScatterElements {reduction} over axis {axis}", scatter_elements(axis, reduction)) for reduction in ("none", "add", "max")
          for axis in (0, 1)]
CASES += [("ScatterND", scatter_nd("none")), ("ScatterND add", scatter_nd("add")), ("OneHot", one_hot), ("NonZero", nonzero),
          ("Compress", compressed), ("ReverseSequence", reversed_sequences), ("Unique", unique), ("ConstantOfShape", filled), ("Range", counted)]
