#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kawara::bench {

/// Element types by their numbers in ONNX files.
enum class OnnxType : uint8_t { F32 = 1, I8 = 3, I32 = 6, F16 = 10 };

/// Bytes of an ONNX model, written field by field.
class OnnxModel {
public:
  using Shape = std::vector<int64_t>;
  struct Attribute {
    std::string name;
    std::vector<int64_t> ints; ///< one: a single number; more: a list
    bool is_list = false;
    bool is_float = false;
    float value = 0;
  };
  static Attribute number(std::string name, int64_t value) {
    return {std::move(name), {value}, false, false, 0};
  }
  static Attribute list(std::string name, std::vector<int64_t> values) {
    return {std::move(name), std::move(values), true, false, 0};
  }
  static Attribute real(std::string name, float value) {
    return {std::move(name), {}, false, true, value};
  }

  OnnxModel& input(const std::string& name, OnnxType, const Shape&);
  OnnxModel& output(const std::string& name, OnnxType, const Shape&);
  OnnxModel& constant(const std::string& name, OnnxType, const Shape&, const void* data,
                      size_t bytes);
  OnnxModel& node(const std::string& op, const std::vector<std::string>& inputs,
                  const std::string& output, const std::vector<Attribute>& attributes = {},
                  const std::string& domain = "");

  /// The whole file, for this version of the operators.
  std::string bytes(int64_t opset) const;

private:
  std::string graph_;
};

} // namespace kawara::bench
