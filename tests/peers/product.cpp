#include "peers/maker.h"

#include <algorithm>

namespace kawara::peers {
namespace {

/// Mostly floats: products of integers are rare.
DataType product_type(Maker& m) {
  static const std::vector<DataType> kIntegers = {DataType::I32, DataType::I64, DataType::U32,
                                                  DataType::U64};
  return m.chance(88) ? m.float_type() : m.one_of(kIntegers);
}

void add_matmul(Maker& m) {
  const DataType type = product_type(m);
  const auto fits = [&](const Val& v) { return v.type() == type && v.rank() >= 1; };
  const Val a = m.operand(fits, type, m.shape(1, 4));
  Shape shape;
  if (a.rank() == 1 || m.chance(15)) {
    shape = {a.shape().back()};
    if (m.chance(60))
      shape.push_back(m.between(1, 9));
  } else {
    if (m.chance(40))
      for (int64_t k = 0; k + 2 < a.rank(); ++k)
        shape.push_back(m.chance(30) ? 1 : a.extent(k));
    shape.push_back(a.shape().back());
    shape.push_back(m.chance(10) ? m.between(16, 40) : m.between(1, 9));
  }
  m.add("MatMul", {a, m.of(type, shape)});
}

void add_gemm(Maker& m) {
  const DataType type = product_type(m);
  const auto fits = [&](const Val& v) { return v.type() == type && v.rank() == 2; };
  const Val a = m.operand(fits, type, m.shape(2, 2));
  const int64_t left = m.pick(2), right = m.pick(2);
  const int64_t rows = a.extent(left), depth = a.extent(1 - left), columns = m.between(1, 17);
  std::vector<Val> all{a, m.of(type, right ? Shape{columns, depth} : Shape{depth, columns})};
  if (m.opset() < 11 || m.chance(60)) {
    const std::vector<Shape> shapes = {{rows, columns}, {columns}, {1, columns},
                                       {rows, 1},       {},        {1}};
    all.push_back(m.of(type, m.one_of(shapes)));
  }
  Attributes attributes;
  if (left || m.chance(30))
    attributes["transA"] = left;
  if (right || m.chance(30))
    attributes["transB"] = right;
  const bool is_float = graph::is_float(type);
  static const std::vector<double> kFactors = {0, 1, 2, 0.5, -1.5};
  if (m.chance(40))
    attributes["alpha"] = is_float ? m.one_of(kFactors) : 2.0;
  if (m.chance(40))
    attributes["beta"] = is_float ? m.one_of(kFactors) : 3.0;
  m.add("Gemm", all, attributes);
}

void add_einsum(Maker& m) {
  struct Form {
    const char* equation;
    std::vector<std::string> operands;
  };
  static const std::vector<Form> kForms = {{"ij,jk->ik", {"ij", "jk"}},
                                           {"bij,bjk->bik", {"bij", "bjk"}},
                                           {"ij->ji", {"ij"}},
                                           {"ij->i", {"ij"}},
                                           {"ii->i", {"ii"}},
                                           {"i,i->", {"i", "i"}},
                                           {"i,j->ij", {"i", "j"}},
                                           {"bij,bkj->bik", {"bij", "bkj"}},
                                           {"ij,ij->ij", {"ij", "ij"}},
                                           {"ijk->", {"ijk"}},
                                           {"ij,jk,kl->il", {"ij", "jk", "kl"}},
                                           {"bhid,bhjd->bhij", {"bhid", "bhjd"}},
                                           {"ij,jk", {"ij", "jk"}},
                                           {"abc,cd->abd", {"abc", "cd"}}};
  const Form form = m.one_of(kForms);
  std::map<char, int64_t> extents;
  for (const std::string& operand : form.operands)
    for (const char letter : operand)
      extents.try_emplace(letter, m.between(1, 5));
  const DataType type = m.chance(90) ? m.float_type() : m.int_type();
  std::vector<Val> all;
  for (const std::string& operand : form.operands) {
    Shape shape;
    for (const char letter : operand)
      shape.push_back(extents[letter]);
    all.push_back(m.of(type, shape));
  }
  m.add("Einsum", all, {{"equation", std::string(form.equation)}});
}

void add_convolution(Maker& m) {
  const int64_t dimensions = m.chance(70) ? 2 : m.chance(70) ? 1 : 3;
  const bool is_transposed = m.chance(30);
  const int64_t group = m.chance(30) ? m.between(2, 3) : 1, each = m.between(1, 5),
                filters = m.between(1, 6);
  Shape image{m.between(1, 3), group * each};
  Shape window = is_transposed ? Shape{group * each, filters} : Shape{group * filters, each};
  Ints strides, dilations, pads, extra;
  for (int64_t k = 0; k < dimensions; ++k) {
    const int64_t size = m.between(1, 3);
    strides.push_back(m.chance(60) ? 1 : m.between(1, 3));
    dilations.push_back(m.chance(75) ? 1 : 2);
    const int64_t reach = dilations.back() * (size - 1) + 1;
    window.push_back(size);
    image.push_back(std::max(reach, m.between(1, 8)));
    extra.push_back(strides.back() > 1 && m.chance(40) ? 1 : 0);
  }
  Attributes attributes;
  if (m.chance(50) || group > 1)
    attributes["group"] = group;
  if (m.chance(70))
    attributes["kernel_shape"] = Ints(window.begin() + 2, window.end());
  if (m.chance(70))
    attributes["strides"] = strides;
  if (m.chance(50))
    attributes["dilations"] = dilations;
  if (m.chance(20)) {
    attributes["auto_pad"] = m.word({"SAME_UPPER", "SAME_LOWER", "VALID"});
  } else if (m.chance(60)) {
    for (int64_t k = 0; k < 2 * dimensions; ++k)
      pads.push_back(m.pick(window[static_cast<size_t>(2 + k % dimensions)]));
    attributes["pads"] = pads;
  }
  if (is_transposed && attributes.count("strides") && m.chance(40))
    attributes["output_padding"] = extra;
  const DataType type = m.chance(85) ? DataType::F32 : m.float_type();
  std::vector<Val> all{m.of(type, image), m.fresh(type, window)};
  if (m.chance(60))
    all.push_back(m.fresh(type, {is_transposed ? group * filters : window[0]}));
  m.add(is_transposed ? "ConvTranspose" : "Conv", all, attributes);
}

void add_det(Maker& m) {
  const int64_t n = m.between(1, 4);
  m.add("Det", {m.fresh(m.chance(80) ? DataType::F32 : m.float_type(),
                        m.chance(50) ? Shape{n, n} : Shape{2, n, n})});
}

} // namespace

std::vector<Family> product_families() {
  return {{"matmul", add_matmul, 3},
          {"gemm", add_gemm, 2},
          {"einsum", add_einsum, 1},
          {"convolution", add_convolution, 4},
          {"det", add_det, 1}};
}

} // namespace kawara::peers
