#pragma once

#include "driver/session.h"
#include "graph/tensor.h"
#include "kawara/shown_elements.h"
#include "kawara/text_values.h"
#include "program/interpret/values.h"
#include "support/diagnostic.h"

#include <string>
#include <utility>

namespace kawara::tools {

/// Whose tensors are named: names in a program are words, those in a model any text, which may have
/// a `=`.
enum class Names : uint8_t { OfProgram, OfModel };

/// NAME and FILE of `--input NAME=FILE` or `--output NAME=FILE`; FILE alone is for the only one of
/// the tensors that may be named. Refuses text that has no such two (K0434).
Result<std::pair<std::string, std::string>, Diagnostic>
binding_of(const std::string& option, const std::string& text, Names,
           const std::vector<std::string>& tensors);

/// The number that stands instead of a path (text_values.h), the array in a .npy or .csv file, or
/// the member of that name in a .npz file. Refuses what cannot be read, and a file without such a
/// member (K0428).
Result<program::Array, Diagnostic> read_array(const std::string& name, const std::string& path,
                                              const DeclaredInput&);
/// K0428: a .npz file has no such member.
Diagnostic no_member(const std::string& name, const std::string& path);
/// All arrays of `--input`: NAME=FILE, NAME=NUMBER, or a .npz file whose members have the names of
/// tensors.
Parsed<program::Arrays> read_arrays(const program::Program&,
                                    const std::vector<std::string>& bindings);
/// The same for a program, which takes the sizes that are not given from them.
Parsed<program::Arrays> read_arrays_of(driver::Request&, const std::vector<std::string>& bindings);
/// Refuses a file to write, or NAME=FILE, that ends in none of .npy, .npz and .csv (K0453).
Result<Done, Diagnostic> check_output_file(const std::string& binding);
/// Into a .npy file, as the only member of a .npz file, or as a table of at most two dimensions
/// into a .csv file (K0453).
Result<Done, Diagnostic> write_array(const std::string& name, const std::string& path,
                                     const program::Array&);

Result<Done, Diagnostic> write_tensor(const std::string& name, const std::string& path,
                                      const graph::Tensor&);

ShownElements elements_of(const program::Array&);
ShownElements elements_of(const graph::Tensor&);

/// Elements at a glance. NaN counts in the mean and on its own, and for the least and the largest
/// where there is nothing else.
struct Summary {
  double low = 0, high = 0, mean = 0;
  int64_t nans = 0;
};
/// Of so many elements, `element(k)` the kth.
template <class Element> Summary summary_of(int64_t elements, Element element) {
  Summary s;
  bool is_first = true;
  for (int64_t k = 0; k < elements; ++k) {
    const double v = element(k);
    s.mean += v;
    if (v != v) {
      ++s.nans;
      continue;
    }
    s.low = is_first || v < s.low ? v : s.low;
    s.high = is_first || v > s.high ? v : s.high;
    is_first = false;
  }
  if (is_first && s.nans > 0)
    s.low = s.high = s.mean;
  s.mean /= elements > 0 ? static_cast<double>(elements) : 1;
  return s;
}
/// "min -1  max 2  mean 0.5", and how many elements are NaN where some are.
std::string text_of(const Summary&);

/// No output has that name (K0435).
Diagnostic unknown_output(const std::string& name, Names, const std::vector<std::string>& known);

} // namespace kawara::tools
