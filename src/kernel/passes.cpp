#include "kernel/passes.h"

#include "kernel/gpu/chain/chain_groups.h"
#include "kernel/gpu/guarded_unroll.h"
#include "kernel/gpu/join_launches.h"
#include "kernel/gpu/launches.h"
#include "kernel/gpu/load_ahead.h"
#include "kernel/gpu/pad_shared.h"
#include "kernel/gpu/pipeline.h"
#include "kernel/gpu/register_elements.h"
#include "kernel/gpu/uniform_tiles.h"
#include "kernel/gpu/warpgroup/warpgroups.h"
#include "kernel/gpu/wide_loads.h"
#include "kernel/gpu/wide_stores.h"
#include "kernel/index/addresses.h"
#include "kernel/index/hoist.h"
#include "kernel/index/lower_updates.h"
#include "kernel/index/narrow.h"
#include "kernel/index/narrow_lanes.h"
#include "kernel/index/simplify.h"
#include "kernel/loops/collapse.h"
#include "kernel/loops/peel_last_tiles.h"
#include "kernel/loops/read_ranges.h"
#include "kernel/loops/separate_tiles.h"
#include "kernel/loops/split_clamps.h"
#include "kernel/loops/split_triangular.h"
#include "kernel/loops/unroll.h"
#include "kernel/math/bounded_exp.h"
#include "kernel/math/converted_rows.h"
#include "kernel/math/exact_functions.h"
#include "kernel/math/expand_math.h"
#include "kernel/math/reciprocals.h"
#include "kernel/math/row_invariants.h"
#include "kernel/math/scaled_exp.h"
#include "kernel/math/shared_divisors.h"
#include "kernel/math/unshifted_exp.h"
#include "kernel/memory/nontemporal.h"
#include "kernel/memory/prefetch.h"
#include "kernel/memory/prepare.h"
#include "kernel/memory/promote.h"
#include "kernel/memory/window_loads.h"
#include "kernel/vector/check_together.h"
#include "kernel/vector/duplicate_elements.h"
#include "kernel/vector/tensorize.h"
#include "kernel/vector/transpose_stores.h"
#include "kernel/vector/vectorize.h"
#include "kernel/walk.h"

#include <utility>

namespace kawara::kernel {
namespace {

class Passes {
public:
  Passes(Kernel kernel, PassOptions options)
      : kernel_(std::move(kernel)), options_(std::move(options)) {}

