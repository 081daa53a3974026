#include "peers/maker.h"

#include "graph/attribute_table.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kawara::peers {
namespace {

constexpr int64_t kMostElements = 3000;

std::vector<Family> all_families() {
  std::vector<Family> all;
  for (const auto& some : {elementwise_families(), layout_families(), index_families(),
                           reduction_families(), product_families(), window_families(),
                           quantised_families(), recurrent_families(), signal_families()})
    for (const Family& family : some)
      for (int k = 0; k < family.weight; ++k)
        all.push_back(family);
  return all;
}

} // namespace

bool keeps_digits(const std::string& op) {
  static const std::set<std::string> kOps = {"Abs",
                                             "Neg",
                                             "Sign",
                                             "Floor",
                                             "Ceil",
                                             "Round",
                                             "Relu",
                                             "Identity",
                                             "Max",
                                             "Min",
                                             "Clip",
                                             "Where",
                                             "Transpose",
                                             "Reshape",
                                             "Flatten",
                                             "Squeeze",
                                             "Unsqueeze",
                                             "Expand",
                                             "Tile",
                                             "Concat",
                                             "Split",
                                             "Slice",
                                             "Gather",
                                             "GatherElements",
                                             "GatherND",
                                             "Pad",
                                             "Cast",
                                             "ReduceMax",
                                             "ReduceMin",
                                             "MaxPool",
                                             "DepthToSpace",
                                             "SpaceToDepth",
                                             "Trilu",
                                             "Compress",
                                             "ReverseSequence",
                                             "TopK"};
  return kOps.contains(op);
}

std::optional<int64_t> first_version(const std::string& op) {
  for (const graph::AttributeRow& row : graph::attribute_rows())
    if (row.op == op)
      return row.since;
  return std::nullopt;
}

Graph graph_of_node(const graph::Node& node, const std::vector<Tensor>& operands,
                    const std::set<size_t>& constants, int64_t opset) {
  graph::Builder builder("node", opset);
  std::map<ValueId, ValueId> ids;
  std::vector<ValueId> inputs;
  for (size_t k = 0; k < node.inputs.size(); ++k) {
    if (node.inputs[k] == kAbsent) {
      inputs.push_back(kAbsent);
      continue;
    }
    auto [found, is_new] = ids.try_emplace(node.inputs[k], 0);
    const std::string name = "x" + std::to_string(k);
    if (is_new)
      found->second = constants.count(k) > 0 ? builder.constant(name, operands[k])
                                             : builder.input(name, operands[k].type(),
                                                             graph::dims_of(operands[k].shape()));
    inputs.push_back(found->second);
  }
  const auto made = builder.add_many(node.op, "y", inputs, node.outputs.size(), node.attributes);
  Graph graph = builder.take();
  for (size_t k = 0; k < made.size(); ++k)
    if (node.outputs[k] != kAbsent)
      graph.outputs.push_back(made[k]);
    else
      graph.nodes.back().outputs[k] = kAbsent;
  return graph;
}

Maker::Maker(uint64_t seed, const Peer& peer)
    : random_(seed * 0x9E3779B97F4A7C15ull + 1), peer_(peer), opset_(17), builder_("random") {
  static const std::vector<int64_t> kOpsets = {7,  8,  9,  10, 11, 11, 12, 12, 13,
                                               13, 14, 15, 16, 17, 17, 17, 18, 18,
                                               19, 20, 21, 21, 22, 22, 23, 23, 24};
  opset_ = one_of(kOpsets);
  builder_ = graph::Builder("random", opset_);
  static const std::vector<int> kPercents = {0, 0, 5, 15, 40};
  special_percent_ = one_of(kPercents);
  specials_ = static_cast<unsigned>(chance(30) ? 31 : 1 << pick(5));
}

double Maker::real(double low, double high) {
  return low + static_cast<double>(pick(static_cast<int64_t>((high - low) * 8) + 1)) / 8;
}

double Maker::special(bool is_positive) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  for (;;) {
    const int64_t kind = pick(5);
    if ((specials_ >> kind & 1) == 0)
      continue;
    const double sign = is_positive || chance(50) ? 1 : -1;
    switch (kind) {
    case 0:
      return nan;
    case 1:
      return sign * inf;
    case 2:
      return is_positive ? 1 : sign * 0.0;
    case 3:
      return sign * (chance(50) ? 1e-40 : 1.2e-38);
    default:
      return sign * (chance(50) ? 3.4028234663852886e38 : 1e30);
    }
  }
}

