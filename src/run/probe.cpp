#include "run/probe.h"

#include "run/buffer.h"
#include "run/executable.h"
#include "run/measure.h"
#include "support/check.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace kawara::run {
namespace {

using scalar::Elem;
using scalar::Expr;
using scalar::int_lit;

constexpr int64_t kDepth = 64; ///< of the multiply-add loop

/// A block of accumulators: rows times vectors a row.
struct Tile {
  Elem elem;
  uint16_t lanes;
  int64_t vectors;
  int64_t rows;
};

kernel::For loop(uint32_t var, Expr lo, Expr hi, int64_t step, kernel::Block body) {
  kernel::For f;
  f.var = var;
  f.lo = std::move(lo);
  f.hi = std::move(hi);
  f.step = step;
  f.body = std::move(body);
  return f;
}

kernel::Buffer argument(const char* name, Elem elem, std::vector<Expr> shape) {
  return {name, elem, std::move(shape), kernel::Scope::Argument, program::Role::Inout};
}

/// For each thread t a small matrix product in registers: kDepth * kDepth times
/// acc[r, c] += a[r] * b[k, c], the columns c in vectors. The right operand changes from step to step, so
/// that no product can be made outside the loop; the left one stays in registers, so that loads do not
/// set the pace.
kernel::Kernel multiply_add(const Tile& tile) {
  kernel::Kernel k;
  k.name = "multiply_add";
  k.params = {{"threads", {}}};
  const scalar::Type type{tile.elem, tile.lanes};
  const int64_t columns = tile.vectors * tile.lanes;
  k.buffers = {
      argument("a", tile.elem, {int_lit(tile.rows)}),
      argument("b", tile.elem, {int_lit(kDepth), int_lit(columns)}),
      argument("out", tile.elem, {scalar::param(0), int_lit(tile.rows), int_lit(columns)})};
  k.variables = {{"t", scalar::kIndex}, {"repeat", scalar::kIndex}, {"k", scalar::kIndex}};
  kernel::Block body, inner, after;
  for (int64_t r = 0; r < tile.rows; ++r)
    for (int64_t v = 0; v < tile.vectors; ++v) {
      k.variables.push_back({"acc" + std::to_string(r) + "_" + std::to_string(v), type});
      const auto id = static_cast<uint32_t>(k.variables.size() - 1);
      const Expr run = scalar::ramp(int_lit(v * tile.lanes), 1, tile.lanes);
      const std::vector<Expr> cell{scalar::var(0), int_lit(r), run};
      const Expr a = scalar::load(0, {int_lit(r)}, {tile.elem, 1});
      const Expr b = scalar::load(1, {scalar::var(2), run}, type);
      body.push_back(kernel::Define{id, scalar::load(2, cell, type)});
      inner.push_back(
          kernel::Assign{id, scalar::var(id, type) + scalar::broadcast(a, tile.lanes) * b});
      after.push_back(kernel::Store{2, cell, scalar::ReduceOp::None, scalar::var(id, type)});
    }
  body.push_back(loop(1, int_lit(0), int_lit(kDepth), 1,
                      {loop(2, int_lit(0), int_lit(kDepth), 1, std::move(inner))}));
  body.insert(body.end(), after.begin(), after.end());
  kernel::For threads = loop(0, int_lit(0), scalar::param(0), 1, std::move(body));
  threads.marks.is_parallel = true;
  k.body = {std::move(threads)};
  return k;
}

/// For each thread t, `repeats` times: a[t, i] = b[t, i] * s + c[t, i] over n cells, n a multiple of
/// the cells per iteration.
kernel::Kernel triad(const Tile& shape) {
  kernel::Kernel k;
  k.name = "triad";
  k.params = {{"threads", {}}, {"repeats", {}}, {"n", {}}};
  const scalar::Type type{shape.elem, shape.lanes};
  const std::vector<Expr> extents{scalar::param(0), scalar::param(2)};
  k.buffers = {argument("a", shape.elem, extents), argument("b", shape.elem, extents),
               argument("c", shape.elem, extents), argument("s", shape.elem, {int_lit(1)})};
  k.variables = {{"t", scalar::kIndex}, {"r", scalar::kIndex}, {"i", scalar::kIndex}};
  const Expr s = scalar::broadcast(scalar::load(3, {int_lit(0)}, {shape.elem, 1}), shape.lanes);
  kernel::Block inner;
  for (int64_t v = 0; v < shape.vectors; ++v) {
    const Expr at = scalar::var(2) + int_lit(v * shape.lanes);
    const std::vector<Expr> cell{scalar::var(0), scalar::ramp(at, 1, shape.lanes)};
    inner.push_back(kernel::Store{0, cell, scalar::ReduceOp::None,
                                  scalar::load(1, cell, type) * s + scalar::load(2, cell, type)});
  }
  kernel::For threads = loop(0, int_lit(0), scalar::param(0), 1,
                             {loop(1, int_lit(0), scalar::param(1), 1,
                                   {loop(2, int_lit(0), scalar::param(2),
                                         shape.vectors * shape.lanes, std::move(inner))})});
  threads.marks.is_parallel = true;
  k.body = {std::move(threads)};
  return k;
}

Executable loaded(const kernel::Kernel& kernel, const std::shared_ptr<ThreadPool>& pool) {
  auto executable = load(emit::module_from_kernel(kernel), {pool});
  KAWARA_CHECK(executable, render(executable.error()));
  return *std::move(executable);
}

/// Seconds of the fastest sample: limits are what the machine can do undisturbed.
double fastest(const Executable& executable, const std::vector<void*>& arguments,
               const std::vector<int64_t>& params) {
  const MeasureOptions options{0.003, 0.0005, 60, 0.04};
  const auto work = [&] {
    const auto done = executable.call(arguments, params);
    KAWARA_CHECK(done, render(done.error()));
  };
  return measure(work, options).min;
}

/// With one thread and with all. The block leaves a few registers for the operands.
std::array<double, 2> peak(const target::Cpu& cpu, const std::shared_ptr<ThreadPool>& pool,
                           Elem elem) {
  const bool is_large = cpu.vector_registers >= 32;
  const int64_t bytes = scalar::bytes_of(elem);
  const Tile tile{elem, static_cast<uint16_t>(target::vector_lanes(cpu, bytes)), is_large ? 3 : 2,
                  is_large ? 7 : 4};
  const Executable executable = loaded(multiply_add(tile), pool);
  const int64_t columns = tile.vectors * tile.lanes;
  const Buffer a(tile.rows * bytes), b(kDepth * columns * bytes),
      out(pool->threads() * tile.rows * columns * bytes);
  std::array<double, 2> result{};
  for (const size_t all : {0, 1}) {
    const int64_t used = all == 1 ? pool->threads() : 1;
    const double seconds = fastest(executable, {a.data(), b.data(), out.data()}, {used});
    const int64_t flops = 2 * kDepth * kDepth * tile.rows * columns * used;
    result[all] = static_cast<double>(flops) / seconds;
  }
  return result;
}

/// Bytes per second of the triad over three arrays of together `footprint` bytes per thread.
double bandwidth(const Executable& executable, std::array<Buffer, 3>& arrays, int64_t cells_a_step,
                 int64_t footprint, int64_t threads) {
  const int64_t cells = std::max<int64_t>(1, footprint / 12 / cells_a_step) * cells_a_step;
  const int64_t repeats = std::max<int64_t>(1, (int64_t{1} << 20) / footprint);
  float s = 1;
  const double seconds =
      fastest(executable, {arrays[0].data(), arrays[1].data(), arrays[2].data(), &s},
              {threads, repeats, cells});
  return static_cast<double>(12 * cells * repeats * threads) / seconds;
}

void probe_memory(const target::Cpu& cpu, const std::shared_ptr<ThreadPool>& pool,
                  MachineLimits& limits) {
  const Tile shape{Elem::F32, static_cast<uint16_t>(target::vector_lanes(cpu, 4)), 4, 1};
  const Executable executable = loaded(triad(shape), pool);
  const int64_t step = shape.lanes * shape.vectors;
  const target::Caches& caches = cpu.caches;
  const int64_t last = std::max({caches.l1d, caches.l2, caches.l3});
  const int64_t large = std::clamp<int64_t>(4 * last, int64_t{48} << 20, int64_t{512} << 20);
  std::array<Buffer, 3> arrays{Buffer(large / 3 + 4096), Buffer(large / 3 + 4096),
                               Buffer(large / 3 + 4096)};
  const auto in_cache = [&](int64_t bytes) {
    return bytes > 0 ? bandwidth(executable, arrays, step, std::min(bytes / 2, large), 1) : 0;
  };
  limits.l1_bytes = in_cache(caches.l1d);
  limits.l2_bytes = in_cache(caches.l2);
  limits.l3_bytes = in_cache(caches.l3);
  limits.memory_bytes_one = bandwidth(executable, arrays, step, large, 1);
  limits.memory_bytes_all =
      std::max(limits.memory_bytes_one,
               bandwidth(executable, arrays, step, large / pool->threads(), pool->threads()));
}

/// Names of the record and its members, in one place for both directions.
template <class Limits, class F> void each_member(Limits& limits, const F& f) {
  f("f32_flops_one", limits.f32_flops_one);
  f("f32_flops_all", limits.f32_flops_all);
  f("f64_flops_one", limits.f64_flops_one);
  f("f64_flops_all", limits.f64_flops_all);
  f("l1_bytes", limits.l1_bytes);
  f("l2_bytes", limits.l2_bytes);
  f("l3_bytes", limits.l3_bytes);
  f("memory_bytes_one", limits.memory_bytes_one);
  f("memory_bytes_all", limits.memory_bytes_all);
}

} // namespace

