#pragma once

#include "program/interpret/arguments.h"
#include "program/interpret/interpret.h"

#include <gtest/gtest.h>

namespace kawara::program {

/// The rewritten program computes the same elements as the plain one; inputs may have other shapes
/// of equally many elements.
inline void expect_same_elements(const Program& plain, const Program& other,
                                 const std::vector<int64_t>& sizes = {}) {
  EXPECT_EQ(spec(other), std::vector<std::string>{});
  auto inputs = pattern_inputs(plain, sizes, 5);
  ASSERT_TRUE(inputs);
  const auto want = interpret(plain, sizes, *inputs);
  const auto shapes = required_shapes(other, sizes);
  ASSERT_TRUE(want && shapes);
  for (size_t t = 0; t < other.tensors.size(); ++t)
    if (const auto given = inputs->find(other.tensors[t].name); given != inputs->end()) {
      Array flat(given->second.elem(), (*shapes)[t]);
      for (int64_t c = 0; c < flat.elements(); ++c)
        flat.set(c, given->second.get(c));
      given->second = flat;
    }
  const auto got = interpret(other, sizes, *inputs);
  ASSERT_TRUE(got) << render(got.error());
  for (const auto& [name, array] : *want)
    for (int64_t c = 0; c < array.elements(); ++c)
      EXPECT_EQ(array.get_double(c), got->at(name).get_double(c)) << name << " " << c;
}

} // namespace kawara::program