  template <class Pass> Passes& run(std::string_view name, Pass&& pass) {
    kernel_ = pass(std::move(kernel_));
    if (options_.change)
      kernel_ = options_.change(name, std::move(kernel_));
    if (options_.observer)
      options_.observer(name, kernel_);
    return *this;
  }
  Kernel result() { return std::move(kernel_); }

private:
  Kernel kernel_;
  PassOptions options_;
};

/// The pass on the body of every launch.
template <class Pass> Kernel in_launches(Kernel kernel, Pass&& pass) {
  Block result = std::exchange(kernel.body, {});
  visit(result, [&](Launch& launch) {
    kernel.body = std::exchange(launch.body, {});
    kernel = pass(std::move(kernel), launch);
    launch.body = std::exchange(kernel.body, {});
    return WalkResult::Skip;
  });
  kernel.body = std::move(result);
  return kernel;
}

} // namespace

Kernel optimise_for_gpu(Kernel kernel, const PassObserver& observer) {
  return optimise_for_gpu(std::move(kernel), target::Gpu{}, observer);
}

Kernel optimise_for_gpu(Kernel kernel, const target::Gpu& gpu, const PassObserver& observer) {
  return optimise_for_gpu(std::move(kernel), gpu, PassOptions{.observer = observer});
}

Kernel optimise_for_gpu(Kernel kernel, const target::Gpu& gpu, const PassOptions& options) {
  const auto inside = [](auto pass) {
    return [pass](Kernel k) { return in_launches(std::move(k), pass); };
  };
  const auto plain = [&](Kernel (*pass)(Kernel)) {
    return inside([pass](Kernel k, const Launch&) { return pass(std::move(k)); });
  };
  // Where warpgroups work, threads and memory have their places already.
  const auto unless_grouped = [&](Kernel (*pass)(Kernel, const Launch&)) {
    return inside([pass](Kernel k, const Launch& launch) {
      return has_async_op(k.body) ? std::move(k) : pass(std::move(k), launch);
    });
  };
  return Passes(std::move(kernel), options)
      .run("collapse", collapse)
      .run("launches", launches)
      .run("warpgroups", [&](Kernel k) { return chain_groups(warpgroups(std::move(k), gpu), gpu); })
      .run("window_loads", window_loads)
      .run("pipeline", plain(pipeline))
      .run("uniform_tiles", unless_grouped(uniform_tiles))
      .run("guarded_unroll", unless_grouped(guarded_unroll))
      .run("unroll", plain([](Kernel k) { return unroll(std::move(k)); }))
      .run("vectorize", plain([](Kernel k) { return vectorize(std::move(k), Rest::OneByOne); }))
      .run("simplify", simplify)
      .run("promote", unless_grouped([](Kernel k, const Launch& launch) {
             return promote(std::move(k), launch.thread_private);
           }))
      .run("register_elements", unless_grouped(register_elements))
      .run("pad_shared", unless_grouped(pad_shared))
      .run("lower_updates", lower_updates)
      .run("simplify", simplify)
      .run("shared_divisors",
           unless_grouped([](Kernel k, const Launch&) { return shared_divisors(std::move(k)); }))
      .run("wide_loads", unless_grouped(wide_loads))
      .run("wide_stores", unless_grouped(wide_stores))
      .run("load_ahead", unless_grouped(load_ahead))
      .run("hoist", plain(hoist))
      .run("join_launches", join_launches)
      .result();
}

Kernel optimise(Kernel kernel, const target::Cpu& cpu, const PassObserver& observer) {
  return optimise(std::move(kernel), cpu, PassOptions{.observer = observer});
}

Kernel optimise(Kernel kernel, const target::Cpu& cpu, const PassOptions& options) {
  const auto expand = [&](Kernel k) {
    return options.keeps_functions ? std::move(k) : expand_math(std::move(k), cpu);
  };
  return Passes(std::move(kernel), options)
      .run("window_loads", window_loads)
      .run("read_ranges", read_ranges)
      .run("exact_functions", exact_functions)
      .run("bounded_exp", bounded_exp)
      .run("scaled_exp", scaled_exp)
      .run("row_invariants", row_invariants)
      .run("converted_rows", converted_rows)
      .run("last_shared_tiles", last_shared_tiles)
      .run("collapse", collapse)
      .run("split_triangular", split_triangular)
      .run("peel_last_tiles", peel_last_tiles)
      .run("separate_tiles", separate_tiles)
      .run("transpose_stores", transpose_stores)
      .run("check_together", check_together)
      .run("unroll", [](Kernel k) { return unroll(std::move(k), Unrolled::Known); })
      .run("split_clamps", split_clamps)
      .run("tensorize", [&](Kernel k) { return tensorize(std::move(k), cpu); })
      .run("vectorize",
           [&](Kernel k) { return vectorize(std::move(k), Rest::NarrowVector, cpu.vector_bytes); })
      .run("duplicate_elements", [&](Kernel k) { return duplicate_elements(std::move(k), cpu); })
      .run("simplify", simplify)
      .run("promote", [](Kernel k) { return promote(std::move(k)); })
      .run("lower_updates", lower_updates)
      .run("simplify", simplify)
      .run("prefetch", prefetch)
      .run("reciprocals", reciprocals)
      .run("unshifted_exp", [&](Kernel k) { return unshifted_exp(std::move(k), cpu); })
      .run("expand_math", expand)
      .run("narrow", narrow)
      .run("narrow_lanes", narrow_lanes)
      .run("hoist", hoist)
      .run("addresses", addresses)
      .run("prepare", prepare)
      .run("nontemporal", [&](Kernel k) { return nontemporal(std::move(k), cpu); })
      .result();
}

Kernel optimise_for_text(Kernel kernel, const PassObserver& observer) {
  return Passes(std::move(kernel), PassOptions{.observer = observer})
      .run("window_loads", window_loads)
      .run("exact_functions", exact_functions)
      .run("plain_exp", plain_exp)
      .run("collapse", collapse)
      .run("separate_tiles", separate_tiles)
      .run("unroll", [](Kernel k) { return unroll(std::move(k), Unrolled::Known); })
      .run("simplify", simplify)
      .run("promote", [](Kernel k) { return promote(std::move(k)); })
      .run("prefetch", prefetch)
      .run("narrow", narrow)
      .run("hoist", hoist)
      .run("addresses", addresses)
      .result();
}

} // namespace kawara::kernel
