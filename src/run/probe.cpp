#include "run/probe.h"

#include "run/buffer.h"
#include "run/probe_kernels.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace kawara::run {
namespace {

using scalar::Elem;

/// With one thread and with all. The block leaves a few registers for the operands.
std::array<double, 2> peak(const target::Cpu& cpu, const std::shared_ptr<ThreadPool>& pool,
                           Elem elem) {
  const bool is_large = cpu.vector_registers >= 32;
  const int64_t bytes = scalar::bytes_of(elem);
  const ProbeTile tile{elem, static_cast<uint16_t>(target::vector_lanes(cpu, bytes)),
                       is_large ? 3 : 2, is_large ? 7 : 4};
  const Executable executable = loaded_probe(multiply_add_kernel(tile), pool);
  const int64_t columns = tile.vectors * tile.lanes;
  const Buffer a(tile.rows * bytes), b(kProbeDepth * columns * bytes),
      out(pool->threads() * tile.rows * columns * bytes);
  std::array<double, 2> result{};
  for (const size_t all : {0, 1}) {
    const int64_t used = all == 1 ? pool->threads() : 1;
    const double seconds = fastest_call(executable, {a.data(), b.data(), out.data()}, {used});
    const int64_t flops = 2 * kProbeDepth * kProbeDepth * tile.rows * columns * used;
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
      fastest_call(executable, {arrays[0].data(), arrays[1].data(), arrays[2].data(), &s},
                   {threads, repeats, cells});
  return static_cast<double>(12 * cells * repeats * threads) / seconds;
}

void probe_memory(const target::Cpu& cpu, const std::shared_ptr<ThreadPool>& pool,
                  MachineLimits& limits) {
  const ProbeTile shape{Elem::F32, static_cast<uint16_t>(target::vector_lanes(cpu, 4)), 4, 1};
  const Executable executable = loaded_probe(stream_kernel(Stream::Triad, shape), pool);
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