Tensor Maker::elements(DataType type, const Shape& shape, Elements kind) {
  Tensor tensor(type, shape);
  const bool has_specials =
      kind.kind != Elements::Kind::Plain && special_percent_ > 0 && chance(80);
  const bool is_positive = kind.kind == Elements::Kind::Positive;
  static const std::vector<double> kScales = {1, 1, 4, 4, 30, 1000};
  const double scale = kind.scale > 0 ? kind.scale : one_of(kScales);
  const bool has_quarters = chance(40);
  for (int64_t k = 0; k < tensor.elements(); ++k) {
    const bool is_special = has_specials && chance(special_percent_);
    if (type == DataType::Bool) {
      tensor.set_int(k, pick(2));
    } else if (!graph::is_float(type)) {
      const int bits = static_cast<int>(graph::bytes_of(type) * 8);
      const bool is_signed = type == DataType::I8 || type == DataType::I16 ||
                             type == DataType::I32 || type == DataType::I64;
      const int64_t highest =
          bits == 64 ? std::numeric_limits<int64_t>::max() : (int64_t{1} << (bits - 1)) - 1;
      const Ints extremes = is_signed
                                ? Ints{-highest - 1, -highest - 1, highest, -highest, -1, 0}
                                : Ints{bits == 64 ? -1 : 2 * highest + 1, highest, highest + 1, 0};
      int64_t element = is_special ? one_of(extremes) : between(is_signed ? -9 : 0, 9);
      if (is_positive && (element <= 0))
        element = is_special ? highest : between(1, 9);
      tensor.set_int(k, element);
    } else if (is_special) {
      tensor.set_double(k, special(is_positive));
    } else {
      const double unit = static_cast<double>(random_() >> 11) * 0x1p-53;
      double element = (is_positive ? unit + 0.01 : 2 * unit - 1) * scale;
      if (has_quarters)
        element = std::round(element * 4) / 4;
      tensor.set_double(k, is_positive && element <= 0 ? 0.25 : element);
    }
  }
  return tensor;
}

Shape Maker::shape(int64_t least_rank, int64_t most_rank, bool may_be_empty) {
  static const Ints kExtents = {1, 1, 2, 2, 3, 3, 4, 5, 7, 8, 9, 16, 17};
  Shape all;
  for (int64_t rank = between(least_rank, most_rank); rank > 0; --rank)
    all.push_back(one_of(kExtents));
  const auto elements = [&] {
    int64_t product = 1;
    for (const int64_t extent : all)
      product *= extent;
    return product;
  };
  while (elements() > 600)
    all[static_cast<size_t>(pick(static_cast<int64_t>(all.size())))] = 2;
  if (may_be_empty && !all.empty() && chance(3))
    all[static_cast<size_t>(pick(static_cast<int64_t>(all.size())))] = 0;
  return all;
}

Shape Maker::partner_shape(const Shape& like) {
  if (chance(35))
    return like;
  Shape all = like;
  for (int64_t& extent : all)
    if (chance(30))
      extent = extent == 1 && chance(50) ? between(2, 5) : 1;
  if (!all.empty() && chance(40))
    all.erase(all.begin(), all.begin() + between(0, static_cast<int64_t>(all.size())));
  else if (all.size() < 4 && chance(10))
    all.insert(all.begin(), between(1, 3));
  return all;
}

DataType Maker::float_type() {
  const int64_t k = pick(100);
  return k < 72 ? DataType::F32 : k < 84 ? DataType::F16 : k < 94 ? DataType::F64 : DataType::BF16;
}

DataType Maker::int_type() {
  static const std::vector<DataType> kTypes = {
      DataType::I64, DataType::I64, DataType::I32, DataType::I32, DataType::I8,
      DataType::U8,  DataType::I16, DataType::U16, DataType::U32, DataType::U64};
  return one_of(kTypes);
}

DataType Maker::any_type() {
  return chance(60) ? float_type() : chance(15) ? DataType::Bool : int_type();
}

int64_t Maker::axis_of(const Val& val) {
  const int64_t axis = pick(std::max<int64_t>(val.rank(), 1));
  return chance(30) && opset_ >= 11 ? axis - val.rank() : axis;
}

std::string Maker::next_name(const std::string& prefix) {
  return prefix + std::to_string(names_++);
}

Val Maker::input(Tensor tensor) {
  const ValueId id =
      builder_.input(next_name("input"), tensor.type(), graph::dims_of(tensor.shape()));
  given_[id] = tensor;
  values_.push_back({id, std::move(tensor), true});
  return values_.back();
}

Val Maker::given(Tensor tensor) { return input(std::move(tensor)); }

Val Maker::constant(Tensor tensor) {
  const ValueId id = builder_.constant(next_name("c"), tensor);
  return {id, std::move(tensor), true};
}

Val Maker::fresh(DataType type, const Shape& shape, Elements kind) {
  Tensor tensor = elements(type, shape, kind);
  return chance(65) ? input(std::move(tensor)) : constant(std::move(tensor));
}

Val Maker::ints(const Ints& list, bool may_be_given) {
  Tensor tensor(DataType::I64, {static_cast<int64_t>(list.size())});
  for (size_t k = 0; k < list.size(); ++k)
    tensor.set_int(static_cast<int64_t>(k), list[k]);
  return may_be_given && chance(15) ? input(std::move(tensor)) : constant(std::move(tensor));
}

