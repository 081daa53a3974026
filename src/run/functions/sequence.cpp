#include "run/functions/function.h"

#include <fmt/format.h>

#include <cstring>

namespace kawara::run {
namespace {
namespace of_sequence {

/// Place in a list of `size` items; -1 when it is outside. One past the end is fine for inserting.
int64_t place_of(const FunctionCall& call, size_t k, int64_t size, int64_t otherwise) {
  if (!call.has(k))
    return otherwise;
  const int64_t at = call.tensor(k).elements() == 1 ? call.tensor(k).get_int(0) : size + 1;
  return at < 0 ? (at + size >= 0 ? at + size : -1) : at;
}

std::vector<Datum> sequence_of(std::vector<Tensor> items) {
  return {Datum{{}, true, std::move(items)}};
}

/// Items keep their elements when the plan reuses the memory that they were in.
Outputs sequence_construct(const FunctionCall& call) {
  std::vector<Tensor> items;
  for (const Datum& datum : call.inputs)
    items.push_back(copy_of(datum.tensor));
  return sequence_of(std::move(items));
}

Outputs sequence_empty(const FunctionCall&) { return sequence_of({}); }

Outputs sequence_insert(const FunctionCall& call) {
  std::vector<Tensor> items = call.inputs[0].items;
  const auto size = static_cast<int64_t>(items.size());
  const int64_t at = place_of(call, 2, size, size);
  if (!call.inputs[0].is_sequence || at < 0 || at > size)
    return fail(fmt::format("there is no place {} in a sequence of {}", at, size));
  items.insert(items.begin() + at, copy_of(call.tensor(1)));
  return sequence_of(std::move(items));
}

Outputs sequence_erase(const FunctionCall& call) {
  std::vector<Tensor> items = call.inputs[0].items;
  const auto size = static_cast<int64_t>(items.size());
  const int64_t at = place_of(call, 1, size, size - 1);
  if (!call.inputs[0].is_sequence || at < 0 || at >= size)
    return fail(fmt::format("there is no item {} in a sequence of {}", at, size));
  items.erase(items.begin() + at);
  return sequence_of(std::move(items));
}

Outputs sequence_at(const FunctionCall& call) {
  const auto size = static_cast<int64_t>(call.inputs[0].items.size());
  const int64_t at = place_of(call, 1, size, -1);
  if (!call.inputs[0].is_sequence || at < 0 || at >= size)
    return fail(fmt::format("there is no item {} in a sequence of {}", at, size));
  return one(call.inputs[0].items[static_cast<size_t>(at)]);
}

Outputs sequence_length(const FunctionCall& call) {
  Tensor out(DataType::I64, {});
  out.set_int(0, static_cast<int64_t>(call.inputs[0].items.size()));
  return one(std::move(out));
}

/// The value itself, with elements of its own: those of its operand may be reused.
Outputs identity(const FunctionCall& call) {
  Datum datum = call.inputs.empty() ? Datum{} : call.inputs[0];
  if (datum.tensor)
    datum.tensor = copy_of(datum.tensor);
  return std::vector<Datum>{std::move(datum)};
}

/// Elements of `x` from `begin`, `count` of them, along `axis`.
Tensor part_of(const Tensor& x, size_t axis, int64_t begin, int64_t count) {
  Shape shape = x.shape();
  int64_t outer = 1;
  for (size_t k = 0; k < axis; ++k)
    outer *= shape[k];
  const int64_t extent = shape[axis];
  shape[axis] = count;
  Tensor out(x.type(), shape);
  const int64_t bytes = outer * extent == 0 ? 0 : x.bytes() / (outer * extent);
  for (int64_t a = 0; a < outer; ++a)
    std::memcpy(out.data() + a * count * bytes, x.data() + (a * extent + begin) * bytes,
                static_cast<size_t>(count * bytes));
  return out;
}

Outputs split_to_sequence(const FunctionCall& call) {
  const Tensor& x = call.tensor(0);
  const int64_t axis = axis_of(call.integer("axis", 0), x.rank());
  if (axis < 0)
    return fail(std::string("the axis is outside the tensor"));
  const int64_t extent = x.shape()[static_cast<size_t>(axis)];
  std::vector<int64_t> sizes;
  const bool is_list = call.has(1) && call.tensor(1).rank() > 0;
  if (is_list)
    for (int64_t k = 0; k < call.tensor(1).elements(); ++k)
      sizes.push_back(call.tensor(1).get_int(k));
  const int64_t each = call.has(1) && !is_list ? call.tensor(1).get_int(0) : 1;
  for (int64_t at = 0; !is_list && each > 0 && at < extent; at += each)
    sizes.push_back(std::min(each, extent - at));
  int64_t total = 0;
  for (const int64_t size : sizes)
    total += size < 0 ? extent + 1 : size;
  if (total != extent)
    return fail(fmt::format("the parts do not make up {} elements", extent));
  const bool keeps = call.integer("keepdims", 1) != 0 || call.has(1);
  std::vector<Tensor> items;
  int64_t begin = 0;
  for (const int64_t size : sizes) {
    Tensor part = part_of(x, static_cast<size_t>(axis), begin, size);
    begin += size;
    if (!keeps) {
      Shape shape = part.shape();
      shape.erase(shape.begin() + axis);
      part = part.with_shape(shape);
    }
    items.push_back(std::move(part));
  }
  return sequence_of(std::move(items));
}

Outputs concat_from_sequence(const FunctionCall& call) {
  std::vector<Tensor> items = call.inputs[0].items;
  if (items.empty())
    return fail(std::string("an empty sequence cannot be joined"));
  const bool is_new = call.integer("new_axis", 0) != 0;
  const int64_t axis = axis_of(call.integer("axis", 0), items[0].rank() + (is_new ? 1 : 0));
  if (axis < 0)
    return fail(std::string("the axis is outside the tensors"));
  int64_t total = 0;
  Shape common;
  for (Tensor& item : items) {
    Shape shape = item.shape();
    if (is_new)
      shape.insert(shape.begin() + std::min<int64_t>(axis, item.rank()), 1);
    item = item.with_shape(shape);
    if (axis >= item.rank())
      return fail(std::string("the items differ in their dimensions"));
    total += shape[static_cast<size_t>(axis)];
    shape[static_cast<size_t>(axis)] = 0;
    if (!common.empty() && common != shape)
      return fail(std::string("the items differ in their dimensions"));
    common = shape;
  }
  int64_t outer = 1;
  for (int64_t k = 0; k < axis; ++k)
    outer *= common[static_cast<size_t>(k)];
  common[static_cast<size_t>(axis)] = total;
  Tensor out(items[0].type(), common);
  const int64_t row = outer == 0 ? 0 : out.bytes() / outer;
  int64_t from = 0;
  for (const Tensor& item : items) {
    if (item.type() != out.type())
      return fail(std::string("the items differ in type"));
    const int64_t bytes = outer == 0 ? 0 : item.bytes() / outer;
    for (int64_t a = 0; a < outer; ++a)
      std::memcpy(out.data() + a * row + from, item.data() + a * bytes, static_cast<size_t>(bytes));
    from += bytes;
  }
  return one(std::move(out));
}

Outputs optional_has_element(const FunctionCall& call) {
  Tensor out(DataType::Bool, {});
  out.set_int(0, call.has(0) ? 1 : 0);
  return one(std::move(out));
}

constexpr Function kAll[] = {{"ConcatFromSequence", 1, concat_from_sequence},
                             {"Identity", 1, identity},
                             {"Optional", 0, identity},
                             {"OptionalGetElement", 1, identity},
                             {"OptionalHasElement", 0, optional_has_element},
                             {"SequenceAt", 2, sequence_at},
                             {"SequenceConstruct", 1, sequence_construct},
                             {"SequenceEmpty", 0, sequence_empty},
                             {"SequenceErase", 1, sequence_erase},
                             {"SequenceInsert", 2, sequence_insert},
                             {"SequenceLength", 1, sequence_length},
                             {"SplitToSequence", 1, split_to_sequence}};

} // namespace of_sequence
} // namespace

std::span<const Function> sequence_functions() { return of_sequence::kAll; }

} // namespace kawara::run
