#include "kawara/arrays.h"
#include "kawara/usage.h"

#include "program/interpret/arguments.h"
#include "program/interpret/sizes_from_arrays.h"
#include "run/file.h"
#include "run/npy.h"
#include "run/npz.h"
#include "support/names_text.h"
#include "support/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace kawara::tools {

Result<std::pair<std::string, std::string>, Diagnostic>
binding_of(const std::string& option, const std::string& text, Names names,
           const std::vector<std::string>& tensors) {
  const size_t equals = names == Names::OfModel ? text.rfind('=') : text.find('=');
  if (equals != std::string::npos && equals != 0 && equals + 1 < text.size())
    return std::pair{text.substr(0, equals), text.substr(equals + 1)};
  if (tensors.size() == 1 && !text.empty() && equals == std::string::npos)
    return std::pair{tensors.front(), text};
  Diagnostic d;
  d.code = "K0434";
  d.headline = "`" + option + " " + text + "` does not name a tensor and a file";
  d.help.push_back(
      {"for example",
       option + " " +
           (equals == 0 ? "A=a.npy"
            : equals == std::string::npos
                ? (tensors.empty() ? "NAME" : printable(tensors.front())) + "=" + printable(text)
                : printable(text) + "FILE.npy"),
       false});
  return fail(std::move(d));
}

Diagnostic no_member(const std::string& name, const std::string& path) {
  return run::file_error("K0428", "`" + path + "` has no array called `" + printable(name) + "`",
                         "A .npz file is looked up by the tensor's name.",
                         "rename the member, or give a .npy file");
}

Result<program::Array, Diagnostic> read_array(const std::string& name, const std::string& path,
                                              const DeclaredInput& declared) {
  if (is_value(path))
    return array_from_value(name, path, declared);
  if (path.ends_with(".csv"))
    return array_from_csv(name, path, declared);
  if (!path.ends_with(".npz"))
    return run::read_npy(path);
  KAWARA_TRY(program::Arrays arrays, run::read_npz(path));
  const auto at = arrays.find(name);
  if (at == arrays.end())
    return fail(no_member(name, path));
  return std::move(at->second);
}

Parsed<program::Arrays> read_arrays(const program::Program& program,
                                    const std::vector<std::string>& bindings) {
  program::Arrays arrays;
  Diagnostics errors;
  std::map<std::string, std::string> named; ///< one by one, which goes before what an .npz file has
  std::vector<std::string> inputs;
  for (const program::Tensor& each : program.tensors)
    if ((each.role == program::Role::Input || each.role == program::Role::Inout) && !each.is_hidden)
      inputs.push_back(each.name);
  for (const std::string& text : bindings) {
    if (text.ends_with(".npz") && text.find('=') == std::string::npos) {
      auto all = run::read_npz(text);
      if (all)
        arrays.merge(*all);
      else
        errors.push_back(std::move(all).error());
      continue;
    }
    const auto binding = binding_of("--input", text, Names::OfProgram, inputs);
    if (!binding) {
      errors.push_back(binding.error());
      continue;
    }
    if (const auto [known, is_new] = named.insert(*binding); !is_new) {
      errors.push_back(given_twice("--input", binding->first, {known->second, binding->second}));
      continue;
    }
    const auto tensor = std::find_if(program.tensors.begin(), program.tensors.end(),
                                     [&](const program::Tensor& each) {
                                       return each.name == binding->first && !each.is_hidden;
                                     });
    // A name that the program does not take is refused for that, whatever follows it (K0407).
    Result<program::Array, Diagnostic> array =
        tensor == program.tensors.end()
            ? Result<program::Array, Diagnostic>(program::Array())
            : read_array(binding->first, binding->second, declared_input(program, *tensor));
    if (array)
      arrays[binding->first] = *std::move(array);
    else
      errors.push_back(std::move(array).error());
  }
  if (!errors.empty())
    return fail(std::move(errors));
  return arrays;
}

Parsed<program::Arrays> read_arrays_of(driver::Request& request,
                                       const std::vector<std::string>& bindings) {
  if (bindings.empty())
    return program::Arrays();
  KAWARA_TRY(const program::Program open, driver::program_of(request));
  KAWARA_TRY(program::Arrays given, read_arrays(open, bindings));
  if (auto known = program::check_names(open, given); !known)
    return fail(Diagnostics{std::move(known).error()});
  program::accept_raw_bits(open, given);
  request.sizes = program::sizes_from_arrays(open, given, request.sizes);
  return given;
}

Result<Done, Diagnostic> check_output_file(const std::string& binding) {
  const size_t sign = binding.find('=');
  const std::string path = sign == std::string::npos ? binding : binding.substr(sign + 1);
  if (path.ends_with(".npy") || path.ends_with(".npz") || path.ends_with(".csv"))
    return Done{};
  return fail(run::file_error("K0453",
                              "cannot write `" + printable(path) + "`: its ending names no format",
                              "Arrays are written as .npy, .npz or .csv, by the file's ending.",
                              "give the file one of these endings"));
}

