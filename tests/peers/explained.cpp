#include "peers/explained.h"

#include <algorithm>
#include <cmath>

namespace kawara::peers {

double NodeCase::run_in_subprocess() const {
  const double a = our_element(), b = their_element();
  return std::isfinite(a) && std::isfinite(b) ? std::abs(a - b) : INFINITY;
}

int64_t NodeCase::integer(const std::string& attribute, int64_t otherwise) const {
  const auto found = node.attributes.find(attribute);
  return found == node.attributes.end() ? otherwise : std::get<int64_t>(found->second);
}

std::string NodeCase::word(const std::string& attribute, const std::string& otherwise) const {
  const auto found = node.attributes.find(attribute);
  return found == node.attributes.end() ? otherwise : std::get<std::string>(found->second);
}

bool has_nan(const Tensor& tensor) {
  for (int64_t k = 0; tensor && graph::is_float(tensor.type()) && k < tensor.elements(); ++k)
    if (std::isnan(tensor.get_double(k)))
      return true;
  return false;
}

bool has_infinity(const Tensor& tensor) {
  for (int64_t k = 0; tensor && graph::is_float(tensor.type()) && k < tensor.elements(); ++k)
    if (std::isinf(tensor.get_double(k)))
      return true;
  return false;
}

double largest_finite(const Tensor& tensor) {
  double largest = 0;
  for (int64_t k = 0; tensor && k < tensor.elements(); ++k)
    if (const double element = std::abs(tensor.get_double(k)); std::isfinite(element))
      largest = std::max(largest, element);
  return largest;
}

std::vector<Explanation> explanations() {
  std::vector<Explanation> all = explained_numbers();
  for (const Explanation& each : explained_meanings())
    all.push_back(each);
  return all;
}

const Explanation* explanation_of(const NodeCase& differing) {
  static const std::vector<Explanation> all = explanations();
  for (const Explanation& each : all)
    if (each.holds(differing))
      return &each;
  return nullptr;
}

} // namespace kawara::peers
