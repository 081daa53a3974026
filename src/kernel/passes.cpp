#include "kernel/passes.h"

#include "kernel/addresses.h"
#include "kernel/expand_math.h"
#include "kernel/hoist.h"
#include "kernel/join_loops.h"
#include "kernel/lower_updates.h"
#include "kernel/narrow.h"
#include "kernel/prefetch.h"
#include "kernel/prepare.h"
#include "kernel/promote.h"
#include "kernel/separate_tiles.h"
#include "kernel/simplify.h"
#include "kernel/tensorize.h"
#include "kernel/unroll.h"
#include "kernel/vectorize.h"

namespace kawara::kernel {
namespace {

class Passes {
public:
  Passes(Kernel kernel, const PassObserver& observer)
      : kernel_(std::move(kernel)), observer_(observer) {}

  template <class Pass> Passes& run(std::string_view name, Pass&& pass) {
    kernel_ = pass(std::move(kernel_));
    if (observer_)
      observer_(name, kernel_);
    return *this;
  }
  Kernel result() { return std::move(kernel_); }

private:
  Kernel kernel_;
  const PassObserver& observer_;
};

} // namespace

Kernel optimise(Kernel kernel, const target::Cpu& cpu, const PassObserver& observer) {
  return Passes(std::move(kernel), observer)
      .run("join_loops", join_loops)
      .run("separate_tiles", separate_tiles)
      .run("unroll", unroll)
      .run("tensorize", [&](Kernel k) { return tensorize(std::move(k), cpu); })
      .run("vectorize", [&](Kernel k) { return vectorize(std::move(k), cpu); })
      .run("simplify", simplify)
      .run("promote", promote)
      .run("lower_updates", lower_updates)
      .run("simplify", simplify)
      .run("prefetch", prefetch)
      .run("expand_math", [&](Kernel k) { return expand_math(std::move(k), cpu); })
      .run("narrow", narrow)
      .run("hoist", hoist)
      .run("addresses", addresses)
      .run("prepare", prepare)
      .result();
}

Kernel optimise_for_text(Kernel kernel, const PassObserver& observer) {
  return Passes(std::move(kernel), observer)
      .run("join_loops", join_loops)
      .run("separate_tiles", separate_tiles)
      .run("unroll", unroll)
      .run("simplify", simplify)
      .run("promote", promote)
      .run("prefetch", prefetch)
      .run("narrow", narrow)
      .run("hoist", hoist)
      .run("addresses", addresses)
      .result();
}

} // namespace kawara::kernel