Val Maker::scalar(DataType type, double value, const Shape& shape) {
  Tensor tensor(type, shape);
  for (int64_t k = 0; k < tensor.elements(); ++k)
    tensor.set_double(k, value);
  return chance(25) ? input(std::move(tensor)) : constant(std::move(tensor));
}

Val Maker::floats(int64_t least_rank, int64_t most_rank) {
  const DataType type = float_type();
  return operand(
      [&](const Val& val) {
        return graph::is_float(val.type()) && val.rank() >= least_rank && val.rank() <= most_rank;
      },
      type, shape(least_rank, most_rank));
}

Val Maker::anything(int64_t least_rank, int64_t most_rank) {
  const DataType type = any_type();
  return operand(
      [&](const Val& val) { return val.rank() >= least_rank && val.rank() <= most_rank; }, type,
      shape(least_rank, most_rank));
}

Val Maker::of(DataType type, const Shape& shape) {
  return operand([&](const Val& val) { return val.type() == type && val.shape() == shape; }, type,
                 shape);
}

bool Maker::add(const std::string& op, const std::vector<Val>& inputs, Attributes attributes,
                size_t results) {
  const auto since = first_version(op);
  if (!since || *since > opset_)
    return false;
  // Files hold them as f32.
  for (auto& [name, value] : attributes)
    if (double* number = std::get_if<double>(&value))
      *number = static_cast<float>(*number);
  graph::Node node;
  node.op = op;
  node.attributes = attributes;
  std::vector<Tensor> operands;
  std::set<size_t> constants;
  std::vector<Datum> data;
  std::set<ValueId> seen;
  bool is_exact = keeps_digits(op);
  for (size_t k = 0; k < inputs.size(); ++k) {
    const Val& val = inputs[k];
    node.inputs.push_back(val.id);
    operands.push_back(val.tensor);
    is_exact = is_exact && val.is_exact;
    if (val.id == kAbsent)
      continue;
    const bool is_constant = builder_.graph().initializers.count(val.id) > 0;
    if (is_constant)
      constants.insert(k);
    else if (seen.insert(val.id).second)
      data.push_back({val.tensor, false, {}});
  }
  node.outputs.resize(results, 0);
  const auto session = peer_.session(graph_of_node(node, operands, constants, opset_));
  const auto made =
      session ? (*session)->run(data) : Result<std::vector<Datum>, Refusal>(fail(session.error()));
  if (!made) {
    std::string types;
    for (const Tensor& operand : operands)
      types +=
          (types.empty() ? "" : " ") + std::string(operand ? graph::name_of(operand.type()) : "-");
    ++refused_[op + "(" + types + "): " + made.error().substr(0, 200)];
    return false;
  }
  for (const Datum& each : *made)
    if (each.tensor.elements() > kMostElements || each.tensor.rank() > 6)
      return false;
  std::vector<ValueId> ids;
  for (const Val& val : inputs)
    ids.push_back(val.id);
  const auto out = builder_.add_many(op, next_name(op + "_"), ids, results, std::move(attributes));
  for (size_t k = 0; k < out.size(); ++k)
    values_.push_back({out[k], (*made)[k].tensor,
                       is_exact || (!graph::is_float((*made)[k].tensor.type()) &&
                                    std::all_of(inputs.begin(), inputs.end(),
                                                [](const Val& v) { return v.is_exact; }))});
  return true;
}

void Maker::finish(Sample& sample) {
  Graph graph = builder_.graph();
  std::set<ValueId> read;
  for (const graph::Node& node : graph.nodes)
    read.insert(node.inputs.begin(), node.inputs.end());
  for (const Val& val : values_) {
    graph.values[val.id].type = {graph::ValueType::Kind::Tensor, val.type(),
                                 graph::dims_of(val.shape())};
    if (given_.count(val.id) > 0 || (read.count(val.id) > 0 && !chance(15)))
      continue;
    graph.outputs.push_back(val.id);
  }
  std::erase_if(graph.inputs, [&](ValueId id) { return read.count(id) == 0; });
  std::erase_if(graph.initializers, [&](const auto& item) { return read.count(item.first) == 0; });
  for (const ValueId id : graph.inputs)
    sample.inputs.push_back({given_.at(id), false, {}});
  sample.graph = std::move(graph);
}

Sample Maker::make(const std::string& only_family) {
  static const std::vector<Family> all = all_families();
  std::vector<Family> families;
  for (const Family& family : all)
    if (only_family.empty() || family.name == only_family)
      families.push_back(family);
  const int64_t nodes = chance(35) ? 1 : between(2, chance(20) ? 8 : 5);
  for (int64_t tries = 0; tries < 60; ++tries) {
    if (static_cast<int64_t>(builder_.graph().nodes.size()) >= nodes || families.empty())
      break;
    one_of(families).add(*this);
  }
  Sample sample;
  finish(sample);
  sample.refused = std::move(refused_);
  return sample;
}

} // namespace kawara::peers
