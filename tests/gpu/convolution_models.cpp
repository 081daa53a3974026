#include "operator_model.h"

#include <algorithm>

namespace kawara::operator_models {
namespace {

/// A window of a convolution or a pool along one side of an image.
struct Side {
  int64_t image = 1, window = 1, stride = 1, dilation = 1, before = 0, after = 0;
  int64_t reach() const { return dilation * (window - 1) + 1; }
  int64_t out() const { return (image + before + after - reach()) / stride + 1; }
  bool is_possible() const { return image + before + after >= reach(); }
};

std::vector<int64_t> both(const Side& y, const Side& x, int64_t Side::*field) {
  return {y.*field, x.*field};
}

Attributes window_attributes(const Side& y, const Side& x, bool has_dilations = true) {
  Attributes all{{"kernel_shape", both(y, x, &Side::window)},
                 {"strides", both(y, x, &Side::stride)},
                 {"pads", std::vector<int64_t>{y.before, x.before, y.after, x.after}}};
  if (has_dilations)
    all["dilations"] = both(y, x, &Side::dilation);
  return all;
}

int64_t image_side(Maker& m) {
  return m.one_of(std::vector<int64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 16, 17, 20, 28});
}

Side side(Maker& m, int64_t window) {
  Side s;
  s.image = image_side(m);
  s.window = window;
  s.stride = m.chance(30) ? m.between(2, 3) : 1;
  s.dilation = window > 1 && m.chance(15) ? 2 : 1;
  s.before = m.chance(60) ? window / 2 : m.pick(window);
  s.after = m.chance(80) ? s.before : m.pick(window);
  return s;
}

struct Plan {
  int64_t batch = 1, channels = 1, filters = 1, groups = 1;
  Side y, x;
  double work() const {
    return static_cast<double>(batch * filters * (channels / groups) * y.window * x.window) *
           static_cast<double>(y.out() * x.out());
  }
};

/// One that is possible and small.
template <class F> Plan planned(Maker& m, F one) {
  for (int tries = 0; tries < 1000; ++tries)
    if (const Plan plan = one();
        plan.y.is_possible() && plan.x.is_possible() && m.is_small(plan.work()))
      return plan;
  return {};
}

Made convolved(Maker& m, const Plan& plan, const Made& image) {
  std::vector<ValueId> inputs{
      image.id,
      m.constant({plan.filters, plan.channels / plan.groups, plan.y.window, plan.x.window}).id};
  if (m.chance(70))
    inputs.push_back(m.constant({plan.filters}).id);
  Attributes attributes = window_attributes(plan.y, plan.x);
  attributes["group"] = plan.groups;
  return m.add("Conv", inputs, attributes, {plan.batch, plan.filters, plan.y.out(), plan.x.out()});
}

void convolve(Maker& m, const Plan& plan) {
  const Made image = m.input({plan.batch, plan.channels, plan.y.image, plan.x.image});
  m.output(m.followed(convolved(m, plan, image), 1));
}

void conv_1x1(Maker& m) {
  convolve(m, planned(m, [&] {
             return Plan{m.batch(), m.channels(), m.channels(), 1, side(m, 1), side(m, 1)};
           }));
}

/// What squeezed images have: one pixel each.
void conv_pixel(Maker& m) {
  convolve(m, planned(m, [&] { return Plan{m.batch(), m.channels(), m.channels(), 1, {}, {}}; }));
}

void conv_window(Maker& m) {
  convolve(
      m, planned(m, [&] {
        const int64_t rows = m.one_of(std::vector<int64_t>{1, 2, 3, 3, 3, 5, 7});
        const int64_t columns = m.chance(60) ? rows : m.one_of(std::vector<int64_t>{1, 3, 5, 7});
        return Plan{m.batch(), m.channels(), m.channels(), 1, side(m, rows), side(m, columns)};
      }));
}

void conv_depthwise(Maker& m) {
  convolve(
      m, planned(m, [&] {
        const int64_t channels = m.channels(), window = m.one_of(std::vector<int64_t>{3, 3, 5});
        const int64_t each = m.chance(80) ? 1 : 2;
        return Plan{m.batch(), channels,        channels * each,
                    channels,  side(m, window), side(m, window)};
      }));
}

void conv_grouped(Maker& m) {
  convolve(m, planned(m, [&] {
             const int64_t groups = m.between(2, 4), window = m.one_of(std::vector<int64_t>{1, 3});
             const int64_t each = m.channels(), filters = m.channels();
             return Plan{m.batch(), groups * each,   groups * filters,
                         groups,    side(m, window), side(m, window)};
           }));
}

void conv_line(Maker& m) {
  Plan plan = planned(m, [&] {
    Plan one{m.batch(), m.channels(), m.channels(), 1, {}, {}};
    one.x = side(m, m.one_of(std::vector<int64_t>{1, 3, 5}));
    return one;
  });
  const Made line = m.input({plan.batch, plan.channels, plan.x.image});
  std::vector<ValueId> inputs{line.id, m.constant({plan.filters, plan.channels, plan.x.window}).id};
  if (m.chance(50))
    inputs.push_back(m.constant({plan.filters}).id);
  const Made y = m.add("Conv", inputs,
                       {{"kernel_shape", std::vector<int64_t>{plan.x.window}},
                        {"strides", std::vector<int64_t>{plan.x.stride}},
                        {"dilations", std::vector<int64_t>{plan.x.dilation}},
                        {"pads", std::vector<int64_t>{plan.x.before, plan.x.after}}},
                       {plan.batch, plan.filters, plan.x.out()});
  m.output(m.followed(y, 1));
}

void conv_transposed(Maker& m) {
  const Plan plan = planned(m, [&] {
    const int64_t window = m.between(1, 4);
    Plan one{m.batch(), m.channels(), m.channels(), 1, side(m, window), side(m, window)};
    for (Side* s : {&one.y, &one.x}) {
      s->dilation = 1;
      s->stride = m.between(1, 2);
      s->before = s->after = m.pick(window);
    }
    return one;
  });
  const auto out = [](const Side& s) {
    return (s.image - 1) * s.stride + s.window - s.before - s.after;
  };
  if (out(plan.y) < 1 || out(plan.x) < 1)
    return conv_transposed(m);
  const Made image = m.input({plan.batch, plan.channels, plan.y.image, plan.x.image});
  std::vector<ValueId> inputs{
      image.id, m.constant({plan.channels, plan.filters, plan.y.window, plan.x.window}).id};
  if (m.chance(50))
    inputs.push_back(m.constant({plan.filters}).id);
  const Made y = m.add("ConvTranspose", inputs, window_attributes(plan.y, plan.x),
                       {plan.batch, plan.filters, out(plan.y), out(plan.x)});
  m.output(m.followed(y, 1));
}

Plan pool_plan(Maker& m) {
  Plan plan = planned(m, [&] {
    const int64_t channels = m.channels(), window = m.between(2, 3);
    return Plan{m.batch(), channels, channels, channels, side(m, window), side(m, window)};
  });
  plan.y.dilation = plan.x.dilation = 1;
  return plan;
}

void pool(Maker& m) {
  const Plan plan = pool_plan(m);
  const Made image = m.input({plan.batch, plan.channels, plan.y.image, plan.x.image});
  Attributes attributes = window_attributes(plan.y, plan.x, false);
  const bool is_max = m.chance(50);
  if (!is_max)
    attributes["count_include_pad"] = m.pick(2);
  const Made y = m.add(is_max ? "MaxPool" : "AveragePool", {image.id}, attributes,
                       {plan.batch, plan.channels, plan.y.out(), plan.x.out()});
  m.output(m.followed(y, 1));
}

/// Pixels weighed by what the whole image is: two products of a pixel per image.
void squeeze_excite(Maker& m) {
  const int64_t batch = m.batch(), channels = m.channels(), inner = m.channels();
  const int64_t rows = m.between(1, 7), columns = m.between(1, 7);
  const Made image = m.input({batch, channels, rows, columns});
  const Made pooled = m.add("GlobalAveragePool", {image.id}, {}, {batch, channels, 1, 1});
  const Made down =
      m.add("Conv", {pooled.id, m.constant({inner, channels, 1, 1}).id, m.constant({inner}).id}, {},
            {batch, inner, 1, 1});
  const Made positive = m.add("Relu", {down.id}, {}, down.shape);
  const Made up = m.add(
      "Conv", {positive.id, m.constant({channels, inner, 1, 1}).id, m.constant({channels}).id}, {},
      {batch, channels, 1, 1});
  const Made gate = m.add("HardSigmoid", {up.id}, {{"alpha", 0.2}, {"beta", 0.5}}, up.shape);
  m.output(m.add("Mul", {image.id, gate.id}, {}, image.shape));
}

/// Branches over one image, one behind the other: two convolutions of the same shape, a pool with a
/// convolution.
void branches(Maker& m) {
  const Plan plan = planned(m, [&] {
    Plan one{m.between(1, 3), m.channels(), m.channels(), 1, side(m, 3), side(m, 3)};
    for (Side* s : {&one.y, &one.x}) {
      s->stride = s->dilation = 1;
      s->before = s->after = 1;
    }
    return one;
  });
  const int64_t rows = plan.y.image, columns = plan.x.image;
  const Made image = m.input({plan.batch, plan.channels, rows, columns});
  Plan point = plan;
  point.y = point.x = {};
  point.y.image = rows;
  point.x.image = columns;
  std::vector<Made> all{convolved(m, point, image), convolved(m, point, image),
                        convolved(m, plan, image)};
  const Made pooled = m.add("AveragePool", {image.id},
                            {{"kernel_shape", std::vector<int64_t>{3, 3}},
                             {"strides", std::vector<int64_t>{1, 1}},
                             {"pads", std::vector<int64_t>{1, 1, 1, 1}}},
                            image.shape);
  all.push_back(convolved(m, point, pooled));
  std::vector<ValueId> parts;
  int64_t filters = 0;
  for (Made& branch : all) {
    if (m.chance(70))
      branch = m.add("Relu", {branch.id}, {}, branch.shape);
    parts.push_back(branch.id);
    filters += branch.shape[1];
  }
  m.output(m.add("Concat", parts, {{"axis", int64_t{1}}}, {plan.batch, filters, rows, columns}));
}

} // namespace

std::vector<Family> convolution_families() {
  return {{"conv_1x1", conv_1x1},
          {"conv_pixel", conv_pixel},
          {"conv_window", conv_window},
          {"conv_depthwise", conv_depthwise},
          {"conv_grouped", conv_grouped},
          {"conv_line", conv_line},
          {"conv_transposed", conv_transposed},
          {"pool", pool},
          {"squeeze_excite", squeeze_excite},
          {"branches", branches}};
}

} // namespace kawara::operator_models
