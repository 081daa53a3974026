#include "kernel/memory/nontemporal.h"

#include "unit/kernel/line.h"

namespace kawara::kernel {
namespace {

/// Whether the optimised kernel writes its result Y non-temporally.
bool streams_result(const std::string& text, const std::string& directives) {
  const Kernel made = optimise(line::compile(text, directives).kernel, line::test_cpu());
  for (const Buffer& b : made.buffers)
    if (b.name == "Y")
      return b.is_streamed;
  return false;
}

std::string doubled(const std::string& shape) {
  return "input X: f32[" + shape + "]\noutput Y: f32[" + shape + "]\n\nY[i, j] = X[i, j] * 2\n";
}

TEST(Streams, LargeResultsOfWholeLines) {
  EXPECT_TRUE(streams_result(doubled("4096, 4096"), "vectorize(j, 16)"));
  EXPECT_TRUE(streams_result(doubled("4096, 4096"), "tile(i=32, j=64); vectorize(j.1, 32)"));
}

TEST(Streams, NotWhatACacheKeeps) {
  EXPECT_FALSE(streams_result(doubled("1024, 1024"), "vectorize(j, 16)"));
}

TEST(Streams, NotPiecesOfLines) {
  EXPECT_FALSE(streams_result(doubled("4096, 4096"), "vectorize(j, 8)"));
  EXPECT_FALSE(streams_result(doubled("4096, 4104"), "vectorize(j, 16)")) << "rows begin inside";
  EXPECT_FALSE(streams_result(doubled("4096, 4096"), "")) << "element by element";
  EXPECT_FALSE(streams_result("input X: f32[4096, 4096]\noutput Y: f32[4096, 4096]\n\n"
                              "for i in range(4096):\n    for j in range(4080):\n"
                              "        Y[i, j + 8] = X[i, j]\n",
                              "vectorize(j, 16)"))
      << "runs begin inside";
}

TEST(Streams, NotWhatIsReadAgain) {
  EXPECT_FALSE(streams_result("input X: f32[4096, 4096]\noutput Y: f32[4096, 4096]\n\n"
                              "Y[i, j] = X[i, j]\nY[i, j] += X[i, j]\n",
                              "vectorize(S0.j, 16); vectorize(S1.j, 16)"));
}

} // namespace
} // namespace kawara::kernel
