#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// Hand-made ONNX files: the wire format in a few functions, so that tests can write what no
/// exporter would.
namespace kawara::onnx_bytes {

inline std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 128; value >>= 7)
    out += static_cast<char>(value % 128 + 128);
  return out + static_cast<char>(value);
}
inline std::string number(int field, int64_t value) {
  return varint(static_cast<uint64_t>(field) * 8) + varint(static_cast<uint64_t>(value));
}
inline std::string bytes(int field, const std::string& content) {
  return varint(static_cast<uint64_t>(field) * 8 + 2) + varint(content.size()) + content;
}

inline constexpr int kFloat = 1, kInt64 = 7, kString = 8;

/// ValueInfoProto of a tensor; a negative extent becomes the symbol "n".
inline std::string value(const std::string& name, int type, const std::vector<int64_t>& shape) {
  std::string dims;
  for (const int64_t extent : shape)
    dims += bytes(1, extent < 0 ? bytes(2, "n") : number(1, extent));
  return bytes(1, name) + bytes(2, bytes(1, number(1, type) + bytes(2, dims)));
}

inline std::string node(const std::string& op, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs,
                        const std::string& attributes = "") {
  std::string out;
  for (const std::string& name : inputs)
    out += bytes(1, name);
  for (const std::string& name : outputs)
    out += bytes(2, name);
  return out + bytes(3, "the_" + op) + bytes(4, op) + attributes;
}
inline std::string integer_attribute(const std::string& name, int64_t value) {
  return bytes(5, bytes(1, name) + number(3, value) + number(20, 2));
}

/// TensorProto with raw data.
inline std::string tensor(const std::string& name, int type, const std::vector<int64_t>& shape,
                          const std::string& raw) {
  std::string out;
  for (const int64_t extent : shape)
    out += number(1, extent);
  return out + number(2, type) + bytes(8, name) + bytes(9, raw);
}

struct Parts {
  std::vector<std::string> nodes, initializers, inputs, outputs;
};

inline std::string graph(const Parts& parts) {
  std::string out = bytes(2, "hand_made");
  for (const std::string& n : parts.nodes)
    out += bytes(1, n);
  for (const std::string& t : parts.initializers)
    out += bytes(5, t);
  for (const std::string& v : parts.inputs)
    out += bytes(11, v);
  for (const std::string& v : parts.outputs)
    out += bytes(12, v);
  return out;
}

inline std::string graph_attribute(const std::string& name, const Parts& parts) {
  return bytes(5, bytes(1, name) + bytes(6, graph(parts)) + number(20, 5));
}

inline std::string model(const Parts& parts, int64_t opset = 17) {
  return number(1, 8) + bytes(7, graph(parts)) + bytes(8, bytes(1, "") + number(2, opset));
}

} // namespace kawara::onnx_bytes
