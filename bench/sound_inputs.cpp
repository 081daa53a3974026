#include "sound_inputs.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace kawara::bench {
namespace {

using program::Array;
using program::Arrays;

void strengthen_diagonal(Array& a) {
  const int64_t columns = a.shape()[1];
  for (int64_t i = 0; i < std::min(a.shape()[0], columns); ++i) {
    const int64_t at = i * columns + i;
    a.set_double(at, a.get_double(at) + 2.0 * static_cast<double>(columns));
  }
}

void make_symmetric(Array& a) {
  const int64_t n = a.shape()[0];
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < i; ++j)
      a.set_double(i * n + j, a.get_double(j * n + i));
}

void change_each(Array& a, const std::function<double(double)>& f) {
  for (int64_t k = 0; k < a.elements(); ++k)
    a.set_double(k, f(a.get_double(k)));
}

} // namespace

void make_sound(const std::string& example, Arrays& inputs) {
  if (example == "cholesky")
    make_symmetric(inputs.at("A"));
  if (example == "cholesky" || example == "lu" || example == "ludcmp" || example == "gramschmidt")
    strengthen_diagonal(inputs.at("A"));
  if (example == "trisolv")
    strengthen_diagonal(inputs.at("L"));
  if (example == "durbin") {
    Array& r = inputs.at("r");
    const auto elements = static_cast<double>(r.elements());
    change_each(r, [&](double v) { return v / (2 * elements); });
  }
  if (example == "floyd-warshall")
    change_each(inputs.at("path"), [](double v) { return std::abs(v) + 1; });
  if (example == "nussinov")
    change_each(inputs.at("seq"), [](double v) { return std::fmod(std::abs(v), 4); });
}

void drop_noise(const std::string& example, Arrays& results) {
  if (example != "gramschmidt")
    return;
  Array& q = results.at("Q");
  const int64_t rows = q.shape()[0], columns = q.shape()[1];
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = rows; j < columns; ++j)
      q.set_double(i * columns + j, 0);
}

} // namespace kawara::bench
