#include "peers/maker.h"

#include <algorithm>

namespace kawara::peers {
namespace {

DataType index_type(Maker& m) { return m.chance(60) ? DataType::I64 : DataType::I32; }

/// Indices of an extent, some of them counted from the end.
Val indices(Maker& m, DataType type, const Shape& shape, int64_t extent, bool may_be_negative) {
  Tensor tensor(type, shape);
  for (int64_t k = 0; k < tensor.elements(); ++k)
    tensor.set_int(k, may_be_negative && m.chance(30) ? -m.between(1, extent) : m.pick(extent));
  return m.chance(60) ? m.given(tensor) : m.constant(tensor);
}

bool has_elements(const Val& val) { return val.tensor.elements() > 0; }

Val full(Maker& m, int64_t least_rank, int64_t most_rank) {
  const DataType type = m.any_type();
  return m.operand(
      [&](const Val& v) {
        return has_elements(v) && v.rank() >= least_rank && v.rank() <= most_rank;
      },
      type, m.shape(least_rank, most_rank, false));
}

int64_t place_of(const Val& val, int64_t axis) { return axis < 0 ? axis + val.rank() : axis; }

void add_gather(Maker& m) {
  const Val a = full(m, 1, 4);
  const int64_t axis = m.axis_of(a);
  m.add("Gather",
        {a, indices(m, index_type(m), m.shape(0, 2), a.extent(place_of(a, axis)), m.opset() >= 11)},
        {{"axis", axis}});
}

void add_gather_elements(Maker& m) {
  const Val a = full(m, 1, 3);
  const int64_t axis = m.axis_of(a);
  Shape shape = a.shape();
  for (int64_t k = 0; k < a.rank(); ++k)
    shape[static_cast<size_t>(k)] =
        k == place_of(a, axis) ? m.between(1, 5) : m.between(1, a.extent(k));
  m.add("GatherElements", {a, indices(m, index_type(m), shape, a.extent(place_of(a, axis)), true)},
        {{"axis", axis}});
}

/// Places in a tensor, as GatherND and ScatterND take them: the last dimension is a place's.
Val places(Maker& m, const Val& a, int64_t batch, int64_t depth, bool are_distinct) {
  Shape shape;
  for (int64_t k = 0; k < batch; ++k)
    shape.push_back(a.extent(k));
  if (!are_distinct || m.chance(50))
    for (int64_t more = m.between(batch > 0 ? 0 : 1, 2); more > 0; --more)
      shape.push_back(m.between(1, 3));
  if (are_distinct)
    shape = {std::min<int64_t>(m.between(1, 3), a.extent(0))};
  shape.push_back(depth);
  Tensor tensor(DataType::I64, shape);
  for (int64_t k = 0; k < tensor.elements(); ++k)
    tensor.set_int(k, are_distinct && k % depth == 0 ? k / depth
                                                     : m.pick(a.extent(batch + k % depth)));
  return m.chance(60) ? m.given(tensor) : m.constant(tensor);
}

void add_gather_nd(Maker& m) {
  const Val a = full(m, 1, 4);
  const int64_t batch = m.opset() >= 12 && a.rank() > 1 && m.chance(40) ? 1 : 0;
  const int64_t depth = m.between(1, a.rank() - batch);
  Attributes attributes;
  if (batch > 0)
    attributes["batch_dims"] = batch;
  m.add("GatherND", {a, places(m, a, batch, depth, false)}, attributes);
}

std::string reduction_of(Maker& m) {
  return m.opset() >= 18   ? m.word({"none", "add", "mul", "max", "min"})
         : m.opset() >= 16 ? m.word({"none", "add", "mul"})
                           : "none";
}

void add_scatter_elements(Maker& m) {
  const Val a = full(m, 1, 3);
  const int64_t axis = m.axis_of(a), extent = a.extent(place_of(a, axis));
  const std::string reduction = reduction_of(m);
  Shape shape = a.shape();
  for (int64_t k = 0; k < a.rank(); ++k)
    shape[static_cast<size_t>(k)] = m.between(1, a.extent(k));
  // Without a reduction no element may be written twice: one index along the axis.
  if (reduction == "none")
    shape[static_cast<size_t>(place_of(a, axis))] = 1;
  Attributes attributes{{"axis", axis}};
  if (reduction != "none" || (m.opset() >= 16 && m.chance(50)))
    attributes["reduction"] = reduction;
  const Val at = indices(m, index_type(m), shape, extent, m.opset() >= 11);
  m.add(m.opset() < 11 ? "Scatter" : "ScatterElements", {a, at, m.of(a.type(), shape)}, attributes);
}

void add_scatter_nd(Maker& m) {
  const Val a = full(m, 1, 4);
  const std::string reduction = reduction_of(m);
  const int64_t depth = m.between(1, a.rank());
  const Val at = places(m, a, 0, depth, reduction == "none");
  Shape shape(at.shape().begin(), at.shape().end() - 1);
  shape.insert(shape.end(), a.shape().begin() + depth, a.shape().end());
  Attributes attributes;
  if (reduction != "none")
    attributes["reduction"] = reduction;
  m.add("ScatterND", {a, at, m.of(a.type(), shape)}, attributes);
}

/// Mostly without roundings before it: a rounding may decide.
Val sharp(Maker& m, int64_t least_rank, int64_t most_rank, bool may_be_any) {
  const Val a = may_be_any ? full(m, least_rank, most_rank) : m.floats(least_rank, most_rank);
  if (a.is_exact || m.chance(20))
    return a;
  return m.fresh(may_be_any ? m.any_type() : m.float_type(), m.shape(least_rank, most_rank, false));
}

void add_topk(Maker& m) {
  const Val a = sharp(m, 1, 3, m.chance(40));
  const int64_t axis = m.axis_of(a), extent = a.extent(place_of(a, axis));
  Attributes attributes{{"axis", axis}};
  if (m.opset() >= 11 && m.chance(60))
    attributes["largest"] = m.pick(2);
  const int64_t count = m.between(0, extent);
  if (m.opset() < 10) {
    attributes["k"] = count;
    m.add("TopK", {a}, attributes, 2);
    return;
  }
  m.add("TopK", {a, m.ints({count})}, attributes, 2);
}

void add_unique(Maker& m) {
  const Val a = sharp(m, 1, 3, true);
  Attributes attributes;
  if (m.chance(40))
    attributes["axis"] = m.axis_of(a);
  if (m.chance(40))
    attributes["sorted"] = m.pick(2);
  m.add("Unique", {a}, attributes, static_cast<size_t>(m.between(1, 4)));
}

void add_nonzero(Maker& m) { m.add("NonZero", {sharp(m, 1, 4, true)}); }

void add_compress(Maker& m) {
  const Val a = full(m, 1, 4);
  Attributes attributes;
  int64_t extent = a.tensor.elements();
  if (m.chance(60)) {
    const int64_t axis = m.axis_of(a);
    attributes["axis"] = axis;
    extent = a.extent(place_of(a, axis));
  }
  m.add("Compress", {a, m.fresh(DataType::Bool, {m.between(1, std::min<int64_t>(extent, 9))})},
        attributes);
}

void add_one_hot(Maker& m) {
  const int64_t depth = m.between(1, 5);
  static const std::vector<DataType> kTypes = {DataType::I64, DataType::I32, DataType::F32,
                                               DataType::U8};
  const DataType type = m.one_of(kTypes);
  Tensor at(type, m.shape(0, 3));
  for (int64_t k = 0; k < at.elements(); ++k)
    at.set_int(k, type == DataType::U8 ? m.pick(depth + 2) : m.between(-depth - 2, depth + 2));
  const Val where = m.chance(60) ? m.given(at) : m.constant(at);
  const DataType element = m.any_type();
  m.add("OneHot",
        {where,
         m.scalar(m.chance(60) ? DataType::I64 : type, static_cast<double>(depth),
                  m.chance(50) ? Shape{} : Shape{1}),
         m.fresh(element, {2})},
        {{"axis", m.between(-where.rank() - 1, where.rank())}});
}

void add_reverse_sequence(Maker& m) {
  const Val a = full(m, 2, 4);
  const int64_t time = m.pick(2);
  Tensor lengths(DataType::I64, {a.extent(1 - time)});
  for (int64_t k = 0; k < lengths.elements(); ++k)
    lengths.set_int(k, m.between(1, a.extent(time)));
  m.add("ReverseSequence", {a, m.chance(50) ? m.given(lengths) : m.constant(lengths)},
        {{"time_axis", time}, {"batch_axis", 1 - time}});
}

void add_suppression(Maker& m) {
  const int64_t batches = m.between(1, 2), boxes = m.between(1, 6), classes = m.between(1, 2);
  std::vector<Val> all{m.fresh(DataType::F32, {batches, boxes, 4}, {Elements::Kind::Plain, 4}),
                       m.fresh(DataType::F32, {batches, classes, boxes})};
  if (m.chance(80))
    all.push_back(m.ints({m.between(0, 4)}));
  if (all.size() == 3 && m.chance(80))
    all.push_back(m.scalar(DataType::F32, m.real(0, 1), {1}));
  if (all.size() == 4 && m.chance(60))
    all.push_back(m.scalar(DataType::F32, m.real(-1, 1), {1}));
  Attributes attributes;
  if (m.chance(30))
    attributes["center_point_box"] = m.pick(2);
  m.add("NonMaxSuppression", all, attributes);
}

} // namespace

std::vector<Family> index_families() {
  return {{"gather", add_gather, 2},
          {"gather_elements", add_gather_elements},
          {"gather_nd", add_gather_nd},
          {"scatter_elements", add_scatter_elements},
          {"scatter_nd", add_scatter_nd},
          {"topk", add_topk, 2},
          {"unique", add_unique},
          {"nonzero", add_nonzero},
          {"compress", add_compress},
          {"one_hot", add_one_hot},
          {"reverse_sequence", add_reverse_sequence},
          {"suppression", add_suppression}};
}

} // namespace kawara::peers