namespace {

Result<Done, Diagnostic> write_table(const std::string& name, const std::string& path,
                                     const ShownElements& elements) {
  if (elements.shape.size() <= 2)
    return run::write_file(path, csv_of(elements));
  return fail(
      run::file_error("K0453", "`" + printable(name) + "` is no table",
                      fmt::format("A .csv file holds at most two dimensions, and it has {}.",
                                  elements.shape.size()),
                      "write a .npy file"));
}

} // namespace

Result<Done, Diagnostic> write_array(const std::string& name, const std::string& path,
                                     const program::Array& array) {
  KAWARA_TRY([[maybe_unused]] const Done done, check_output_file(path));
  if (path.ends_with(".npz"))
    return run::write_npz(path, {{name, array}});
  if (path.ends_with(".npy"))
    return run::write_npy(path, array);
  return write_table(name, path, elements_of(array));
}

Result<Done, Diagnostic> write_tensor(const std::string& name, const std::string& path,
                                      const graph::Tensor& tensor) {
  KAWARA_TRY([[maybe_unused]] const Done done, check_output_file(path));
  if (path.ends_with(".npz"))
    return run::write_npz_tensors(path, {{name, tensor}});
  if (path.ends_with(".npy"))
    return run::write_npy_tensor(path, tensor);
  return write_table(name, path, elements_of(tensor));
}

namespace {

std::string short_text(double number) {
  return std::isnan(number) ? "nan" : fmt::format("{:.6g}", number);
}

/// The fewest digits that give the number again; narrow floats are f32 without loss.
std::string exact_text(double number, bool is_f64) {
  return std::isnan(number) ? "nan"
         : is_f64           ? fmt::format("{}", number)
                            : fmt::format("{}", static_cast<float>(number));
}

template <class Integer> std::function<std::string(int64_t)> integer_texts(Integer integer) {
  return [integer](int64_t k) { return std::to_string(integer(k)); };
}

/// Elements that are conditions, floats, or integers that `integer` gives.
template <class Integer>
ShownElements elements_from(std::string type, std::vector<int64_t> shape,
                            std::function<double(int64_t)> number, bool is_float, Integer integer) {
  ShownElements elements{type, std::move(shape), {}, {}, number};
  if (is_float) {
    elements.element = [number](int64_t k) { return short_text(number(k)); };
    elements.exact = [number, is_f64 = type == "f64"](int64_t k) {
      return exact_text(number(k), is_f64);
    };
  } else if (type == "bool")
    elements.element =
        elements.exact = [number](int64_t k) { return number(k) != 0 ? "true" : "false"; };
  else
    elements.element = elements.exact = integer_texts(integer);
  return elements;
}

} // namespace

ShownElements elements_of(const program::Array& array) {
  const std::string type(scalar::name_of(array.elem()));
  const auto number = [&array](int64_t k) { return array.get_double(k); };
  if (array.elem() == scalar::Elem::U64)
    return elements_from(type, array.shape(), number, false,
                         [&array](int64_t k) { return static_cast<uint64_t>(array.get(k).i); });
  return elements_from(type, array.shape(), number, scalar::is_float(array.elem()),
                       [&array](int64_t k) { return array.get(k).i; });
}

ShownElements elements_of(const graph::Tensor& tensor) {
  const std::string type(graph::name_of(tensor.type()));
  const auto number = [&tensor](int64_t k) { return tensor.get_double(k); };
  if (tensor.type() == graph::DataType::U64)
    return elements_from(type, tensor.shape(), number, false,
                         [&tensor](int64_t k) { return static_cast<uint64_t>(tensor.get_int(k)); });
  return elements_from(type, tensor.shape(), number, graph::is_float(tensor.type()),
                       [&tensor](int64_t k) { return tensor.get_int(k); });
}

std::string text_of(const Summary& s) {
  return fmt::format(
      "min {:.6g}  max {:.6g}  mean {:.6g}{}", s.low, s.high, s.mean,
      s.nans == 0 ? "" : fmt::format("  NaN in {} element{}", s.nans, s.nans == 1 ? "" : "s"));
}

Diagnostic unknown_output(const std::string& name, Names names,
                          const std::vector<std::string>& known) {
  Diagnostic d;
  d.code = "K0435";
  d.headline = "no output is called `" + printable(name) + "`";
  std::vector<std::string> shown;
  for (const std::string& each : known)
    shown.push_back(printable(each));
  d.body.push_back(
      names_text(names == Names::OfModel ? "The model" : "The program", "output", shown));
  if (const auto meant = closest(name, known))
    d.help.push_back({"did you mean", printable(*meant), false});
  return d;
}

} // namespace kawara::tools