MachineLimits probe_machine(const target::Cpu& cpu, const std::shared_ptr<ThreadPool>& pool) {
  MachineLimits limits;
  limits.threads = pool->threads();
  const auto f32 = peak(cpu, pool, Elem::F32);
  const auto f64 = peak(cpu, pool, Elem::F64);
  limits.f32_flops_one = f32[0];
  limits.f32_flops_all = std::max(f32[0], f32[1]);
  limits.f64_flops_one = f64[0];
  limits.f64_flops_all = std::max(f64[0], f64[1]);
  probe_memory(cpu, pool, limits);
  return limits;
}

std::string to_json(const MachineLimits& limits) {
  nlohmann::ordered_json json;
  json["threads"] = limits.threads;
  each_member(limits, [&](const char* name, double value) { json[name] = value; });
  return json.dump(2);
}

std::optional<MachineLimits> limits_from_json(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("threads") || !json["threads"].is_number_integer())
    return std::nullopt;
  MachineLimits limits;
  limits.threads = json["threads"].get<int64_t>();
  bool is_whole = limits.threads > 0;
  each_member(limits, [&](const char* name, double& value) {
    is_whole = is_whole && json.contains(name) && json[name].is_number();
    if (is_whole)
      value = json[name].template get<double>();
  });
  return is_whole ? std::optional(limits) : std::nullopt;
}

} // namespace kawara::run
