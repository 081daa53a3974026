"""Windows over images: convolutions, pools, resizing, sampling."""

from model import I64, I8, U8, F32, Case, Values, floats, integers, listed, scalar, weights


def image_for(s, flop_each, least=1, rank=2):
    """Pixels a side, so that channels^2 * pixels * flop_each is about the class's operations."""
    channels = s.between(8, 256)
    side = round((s.operations / (2 * channels**2 * flop_each)) ** (1 / rank))
    return channels, max(least, min(256, side))


def convolved(window, stride=1, dilation=1, rank=2, kind="dense"):
    def make(s):
        taps = window**rank
        if kind == "dense":
            channels, side = image_for(s, taps / stride**rank, window * dilation + 1, rank)
            filters, groups = max(4, round(channels * s.choice([0.5, 1, 2]))), 1
        else:
            image = s.image()
            channels = max(8, image[1] // 8 * 8)
            side = max(window * dilation + 1, image[2])
            groups = channels if kind == "depthwise" else s.choice([2, 4, 8])
            side = side if kind == "depthwise" else min(side, max(7, round((s.operations * groups / (2 * channels**2 * taps)) ** 0.5)))
            filters = channels
        case = Case()
        operands = [case.input(floats(1, channels, *[side] * rank)), case.constant(weights(filters, channels // groups, *[window] * rank)),
                    case.constant(floats(filters))]
        pad = dilation * (window // 2)
        return case.gives(case.node("Conv", *operands, kernel_shape=[window] * rank, strides=[stride] * rank, dilations=[dilation] * rank,
                                    pads=[pad] * 2 * rank, group=groups))
    return make


def transposed(window, stride, pad=0, extra=0, rank=2, kind="dense"):
    def make(s):
        if kind == "dense":
            channels, side = image_for(s, window**rank / 2, 3, rank)
            filters, groups = max(1, channels // 2), 1
        else:
            channels, side = s.image()[1:3]
            side = max(3, side // stride)
            filters, groups = 1, channels
        case = Case()
        operands = [case.input(floats(1, channels, *[side] * rank)), case.constant(weights(channels, filters, *[window] * rank)),
                    case.constant(floats(filters * groups))]
        return case.gives(case.node("ConvTranspose", *operands, kernel_shape=[window] * rank, strides=[stride] * rank, pads=[pad] * 2 * rank,
                                    output_padding=[extra] * rank, group=groups))
    return make


def pooled(operator, window, stride, pad=0, rank=2, positions=False, **attributes):
    def make(s):
        image = s.image() if rank == 2 else [1, *s.shape(rank + 1, window + 1)]
        image[2:] = [max(window, extent) for extent in image[2:]]
        case = Case()
        names = case.node(operator, case.input(floats(*image)), results=2 if positions else 1, kernel_shape=[window] * rank,
                          strides=[stride] * rank, pads=[pad] * 2 * rank, **attributes)
        return case.gives(names[0]).gives(names[1], kind=I64) if positions else case.gives(names)
    return make


def pooled_whole(operator):
    def make(s):
        case = Case()
        return case.gives(case.node(operator, case.input(floats(*s.image()))))
    return make


def unpooled(s):
    """Places as MaxPool of 2x2 finds them."""
    case, image = Case(), s.image()
    image[2:] = [max(1, extent // 2) for extent in image[2:]]
    high, wide = image[2:]
    listed_places = [((c * 2 * high) + 2 * y + (x & 1)) * 2 * wide + 2 * x + (y & 1)
                     for c in range(image[1]) for y in range(high) for x in range(wide)]
    places = Values(image, kind=I64, listed=listed_places)
    return case.gives(case.node("MaxUnpool", case.input(floats(*image)), case.input(places), kernel_shape=[2, 2], strides=[2, 2]))


def resized(scale, mode, kind=F32, **attributes):
    def make(s):
        image = s.image()
        if scale > 1:
            image[2:] = [max(4, round(extent / scale)) for extent in image[2:]]
        case = Case(may_round=True)
        values = floats(*image) if kind == F32 else integers(0, 100, *image, kind=kind)
        scales = case.constant(Values([4], listed=[1.0, 1.0, scale, scale]))
        return case.gives(case.node("Resize", case.input(values), None, scales, mode=mode, **attributes), kind=kind)
    return make


def upsampled(s):
    case, image = Case(opset=9), s.image()
    image[2:] = [max(2, extent // 2) for extent in image[2:]]
    return case.gives(case.node("Upsample", case.input(floats(*image)), case.constant(Values([4], listed=[1.0, 1.0, 2.0, 2.0])), mode="nearest"))


def sampled(mode, **attributes):
    def make(s):
        case, image = Case(may_round=True), s.image()
        grid = Values([1, image[2], image[3], 2], -1.0, 1.0)
        return case.gives(case.node("GridSample", case.input(floats(*image)), case.input(grid), mode=mode, **attributes))
    return make


def roi_aligned(s):
    case, image = Case(), s.image()
    count = max(1, s.elements // (image[1] * 49 * 4))
    corners = []
    for _ in range(count):
        x, y = s.rng.uniform(0, image[3] / 2), s.rng.uniform(0, image[2] / 2)
        corners += [x, y, x + image[3] / 3, y + image[2] / 3]
    boxes = Values([count, 4], listed=corners)
    operands = case.input(floats(*image)), case.input(boxes), case.input(integers(0, 0, count))
    return case.gives(case.node("RoiAlign", *operands, output_height=7, output_width=7, sampling_ratio=2))


def convolved_bytes(s):
    channels, side = image_for(s, 9, 5)
    case = Case()
    operands = [case.input(integers(0, 255, 1, channels, side, side, kind=U8)),
                case.constant(integers(-127, 127, channels, channels, 3, 3, kind=I8)),
                case.constant(scalar(117, U8)), case.constant(scalar(0, I8))]
    return case.gives(case.node("ConvInteger", *operands, kernel_shape=[3, 3], pads=[1] * 4), kind=6)


def quantised(s):
    channels, side = image_for(s, 9, 5)
    case = Case(may_round=True)
    operands = [case.input(integers(0, 255, 1, channels, side, side, kind=U8)), case.constant(scalar(0.02)), case.constant(scalar(117, U8)),
                case.constant(integers(-127, 127, channels, channels, 3, 3, kind=I8)), case.constant(scalar(0.003)), case.constant(scalar(0, I8)),
                case.constant(scalar(0.05 * channels**0.5)), case.constant(scalar(113, U8))]
    return case.gives(case.node("QLinearConv", *operands, kernel_shape=[3, 3], pads=[1] * 4), kind=U8)


CASES = [("Conv 1x1", convolved(1)), ("Conv 3x3", convolved(3)), ("Conv 3x3, stride 2", convolved(3, 2)), ("Conv 5x5", convolved(5)),
         ("Conv 3x3, dilation 2", convolved(3, dilation=2)), ("Conv 3x3 depthwise", convolved(3, kind="depthwise")),
         ("Conv 5x5 depthwise, stride 2", convolved(5, 2, kind="depthwise")), ("Conv 7x7 depthwise", convolved(7, kind="depthwise")),
         ("Conv 3x3 grouped", convolved(3, kind="grouped")), ("Conv of 5 in 1-D", convolved(5, rank=1)), ("Conv 3x3x3", convolved(3, rank=3)),
         ("ConvInteger 3x3", convolved_bytes), ("QLinearConv 3x3", quantised)]
CASES += [("ConvTranspose 2x2, stride 2", transposed(2, 2)), ("ConvTranspose 4x4, stride 2", transposed(4, 2, 1)),
          ("ConvTranspose 3x3, stride 2", transposed(3, 2, 1, 1)), ("ConvTranspose 3x3, stride 1", transposed(3, 1, 1)),
          ("ConvTranspose 5x5, stride 3", transposed(5, 3, 1)), ("ConvTranspose 16, stride 8 in 1-D", transposed(16, 8, 4, rank=1)),
          ("ConvTranspose 4x4, stride 2, depthwise", transposed(4, 2, 1, kind="depthwise")),
          ("ConvTranspose 2x2x2, stride 2", transposed(2, 2, rank=3))]
CASES += [("MaxPool 2x2, stride 2", pooled("MaxPool", 2, 2)), ("MaxPool 3x3, stride 2", pooled("MaxPool", 3, 2, 1)),
          ("MaxPool 3x3, stride 1", pooled("MaxPool", 3, 1, 1)), ("MaxPool 5x5, stride 1", pooled("MaxPool", 5, 1, 2)),
          ("MaxPool of 3 in 1-D", pooled("MaxPool", 3, 2, 1, rank=1)), ("MaxPool 2x2x2", pooled("MaxPool", 2, 2, rank=3)),
          ("MaxPool 3x3, stride 2, rounded up", pooled("MaxPool", 3, 2, ceil_mode=1)),
          ("MaxPool 2x2 with positions", pooled("MaxPool", 2, 2, positions=True)),
          ("AveragePool 2x2, stride 2", pooled("AveragePool", 2, 2)), ("AveragePool 3x3, stride 2", pooled("AveragePool", 3, 2, 1)),
          ("AveragePool 3x3, stride 1", pooled("AveragePool", 3, 1, 1)), ("AveragePool 5x5, stride 1", pooled("AveragePool", 5, 1, 2)),
          ("AveragePool 3x3, borders counted", pooled("AveragePool", 3, 2, 1, count_include_pad=1)),
          ("AveragePool of 4 in 1-D", pooled("AveragePool", 4, 4, rank=1)), ("AveragePool 2x2x2", pooled("AveragePool", 2, 2, rank=3)),
          ("LpPool 3x3, stride 2", pooled("LpPool", 3, 2)), ("MaxUnpool 2x2", unpooled)]
CASES += [(operator, pooled_whole(operator)) for operator in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")]
CASES += [("Resize nearest x2", resized(2.0, "nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")),
          ("Resize nearest x2, half pixels", resized(2.0, "nearest")), ("Resize nearest x1.5", resized(1.5, "nearest")),
          ("Resize nearest x0.5", resized(0.5, "nearest")), ("Resize nearest x2 of u8", resized(2.0, "nearest", U8)),
          ("Resize linear x2", resized(2.0, "linear")), ("Resize linear x1.5", resized(1.5, "linear")),
          ("Resize linear x0.5", resized(0.5, "linear")), ("Resize linear x3, corners", resized(3.0, "linear", coordinate_transformation_mode="align_corners")),
          ("Resize linear x0.4, antialias", resized(0.4, "linear", antialias=1)), ("Resize cubic x2", resized(2.0, "cubic")),
          ("Upsample x2", upsampled)]
CASES += [("GridSample linear", sampled("linear")), ("GridSample nearest", sampled("nearest")),
          ("GridSample linear, border", sampled("linear", padding_mode="border")), ("RoiAlign", roi_aligned)]
