#include "run/cpu/call_refusals.h"

#include <fmt/format.h>

namespace kawara::run {
namespace {

Diagnostic diagnostic(const char* code, std::string headline, std::string body, std::string help) {
  Diagnostic d;
  d.code = code;
  d.headline = std::move(headline);
  d.body.push_back(std::move(body));
  d.help.push_back({"", std::move(help), false});
  return d;
}

Diagnostic divided_by_zero(const std::string& name) {
  Diagnostic d = diagnostic(
      "K0412", "integer division by zero",
      fmt::format("Kernel `{}` divided an integer by zero; its results are not to be used.", name),
      "");
  d.help = {{"guard the divisor", "select(d != 0, n // d, 0)", false}};
  return d;
}

/// What a thread said before it stopped.
Diagnostic index_outside(const emit::Signature& signature, const emit::RuntimeFaults& faults) {
  const auto number = static_cast<size_t>(faults.outside.load() - 1);
  const emit::IndexCheck& check = signature.checks.at(number);
  std::string element;
  for (int64_t d = 0; d < check.index_rank; ++d)
    element +=
        (d == 0 ? "" : ", ") + std::to_string(faults.element.at(static_cast<size_t>(d)).load());
  const std::string source =
      check.index_tensor.empty()
          ? "a range that is read from data"
          : "`" + check.index_tensor + (element.empty() ? "" : "[" + element + "]") + "`";
  Diagnostic d = diagnostic(
      "K0413", fmt::format("index {} is outside of `{}`", faults.index.load(), check.tensor),
      fmt::format("It is what {} gives for dimension {} of `{}`{}, whose extent is {}; indices "
                  "start at 0.",
                  source, check.dim, check.tensor,
                  check.statement.empty() ? "" : " in " + check.statement, faults.extent.load()),
      "keep indices inside:  x[min(max(idx[i], 0), N - 1)]");
  d.label = check.statement;
  d.body.push_back(
      fmt::format("Kernel `{}` stopped there; its results are not to be used.", signature.name));
  return d;
}

std::string names_of(const std::vector<emit::BufferInfo>& buffers) {
  std::string text;
  for (const emit::BufferInfo& b : buffers)
    text += (text.empty() ? "" : ", ") + b.name;
  return text.empty() ? "none" : text;
}

std::string values_of(const emit::Signature& signature, std::span<const int64_t> params) {
  std::string text;
  for (size_t p = 0; p < params.size(); ++p)
    text += fmt::format("{}{}={}", p == 0 ? "" : ", ", signature.params[p].name, params[p]);
  return text.empty() ? "no parameters" : text;
}

Diagnostic wrong_count(const char* code, const emit::Signature& signature, const char* what,
                       size_t wanted, size_t given, const std::string& names) {
  return diagnostic(code,
                    fmt::format("kernel `{}` takes {} {}, but {} were given", signature.name,
                                wanted, what, given),
                    fmt::format("In order: {}.", names), "pass exactly these, in this order");
}

} // namespace

std::optional<Diagnostic> refuse_arguments(const emit::Signature& signature,
                                           std::span<void* const> arguments,
                                           std::span<const int64_t> params) {
  if (arguments.size() != signature.arguments.size())
    return wrong_count("K0440", signature, "tensors", signature.arguments.size(), arguments.size(),
                       names_of(signature.arguments));
  if (params.size() != signature.params.size()) {
    std::string names;
    for (const program::Param& p : signature.params)
      names += (names.empty() ? "" : ", ") + p.name;
    return wrong_count("K0441", signature, "parameters", signature.params.size(), params.size(),
                       names.empty() ? "none" : names);
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    const emit::BufferInfo& info = signature.arguments[i];
    // A power of two; to divide by it would take as long as a small kernel.
    const int64_t element = scalar::bytes_of(info.elem);
    const bool is_misaligned =
        (reinterpret_cast<uintptr_t>(arguments[i]) & static_cast<uintptr_t>(element - 1)) != 0;
    if (!is_misaligned && arguments[i] != nullptr)
      continue;
    const auto bytes = emit::bytes_of(info, params);
    if (!is_misaligned && bytes && *bytes == 0)
      continue;
    return diagnostic(
        "K0442",
        fmt::format("tensor `{}` of kernel `{}` has no usable memory", info.name, signature.name),
        is_misaligned ? fmt::format("It starts at address {}, which is no multiple of {} bytes.",
                                    fmt::ptr(arguments[i]), element)
                      : std::string("Its pointer is null."),
        fmt::format("pass memory of element type {} that starts at a multiple of {} bytes",
                    scalar::name_of(info.elem), element));
  }
  return std::nullopt;
}

const emit::BufferInfo* unplannable(const emit::Signature& signature,
                                    std::span<const int64_t> params) {
  for (const emit::BufferInfo& buffer : signature.arguments)
    if (!emit::bytes_of(buffer, params))
      return &buffer;
  for (const auto* group : {&signature.workspace, &signature.scratch})
    for (const emit::BufferInfo& buffer : *group)
      if (!emit::own_bytes_of(buffer, params))
        return &buffer;
  return nullptr;
}

Diagnostic too_large(const emit::Signature& signature, const emit::BufferInfo& buffer,
                     std::span<const int64_t> params) {
  return diagnostic("K0443",
                    fmt::format("no memory can be planned for tensor `{}` of kernel `{}`",
                                buffer.name, signature.name),
                    fmt::format("With {} an extent of it is negative, or it does not fit into "
                                "this machine's memory.",
                                values_of(signature, params)),
                    "choose other parameter values");
}

std::optional<Diagnostic> fault_of(const emit::Signature& signature,
                                   const emit::RuntimeFaults& faults) {
  if (faults.outside.load() != 0)
    return index_outside(signature, faults);
  if (faults.divided_by_zero.load() != 0)
    return divided_by_zero(signature.name);
  return std::nullopt;
}

} // namespace kawara::run
