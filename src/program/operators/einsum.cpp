#include "program/operators/registry.h"

#include "support/text.h"

#include <algorithm>
#include <cctype>
#include <map>

namespace kawara::program::operators {
namespace {
namespace of_einsum {

/// An equation with a letter for every dimension: dots are replaced by digits.
struct Equation {
  std::vector<std::string> terms;
  std::string result;
  std::map<char, int64_t> extents;
};

/// Dimensions that the dots of a term stand for.
size_t dotted(const std::string& term, const Shape& shape) {
  if (term.find("...") == std::string::npos || shape.size() + 3 < term.size())
    return 0;
  return shape.size() + 3 - term.size();
}

std::string with_digits(std::string term, const std::string& digits) {
  const size_t at = term.find("...");
  return at == std::string::npos ? term : term.replace(at, 3, digits);
}

/// Result of an equation without an arrow: letters that occur once, in alphabetical order.
std::string implied_result(const std::vector<std::string>& terms, const std::string& digits) {
  std::map<char, int> uses;
  for (const std::string& term : terms)
    for (const char letter : term)
      ++uses[letter];
  std::string result = digits;
  for (const auto& [letter, count] : uses)
    if (count == 1 && !std::isdigit(static_cast<unsigned char>(letter)))
      result += letter;
  return result;
}

void find_extents(Definition& d, Equation& e) {
  for (size_t k = 0; k < e.terms.size(); ++k) {
    if (e.terms[k].size() != d.shape(k).size())
      return d.refuse(fmt::format("term `{}` does not fit the shape {}", e.terms[k],
                                  graph::text_of(d.shape(k))));
    for (size_t t = 0; t < e.terms[k].size(); ++t) {
      const auto [slot, is_new] = e.extents.emplace(e.terms[k][t], d.shape(k)[t]);
      if (!is_new && slot->second != d.shape(k)[t])
        d.refuse(fmt::format("`{}` stands for {} and for {}", e.terms[k][t], slot->second,
                             d.shape(k)[t]));
    }
  }
  for (const char letter : e.result)
    if (e.extents.count(letter) == 0)
      d.refuse(fmt::format("`{}` of the result occurs in no term", letter));
}

Equation equation_of(Definition& d) {
  std::string text = d.word("equation", "");
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  Equation e;
  const size_t arrow = text.find("->");
  for (const std::string_view term : split(std::string_view(text).substr(0, arrow), ','))
    e.terms.emplace_back(term);
  if (e.terms.size() != d.operands()) {
    d.refuse(fmt::format("equation `{}` has {} terms for {} inputs", printable(text),
                         e.terms.size(), d.operands()));
    return e;
  }
  size_t dots = 0;
  for (size_t k = 0; k < e.terms.size(); ++k)
    dots = std::max(dots, dotted(e.terms[k], d.shape(k)));
  if (dots > 9) {
    d.refuse("there are too many dimensions");
    return e;
  }
  const std::string digits = std::string("0123456789").substr(0, dots);
  for (size_t k = 0; k < e.terms.size(); ++k)
    e.terms[k] = with_digits(e.terms[k], digits.substr(dots - dotted(e.terms[k], d.shape(k))));
  e.result = arrow == std::string::npos ? implied_result(e.terms, digits)
                                        : with_digits(text.substr(arrow + 2), digits);
  find_extents(d, e);
  return e;
}

std::string name_of(char letter) {
  return fmt::format("e{}", static_cast<int>(static_cast<unsigned char>(letter)));
}

std::string index_of(const std::string& letters) {
  std::vector<std::string> names;
  for (const char letter : letters)
    names.push_back(name_of(letter));
  return join(names, ", ");
}

/// Letters become indices: those of the result are free, the others are summed over.
void einsum(Definition& d) {
  const Equation e = equation_of(d);
  if (d.is_settled())
    return;
  Shape shape;
  for (const char letter : e.result)
    shape.push_back(e.extents.at(letter));
  std::vector<std::string> factors, sums;
  for (size_t k = 0; k < e.terms.size(); ++k)
    factors.push_back(at("X" + std::to_string(k), index_of(e.terms[k])));
  for (const auto& [letter, extent] : e.extents)
    if (e.result.find(letter) == std::string::npos)
      sums.push_back(fmt::format("{} in range({})", name_of(letter), extent));
  d.output(d.type(0), shape);
  const std::string value = join(factors, " * ");
  d.line("{} = {}", at("Y0", index_of(e.result)),
         sums.empty() ? value : fmt::format("sum(({}), {})", join(sums, ", "), value));
}

constexpr Operator kAll[] = {{"Einsum", einsum}};

} // namespace of_einsum
} // namespace

std::span<const Operator> einsum_operators() { return of_einsum::kAll; }

} // namespace kawara::program::operators
