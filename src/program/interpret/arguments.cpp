#include "program/interpret/arguments.h"

#include "program/interpret/index_values.h"
#include "program/text/assumption_place.h"
#include "support/check.h"
#include "support/text.h"

#include <algorithm>
#include <cctype>

namespace kawara::program {
namespace {

using Shapes = std::vector<std::vector<int64_t>>;

// No machine holds an array of this size, and sizes below it multiply without overflow.
constexpr int64_t kMostBytes = int64_t{1} << 46;

Diagnostic diagnostic(const Program& program, std::string code, std::string headline, Span where) {
  Diagnostic d;
  d.code = std::move(code);
  d.headline = std::move(headline);
  d.source = program.source;
  d.where = where;
  return d;
}

std::string quoted(const std::string& name) { return "`" + name + "`"; }

Result<Done, Diagnostic> check_params(const Program& program, const std::vector<int64_t>& params) {
  KAWARA_CHECK(params.size() == program.params.size(),
               std::to_string(params.size()) + " values for " +
                   std::to_string(program.params.size()) + " parameters");
  for (size_t p = 0; p < params.size(); ++p) {
    if (params[p] >= 0)
      continue;
    const std::string& name = program.params[p].name;
    Diagnostic d = diagnostic(
        program, "K0404", "parameter " + quoted(name) + " cannot be " + std::to_string(params[p]),
        program.params[p].where);
    d.body = {"A parameter is a size: zero or more."};
    d.help = {{"give a size", "-p " + name + "=8", false}};
    return fail(d);
  }
  for (size_t a = 0; a < program.assumptions.size(); ++a) {
    const Expr& assumption = program.assumptions[a];
    const auto holds = scalar::evaluate_index(assumption, {}, params);
    if (holds && *holds != 0)
      continue;
    const std::string text = scalar::to_string(assumption, names_of(program));
    Diagnostic d = diagnostic(program, "K0405",
                              "the program assumes " + quoted(text) + ", which does not hold",
                              assumption_place(program, a));
    d.body = {"It was asked to run with " + params_text(program, params) + "."};
    d.help = {{"choose sizes for which " + text + ", or drop the line", "assume " + text, false}};
    return fail(d);
  }
  return Done{};
}

/// "[N, 2]" as the file has it, also where sizes have been put in since; else from the program.
/// Empty of a scalar.
std::string declared_shape(const Program& program, const Tensor& tensor) {
  if (tensor.shape.empty())
    return "";
  if (program.source != nullptr && !tensor.where.is_nowhere()) {
    const std::string& text = program.source->text;
    const size_t open = text.find('[', tensor.where.end), close = text.find(']', open);
    if (close != std::string::npos)
      return text.substr(open, close + 1 - open);
  }
  std::vector<std::string> extents;
  for (const Expr& extent : tensor.shape)
    extents.push_back(scalar::to_string(extent, names_of(program)));
  return "[" + join(extents, ", ") + "]";
}

/// One extent as it is declared, though its parameters may be numbers by now.
std::string declared_extent(const Program& program, const Tensor& tensor, size_t dimension) {
  const std::string shape = declared_shape(program, tensor);
  size_t begin = 1, found = 0;
  int depth = 0;
  for (size_t k = 1; k < shape.size(); ++k) {
    depth += shape[k] == '(' ? 1 : shape[k] == ')' ? -1 : 0;
    if (depth > 0 || (shape[k] != ',' && shape[k] != ']'))
      continue;
    if (found++ == dimension)
      return std::string(trim(std::string_view(shape).substr(begin, k - begin)));
    begin = k + 1;
  }
  return scalar::to_string(tensor.shape[dimension], names_of(program));
}

Result<std::vector<int64_t>, Diagnostic> shape_at(const Program& program, const Tensor& tensor,
                                                  const std::vector<int64_t>& params) {
  std::vector<int64_t> shape;
  int64_t bytes = scalar::bytes_of(tensor.elem);
  bool fits = true;
  std::optional<size_t> negative;
  for (const Expr& e : tensor.shape) {
    const auto extent = scalar::evaluate_index(e, {}, params);
    KAWARA_CHECK(extent, "shape of " + tensor.name);
    shape.push_back(*extent);
    if (*extent < 0 && !negative)
      negative = shape.size() - 1;
    fits = fits && *extent >= 0 && *extent <= kMostBytes &&
           !__builtin_mul_overflow(bytes, std::max<int64_t>(*extent, 1), &bytes) &&
           bytes <= kMostBytes;
  }
  if (fits)
    return shape;
  Diagnostic d =
      diagnostic(program, "K0406",
                 "tensor " + quoted(tensor.name) + " cannot have the shape " + shape_text(shape),
                 tensor.where);
  d.body = {"That is its shape at " + params_text(program, params) +
            (negative ? "; no dimension may be negative." : "; no machine has that much memory.")};
  if (negative)
    d.help = {{"choose other sizes, or state in the program which sizes are meant",
               "assume " + declared_extent(program, tensor, *negative) + " >= 0", false}};
  else
    d.help = {{"choose smaller sizes", "", false}};
  return fail(d);
}

bool is_given(const Tensor& t) { return t.role == Role::Input || t.role == Role::Inout; }

Diagnostic missing(const Program& program, const Tensor& tensor,
                   const std::vector<int64_t>& shape) {
  Diagnostic d =
      diagnostic(program, "K0401", "no array was given for " + quoted(tensor.name), tensor.where);
  d.label = "has the role " + std::string(name_of(tensor.role));
  d.body = {"It needs " + std::string(scalar::name_of(tensor.elem)) + shape_text(shape) + "."};
  d.help = {{"give one", "--input " + tensor.name + "=" + tensor.name + ".npy", false}};
  return d;
}

Diagnostic of_other_rank(const Program& program, const Tensor& tensor, const Array& array) {
  const auto dimensions = [](size_t count) {
    return std::to_string(count) + (count == 1 ? " dimension" : " dimensions");
  };
  Diagnostic d = diagnostic(program, "K0402",
                            "the array for " + quoted(tensor.name) + " has " +
                                dimensions(array.shape().size()) + ", not " +
                                std::to_string(tensor.shape.size()),
                            tensor.where);
  d.body = {"Its shape is " + shape_text(array.shape()) + "."};
  d.help = {{"give an array of " + dimensions(tensor.shape.size()), "", false}};
  return d;
}

Result<Done, Diagnostic> check_given(const Program& program, const Tensor& tensor,
                                     const std::vector<int64_t>& shape, const Array& array,
                                     const std::vector<int64_t>& params) {
  const std::string found = std::string(scalar::name_of(array.elem())) + shape_text(array.shape());
  const std::string needed = std::string(scalar::name_of(tensor.elem)) + shape_text(shape);
  if (array.shape() != shape) {
    Diagnostic d = diagnostic(program, "K0402",
                              "the array for " + quoted(tensor.name) + " has the shape " +
                                  shape_text(array.shape()) + ", not " + shape_text(shape),
                              tensor.where);
    const bool is_fixed = program.params.empty();
    d.body = {"The declared shape is " + shape_text(shape) +
              (is_fixed ? "" : " at " + params_text(program, params)) + "."};
    d.help = {{"give an array of the type " + needed + (is_fixed ? "" : ", or other parameters"),
               "", false}};
    return fail(d);
  }
  if (array.elem() != tensor.elem) {
    Diagnostic d = diagnostic(program, "K0403",
                              "the array for " + quoted(tensor.name) + " holds " +
                                  std::string(scalar::name_of(array.elem())) + ", not " +
                                  std::string(scalar::name_of(tensor.elem)),
                              tensor.where);
    d.body = {"Found " + found + ", needed " + needed + ". Arrays are not converted silently."};
    const std::string in_numpy = scalar::numpy_name(scalar::name_of(tensor.elem));
    if (!in_numpy.empty())
      d.help.push_back(
          {"convert it in NumPy", tensor.name + ".astype(np." + in_numpy + ")", false});
    d.help.push_back({in_numpy.empty() ? "declare the tensor as" : "or declare the tensor as",
                      tensor.name + ": " + std::string(scalar::name_of(array.elem())) +
                          declared_shape(program, tensor),
                      false});
    return fail(d);
  }
  return Done{};
}

Diagnostic unused(const Program& program, const std::string& name) {
  std::string wanted;
  std::vector<std::string> names;
  const Tensor* same = nullptr;
  const Tensor* first_given = nullptr;
  for (const Tensor& t : program.tensors) {
    if (is_given(t)) {
      wanted += (wanted.empty() ? "" : ", ") + quoted(t.name);
      names.push_back(t.name);
      first_given = first_given != nullptr ? first_given : &t;
    }
    if (t.name == name)
      same = &t;
  }
  const Tensor* shown = same != nullptr ? same : first_given;
  Diagnostic d = diagnostic(program, "K0407", "the program takes no array " + quoted(name),
                            shown != nullptr ? shown->where : Span{});
  if (shown != nullptr)
    d.label = same != nullptr ? "has the role " + std::string(name_of(same->role))
                              : "takes an array, as do all inputs and inouts";
  d.body = {wanted.empty() ? "It takes no arrays at all." : "It takes " + wanted + "."};
  const auto meant = closest(name, names);
  // One letter is another name rather than a misspelt one, but for its case.
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  if (meant && (name.size() > 1 || lower(name[0]) == lower((*meant)[0])))
    d.help = {{"did you mean", *meant, false}};
  else if (!wanted.empty())
    d.help = {{"use one of these names", "", false}};
  return d;
}

} // namespace

Result<Shapes, Diagnostic> required_shapes(const Program& program,
                                           const std::vector<int64_t>& params) {
  KAWARA_TRY([[maybe_unused]] Done checked, check_params(program, params));
  Shapes shapes;
  for (const Tensor& tensor : program.tensors) {
    KAWARA_TRY(std::vector<int64_t> shape, shape_at(program, tensor, params));
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

void accept_raw_bits(const Program& program, Arrays& given) {
  for (const Tensor& tensor : program.tensors) {
    const auto array = given.find(tensor.name);
    if (array == given.end() || tensor.elem != scalar::Elem::BF16 ||
        array->second.elem() != scalar::Elem::U16)
      continue;
    Array bits(scalar::Elem::BF16, array->second.shape());
    std::copy_n(array->second.data(), bits.bytes(), bits.data());
    array->second = std::move(bits);
  }
}

Result<Done, Diagnostic> check_names(const Program& program, const Arrays& given) {
  for (const auto& [name, array] : given) {
    const auto at = std::find_if(program.tensors.begin(), program.tensors.end(),
                                 [&](const Tensor& t) { return t.name == name; });
    if (at == program.tensors.end() || !is_given(*at))
      return fail(unused(program, name));
    if (array.shape().size() != at->shape.size())
      return fail(of_other_rank(program, *at, array));
  }
  return Done{};
}

Result<std::vector<Array>, Diagnostic>
bind_arguments(const Program& program, const std::vector<int64_t>& params, Arrays given) {
  KAWARA_TRY(const Shapes shapes, required_shapes(program, params));
  std::vector<Array> arrays;
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    const Tensor& tensor = program.tensors[t];
    if (!is_given(tensor)) {
      arrays.emplace_back(tensor.elem, shapes[t]);
      continue;
    }
    const auto found = given.find(tensor.name);
    if (found == given.end())
      return fail(missing(program, tensor, shapes[t]));
    KAWARA_TRY([[maybe_unused]] Done checked,
               check_given(program, tensor, shapes[t], found->second, params));
    arrays.push_back(std::move(found->second));
    given.erase(found);
  }
  if (!given.empty())
    return fail(unused(program, given.begin()->first));
  return arrays;
}

Arrays results_of(const Program& program, std::vector<Array> arrays) {
  Arrays results;
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    const Role role = program.tensors[t].role;
    if (role == Role::Output || role == Role::Inout)
      results.emplace(program.tensors[t].name, std::move(arrays[t]));
  }
  return results;
}

Result<Arrays, Diagnostic> pattern_inputs(const Program& program,
                                          const std::vector<int64_t>& params, uint64_t seed) {
  KAWARA_TRY(const Shapes shapes, required_shapes(program, params));
  const auto indices = index_values(program, params, shapes);
  Arrays arrays;
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    const Tensor& tensor = program.tensors[t];
    if (!is_given(tensor))
      continue;
    Array array = fill_pattern(tensor.elem, shapes[t], seed * 1000 + t);
    for (int64_t c = 0; indices[t] && c < array.elements(); ++c)
      array.set(c, scalar::int_value(indices[t]->value(c, array.elements(), seed * 1000 + t)));
    arrays.emplace(tensor.name, std::move(array));
  }
  return arrays;
}

std::string params_text(const Program& program, const std::vector<int64_t>& params) {
  std::string text;
  for (size_t p = 0; p < params.size(); ++p)
    text += (text.empty() ? "" : ", ") + program.params[p].name + " = " + std::to_string(params[p]);
  return text.empty() ? "no parameters" : text;
}

} // namespace kawara::program
