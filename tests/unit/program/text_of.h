#pragma once

#include "program/program.h"

#include <gtest/gtest.h>

#include <string>

namespace kawara::program {

/// The program of a text that must be right.
inline Program parsed(const std::string& text) {
  auto result = parse(make_source("t.kw", text));
  if (result)
    return *std::move(result);
  ADD_FAILURE() << render(result.error()) << "in\n" << text;
  return {};
}

/// The codes of the errors in a text, in their order: "K0121 K0130".
inline std::string codes_of(const std::string& text) {
  const auto result = parse(make_source("t.kw", text));
  std::string codes;
  if (!result)
    for (const Diagnostic& d : result.error())
      codes += (codes.empty() ? "" : " ") + d.code;
  return codes;
}

/// The loops and statements of the printed program, without the declarations.
inline std::string body_of(const std::string& text) {
  const std::string printed = print(parsed(text));
  const size_t blank = printed.find("\n\n");
  return blank == std::string::npos ? printed : printed.substr(blank + 2);
}

} // namespace kawara::program
