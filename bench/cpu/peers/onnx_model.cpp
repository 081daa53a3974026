#include "cpu/peers/onnx_model.h"

#include <cstring>

namespace kawara::bench {
namespace {

// The wire format: a field is its number and kind, then a variable-length number, four bytes, or a
// length and that many bytes.
enum class Kind : uint8_t { Number = 0, Bytes = 2, Four = 5 };

void put_number(std::string& to, uint64_t value) {
  for (; value >= 128; value >>= 7U)
    to.push_back(static_cast<char>((value & 127U) | 128U));
  to.push_back(static_cast<char>(value));
}

void put_key(std::string& to, uint64_t field, Kind kind) {
  put_number(to, field << 3U | static_cast<uint64_t>(kind));
}

void put(std::string& to, uint64_t field, int64_t value) {
  put_key(to, field, Kind::Number);
  put_number(to, static_cast<uint64_t>(value));
}

void put(std::string& to, uint64_t field, const std::string& bytes) {
  put_key(to, field, Kind::Bytes);
  put_number(to, bytes.size());
  to += bytes;
}

void put(std::string& to, uint64_t field, float value) {
  put_key(to, field, Kind::Four);
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  to.append(bytes, sizeof value);
}

/// Name and type of an input or output.
std::string value_info(const std::string& name, OnnxType type, const OnnxModel::Shape& shape) {
  std::string dims, tensor, whole, info;
  for (const int64_t extent : shape) {
    std::string dim;
    put(dim, 1, extent);
    put(dims, 1, dim);
  }
  put(tensor, 1, static_cast<int64_t>(type));
  put(tensor, 2, dims);
  put(whole, 1, tensor);
  put(info, 1, name);
  put(info, 2, whole);
  return info;
}

std::string attribute_bytes(const OnnxModel::Attribute& attribute) {
  constexpr int64_t kFloat = 1, kInt = 2, kInts = 7;
  std::string bytes;
  put(bytes, 1, attribute.name);
  if (attribute.is_float)
    put(bytes, 2, attribute.value);
  for (const int64_t value : attribute.ints)
    put(bytes, attribute.is_list ? 8 : 3, value);
  put(bytes, 20, attribute.is_float ? kFloat : attribute.is_list ? kInts : kInt);
  return bytes;
}

std::string operator_set(const std::string& domain, int64_t version) {
  std::string bytes;
  put(bytes, 1, domain);
  put(bytes, 2, version);
  return bytes;
}

} // namespace

OnnxModel& OnnxModel::input(const std::string& name, OnnxType type, const Shape& shape) {
  put(graph_, 11, value_info(name, type, shape));
  return *this;
}

OnnxModel& OnnxModel::output(const std::string& name, OnnxType type, const Shape& shape) {
  put(graph_, 12, value_info(name, type, shape));
  return *this;
}

OnnxModel& OnnxModel::constant(const std::string& name, OnnxType type, const Shape& shape,
                               const void* data, size_t bytes) {
  std::string tensor;
  for (const int64_t extent : shape)
    put(tensor, 1, extent);
  put(tensor, 2, static_cast<int64_t>(type));
  put(tensor, 8, name);
  put(tensor, 9, std::string(static_cast<const char*>(data), bytes));
  put(graph_, 5, tensor);
  return *this;
}

OnnxModel& OnnxModel::node(const std::string& op, const std::vector<std::string>& inputs,
                           const std::string& output, const std::vector<Attribute>& attributes,
                           const std::string& domain) {
  std::string node;
  for (const std::string& name : inputs)
    put(node, 1, name);
  put(node, 2, output);
  put(node, 4, op);
  for (const Attribute& attribute : attributes)
    put(node, 5, attribute_bytes(attribute));
  put(node, 7, domain);
  put(graph_, 1, node);
  return *this;
}

std::string OnnxModel::bytes(int64_t opset) const {
  std::string graph = graph_, model;
  put(graph, 2, std::string("case"));
  put(model, 1, int64_t{8});
  put(model, 7, graph);
  put(model, 8, operator_set("", opset));
  put(model, 8, operator_set("com.microsoft", 1));
  return model;
}

} // namespace kawara::bench
