#include "emit/cuda/update_columns.h"

#include "emit/cuda/cuda_from_kernel.h"
#include "unit/kernel/gpu/gpu_line.h"

#include <regex>
#include <sstream>

namespace kawara::emit {
namespace {

/// The two factors of every line `c.at[n] = c.at[n] + a * b.at[n];`, in the order of the text.
std::vector<std::pair<std::string, std::string>> factors_in(const std::string& text) {
  const std::regex update(R"(\s*(\w+\.at\[\d\]) = \1 \+ (.*) \* (\w+\.at\[\d\]);)");
  std::vector<std::pair<std::string, std::string>> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_match(line, match, update))
      found.emplace_back(match[2], match[3]);
  }
  return found;
}

TEST(UpdateColumns, NeighboursShareAFactor) {
  const auto line = gpu_line::compile(gpu_line::kGemm, "auto", {{"M", 512}, {"N", 512}, {"K", 64}});
  const auto factors = factors_in(cuda_from_kernel(line.kernel).text);
  ASSERT_GE(factors.size(), 16U * 16U); // of a thread, in a step
  size_t apart = 0;
  for (size_t n = 1; n < factors.size(); ++n)
    apart += factors[n].first != factors[n - 1].first && factors[n].second != factors[n - 1].second;
  EXPECT_LE(apart * 8, factors.size()); // where a group of columns ends, nothing is shared
}

TEST(UpdateColumns, UpdatesThatNeedEachOtherStayInOrder) {
  kernel::Kernel kernel;
  const scalar::Type four{scalar::Elem::F32, 4};
  for (const char* name : {"c0", "c1", "c2", "c3", "b"})
    kernel.variables.push_back({name, four});
  const auto var = [&](uint32_t v) { return scalar::var(v, four); };
  kernel::Block block;
  for (uint32_t v = 0; v < 4; ++v)
    block.emplace_back(kernel::Assign{v, var(v) + var(4)});
  EXPECT_EQ(update_columns(kernel, block, 0).count, 4U);
  EXPECT_EQ(update_columns(kernel, block, 0).groups.size(), 1U);
  block[2] = kernel::Assign{2, var(2) + var(0)};
  EXPECT_EQ(update_columns(kernel, block, 0).count, 0U);
  EXPECT_EQ(update_columns(kernel, block, 1).count, 0U);
}

} // namespace
} // namespace kawara::emit
