#include "oracle/triangles/triangle_reference.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>

namespace kawara::oracle {
namespace {

int64_t floor_of(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

float nearest_bf16(float x) {
  uint32_t bits = std::bit_cast<uint32_t>(x);
  if (std::isnan(x))
    return x;
  const uint32_t odd = (bits >> 16) & 1;
  bits = (bits + 0x7fff + odd) & 0xffff0000U;
  return std::bit_cast<float>(bits);
}

bool is_whole(const std::string& elem) { return elem[0] == 'i'; }

/// What a tensor keeps of a number.
double kept(const std::string& elem, double x) {
  if (elem == "f64")
    return x;
  if (elem == "f32")
    return static_cast<double>(static_cast<float>(x));
  if (elem == "bf16")
    return static_cast<double>(nearest_bf16(static_cast<float>(x)));
  const auto whole = static_cast<int64_t>(x);
  return elem == "i8" ? static_cast<double>(static_cast<int8_t>(whole))
                      : static_cast<double>(static_cast<int32_t>(whole));
}

class Walker {
public:
  Walker(const Triangle& program, const std::vector<int64_t>& params,
         std::vector<TriangleArray>& arrays)
      : program_(program), params_(params), arrays_(arrays), loops_(program.loops.size(), 0) {}

  void run(const std::vector<TriangleNode>& nodes) {
    for (const TriangleNode& node : nodes)
      if (node.is_loop)
        loop(node);
      else
        statement(node);
  }

private:
  int64_t value_of(const Linear& e) const {
    int64_t sum = e.constant;
    for (size_t l = 0; l < e.loops.size(); ++l)
      sum += e.loops[l] * loops_[l];
    for (size_t p = 0; p < e.params.size(); ++p)
      sum += e.params[p] * params_[p];
    return floor_of(sum, e.divisor);
  }

  void loop(const TriangleNode& node) {
    int64_t first = value_of(node.lo[0]), end = value_of(node.hi[0]);
    for (const Linear& e : node.lo)
      first = std::max(first, value_of(e));
    for (const Linear& e : node.hi)
      end = std::min(end, value_of(e));
    for (int64_t at = first; at < end; at += node.step) {
      loops_[node.loop] = at;
      run(node.body);
    }
  }

  TriangleElement& element(size_t tensor, const std::vector<Linear>& index) {
    TriangleArray& array = arrays_[tensor];
    int64_t position = 0;
    for (size_t d = 0; d < index.size(); ++d) {
      const int64_t at = value_of(index[d]);
      if (at < 0 || at >= array.shape[d])
        throw std::runtime_error("outside " + program_.tensors[tensor].name);
      position = position * array.shape[d] + at;
    }
    return array.elements[static_cast<size_t>(position)];
  }

  /// Whole numbers are computed in 32 bits, f64 in itself, the others in f32.
  double rounded(double x) const {
    if (is_whole(elem_))
      return static_cast<double>(static_cast<int32_t>(static_cast<int64_t>(x)));
    return elem_ == "f64" ? x : static_cast<double>(static_cast<float>(x));
  }

  TriangleElement combined(TriangleValue::Kind kind, const TriangleElement& a,
                           const TriangleElement& b) const {
    using Kind = TriangleValue::Kind;
    switch (kind) {
    case Kind::Add:
      return {rounded(a.value + b.value), a.size + b.size};
    case Kind::Subtract:
      return {rounded(a.value - b.value), a.size + b.size};
    case Kind::Multiply:
      if (is_whole(elem_)) {
        const int64_t product = static_cast<int64_t>(a.value) * static_cast<int64_t>(b.value);
        return {static_cast<double>(static_cast<int32_t>(product)), 0};
      }
      return {rounded(a.value * b.value), a.size * b.size};
    default:
      return {extreme(a.value, b.value, kind == Kind::Max), std::max(a.size, b.size)};
    }
  }

  /// NaN where one of the two is.
  static double extreme(double a, double b, bool is_max) {
    if (std::isnan(a) || std::isnan(b))
      return std::nan("");
    return is_max ? std::max(a, b) : std::min(a, b);
  }

  TriangleElement value(const TriangleValue& v) {
    switch (v.kind) {
    case TriangleValue::Kind::Load:
      return element(v.tensor, v.index);
    case TriangleValue::Kind::Number:
      return {static_cast<double>(v.number), std::abs(static_cast<double>(v.number))};
    case TriangleValue::Kind::Loop: {
      const auto at = static_cast<double>(loops_[static_cast<size_t>(v.number)]);
      return {at, std::abs(at)};
    }
    default: {
      const TriangleElement a = value(v.operands[0]), b = value(v.operands[1]);
      return combined(v.kind, a, b);
    }
    }
  }

  void statement(const TriangleNode& node) {
    using Kind = TriangleValue::Kind;
    elem_ = program_.tensors[node.tensor].elem;
    const TriangleElement given = value(node.value);
    TriangleElement& target = element(node.tensor, node.index);
    TriangleElement now = given;
    if (node.op != "=")
      now = combined(node.op == "+="     ? Kind::Add
                     : node.op == "-="   ? Kind::Subtract
                     : node.op == "*="   ? Kind::Multiply
                     : node.op == "max=" ? Kind::Max
                                         : Kind::Min,
                     target, given);
    target = {kept(elem_, now.value), std::max(now.size, std::abs(now.value))};
  }

  const Triangle& program_;
  const std::vector<int64_t>& params_;
  std::vector<TriangleArray>& arrays_;
  std::vector<int64_t> loops_;
  std::string elem_; ///< of the tensor that the statement writes
};

} // namespace

TriangleArray start_of(const Triangle& program, size_t tensor, const std::vector<int64_t>& params,
                       uint64_t seed) {
  const TriangleTensor& t = program.tensors[tensor];
  TriangleArray array;
  int64_t count = 1;
  for (const Linear& e : t.shape) {
    int64_t extent = e.constant;
    for (size_t p = 0; p < e.params.size(); ++p)
      extent += e.params[p] * params[p];
    array.shape.push_back(extent);
    count *= extent;
  }
  uint64_t state = (seed * 31 + tensor + 1) * 0x9e3779b97f4a7c15ULL;
  const bool is_given = t.role == "input" || t.role == "inout";
  for (int64_t c = 0; c < count; ++c) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    const double value = is_given ? static_cast<double>((state >> 40) % 7) - 3 : 0;
    array.elements.push_back({value, std::abs(value)});
  }
  return array;
}

void run_as_written(const Triangle& program, const std::vector<int64_t>& params,
                    std::vector<TriangleArray>& arrays) {
  Walker(program, params, arrays).run(program.body);
}

} // namespace kawara::oracle
