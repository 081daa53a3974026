#include "unit/run/hand_kernel.h"

#include "emit/unit.h"

#include <sys/mman.h>
#include <unistd.h>

// Elements of arguments in all lanes: taken out of vectors of their neighbours, none of which is
// behind the last element.

namespace kawara::run {
namespace {

using scalar::broadcast;
using scalar::ramp;

/// Floats that end where a page begins that nobody may read.
class BeforeAPage {
public:
  explicit BeforeAPage(size_t count) : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))) {
    begin_ = mmap(nullptr, 2 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(static_cast<char*>(begin_) + page_, page_, PROT_NONE);
    data_ = reinterpret_cast<float*>(static_cast<char*>(begin_) + page_) - count;
    for (size_t i = 0; i < count; ++i)
      data_[i] = static_cast<float>(i);
  }
  BeforeAPage(const BeforeAPage&) = delete;
  BeforeAPage& operator=(const BeforeAPage&) = delete;
  ~BeforeAPage() { munmap(begin_, 2 * page_); }
  float* data() { return data_; }

private:
  size_t page_;
  void* begin_ = nullptr;
  float* data_ = nullptr;
};

/// out[i, t, 0..4) = A[step*i + t] in all lanes, for i below `count`; A ends with the last element
/// that is read.
struct Splats {
  HandKernel h;
  int64_t count, step, taps, elements;

  Splats(int64_t n, int64_t stride, int64_t width, bool is_flat, int64_t unrolled = 1)
      : count(n), step(stride), taps(width), elements(stride * (n - 1) + width) {
    const uint32_t A = h.buffer("A", Elem::F32,
                                is_flat ? std::vector<Expr>{int_lit(1), int_lit(elements)}
                                        : std::vector<Expr>{int_lit(elements)});
    const uint32_t out = h.buffer("out", Elem::F32, {int_lit(count), int_lit(4 * taps)});
    const uint32_t i = h.variable("i");
    kernel::Block body;
    for (int64_t t = 0; t < taps; ++t)
      body.push_back(store(out, {h.var(i), ramp(int_lit(4 * t), 1, 4)},
                           broadcast(h.load(A, {h.var(i) * int_lit(step) + int_lit(t)}), 4)));
    h.kernel.body = {loop(i, int_lit(0), int_lit(count), std::move(body), unrolled)};
  }
};

TEST(Neighbours, NoneIsBehindTheLastElement) {
  for (const bool is_flat : {false, true})
    for (int64_t taps = 1; taps <= 14; ++taps)
      for (const int64_t step : {1, 3, 11}) {
        Splats s(3, step, taps, is_flat);
        BeforeAPage a(static_cast<size_t>(s.elements));
        std::vector<float> out(static_cast<size_t>(s.count * s.taps * 4), -1.0F);
        call(loaded(s.h.kernel), {a.data(), out.data()});
        for (int64_t at = 0; at < s.count * s.taps * 4; ++at)
          ASSERT_EQ(out[static_cast<size_t>(at)],
                    static_cast<float>(at / 4 / taps * step + at / 4 % taps))
              << taps << " taps, step " << step << ", element " << at;
      }
}

std::string ir_for(const Splats& s, const emit::CodeTarget& target) {
  emit::EmitOptions options;
  options.opt_level = 0;
  options.target = target;
  return emit::module_from_kernel(s.h.kernel, options).ir();
}

TEST(Neighbours, ShareLoadsWhereMultiplyAddsTakeALane) {
  // Thirteen elements are three vectors and one that ends with the last.
  const Splats s(2, 11, 13, true);
  const std::string arm = ir_for(s, {"aarch64-unknown-linux-gnu", "neoverse-v1", "-sve"});
  EXPECT_NE(arm.find("load <4 x float>"), std::string::npos) << arm;
  EXPECT_EQ(arm.find("load float"), std::string::npos) << arm;
  const std::string x86 = ir_for(s, {"x86_64-unknown-linux-gnu", "haswell", ""});
  EXPECT_NE(x86.find("load float"), std::string::npos) << x86;
  EXPECT_EQ(x86.find("load <4 x float>"), std::string::npos) << x86;
}

TEST(Neighbours, AreLoadedAloneAlongAnUnrolledLoop) {
  const emit::CodeTarget arm{"aarch64-unknown-linux-gnu", "neoverse-v1", "-sve"};
  EXPECT_NE(ir_for(Splats(8, 1, 8, true, 4), arm).find("load float"), std::string::npos);
  EXPECT_EQ(ir_for(Splats(8, 1, 8, true, 1), arm).find("load float"), std::string::npos);
}

} // namespace
} // namespace kawara::run
