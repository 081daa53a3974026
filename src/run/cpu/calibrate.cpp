#include "run/cpu/calibrate.h"

#include "program/interpret/instruction.h"
#include "run/buffer.h"
#include "run/cpu/probe_kernels.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace kawara::run {
namespace {

using estimate::Level;
using estimate::Machine;
using estimate::Peak;
using estimate::Rate;
using scalar::Elem;

/// The larger of both where all threads together are slower than one: they need not be used.
Rate rate_of(double one, double all) { return {one, std::max(one, all)}; }

class Calibration {
public:
  Calibration(const target::Cpu& cpu, const std::shared_ptr<ThreadPool>& pool, double seconds)
      : cpu_(cpu), pool_(pool), seconds_(seconds) {}

  Machine run() {
    machine_ = estimate::described_machine(cpu_);
    machine_.threads = pool_->threads();
    machine_.is_measured = true;
    machine_.peaks = {vector_peak(Elem::F32), vector_peak(Elem::F64)};
    for (const Elem elem : {Elem::F16, Elem::BF16, Elem::I8})
      add_instruction_peak(elem);
    machine_.add_seconds = add_seconds();
    measure_levels();
    return std::move(machine_);
  }

private:
  static double flops_of_tile(const ProbeTile& tile) {
    return 2.0 * kProbeDepth * kProbeDepth * static_cast<double>(tile.rows) *
           static_cast<double>(tile.vectors * tile.lanes);
  }

  double seconds_of_tile(const Executable& executable, const ProbeTile& tile, int64_t threads) {
    const int64_t bytes = scalar::bytes_of(tile.elem);
    const int64_t columns = tile.vectors * tile.lanes;
    const Buffer a(tile.rows * bytes), b(kProbeDepth * columns * bytes),
        out(threads * tile.rows * columns * bytes);
    return fastest_call(executable, {a.data(), b.data(), out.data()}, {threads}, seconds_);
  }

  /// The block leaves a few registers for the operands.
  Peak vector_peak(Elem elem) {
    const bool is_large = cpu_.vector_registers >= 32;
    const auto lanes = static_cast<uint16_t>(target::vector_lanes(cpu_, scalar::bytes_of(elem)));
    const ProbeTile tile{elem, lanes, is_large ? 3 : 2, is_large ? 7 : 4};
    const Executable executable = loaded_probe(multiply_add_kernel(tile), pool_);
    const auto threads = static_cast<double>(pool_->threads());
    const double one = flops_of_tile(tile) / seconds_of_tile(executable, tile, 1);
    const double all =
        flops_of_tile(tile) * threads / seconds_of_tile(executable, tile, pool_->threads());
    return {elem, "", rate_of(one, all)};
  }

  /// One accumulator: each multiply-add waits for the one before.
  double add_seconds() {
    const auto lanes = static_cast<uint16_t>(target::vector_lanes(cpu_, 4));
    const ProbeTile tile{Elem::F32, lanes, 1, 1};
    const Executable executable = loaded_probe(multiply_add_kernel(tile), pool_);
    return seconds_of_tile(executable, tile, 1) / static_cast<double>(kProbeDepth * kProbeDepth);
  }

  /// The fastest of the instructions whose operands are of that type.
  void add_instruction_peak(Elem elem) {
    Peak best{elem, "", {}};
    for (const target::Intrinsic& data : target::intrinsics()) {
      const program::Instruction& instruction = program::instruction_of(data);
      const bool takes = instruction.inputs() == 2 && (instruction.operands[0].elem == elem ||
                                                       instruction.operands[1].elem == elem);
      // What is added to the result of a function of operands that stay the same is not repeated.
      // Neither are tiles of many vectors measured: nothing is chosen by what they could do.
      if (!takes || data.is_added || !target::is_available(data, cpu_) ||
          largest_register_bytes(data) > cpu_.vector_bytes)
        continue;
      const Rate rate = instruction_rate(data, instruction);
      if (rate.all > best.flops.all)
        best = {elem, std::string(data.name), rate};
    }
    if (best.flops.all > 0)
      machine_.peaks.push_back(std::move(best));
  }

  /// The best of several numbers of accumulators. Some processors (Neoverse-V1) give every chain of
  /// sums to one pipeline when it begins, and with an unlucky number of chains a pipeline is left
  /// idle: 20 of them ran at 50 to 100 % of the speed of 28.
  Rate instruction_rate(const target::Intrinsic& data, const program::Instruction& instruction) {
    const std::vector<int64_t> numbers = cpu_.vector_registers >= 32
                                             ? std::vector<int64_t>{16, 20, 24, 28}
                                             : std::vector<int64_t>{8, 10, 12};
    Rate best;
    for (const int64_t sums : numbers) {
      const Rate rate = instruction_rate(data, instruction, sums);
      best = {std::max(best.one, rate.one), std::max(best.all, rate.all)};
    }
    return best;
  }

  Rate instruction_rate(const target::Intrinsic& data, const program::Instruction& instruction,
                        int64_t sums) {
    const Executable executable = loaded_probe(instruction_kernel(data, sums), pool_);
    double flops = 2.0 * kProbeDepth * kProbeDepth * static_cast<double>(sums);
    for (const int64_t extent : instruction.extents)
      flops *= static_cast<double>(extent);
    const int64_t bytes = largest_register_bytes(data);
    const Buffer a(bytes), b(bytes);
    const auto rate = [&](int64_t threads) {
      const Buffer out(threads * sums * bytes);
      return flops * static_cast<double>(threads) /
             fastest_call(executable, {a.data(), b.data(), out.data()}, {threads}, seconds_);
    };
    return rate_of(rate(1), rate(pool_->threads()));
  }

  void measure_levels() {
    const target::Caches& caches = cpu_.caches;
    const int64_t last = std::max({caches.l1d, caches.l2, caches.l3});
    large_ = std::clamp<int64_t>(4 * last, int64_t{48} << 20, int64_t{512} << 20);
    arrays_ = {Buffer(large_ + 4096), Buffer(large_ / 2 + 4096), Buffer(large_ / 3 + 4096)};
    // Pages that nobody wrote are all the same one, which stays in the cache.
    for (const Buffer& array : arrays_)
      std::memset(array.data(), 1, static_cast<size_t>(array.bytes()));
    for (Level& level : machine_.levels) {
      level.read = stream_rate(Stream::Read, level);
      level.write = stream_rate(Stream::Write, level);
      level.copy = stream_rate(Stream::Copy, level);
      level.triad = stream_rate(Stream::Triad, level);
    }
    machine_.fork_seconds = pool_->threads() > 1 ? fork_seconds() : 0;
  }

  ProbeTile stream_shape() const {
    return {Elem::F32, static_cast<uint16_t>(target::vector_lanes(cpu_, 4)), 8, 1};
  }

  std::vector<void*> stream_arguments() {
    return {arrays_[0].data(), arrays_[1].data(), arrays_[2].data(), &factor_};
  }

  /// Half a cache for each thread, so that what else lies there does not matter; a cache that all
  /// share is divided among them.
  Rate stream_rate(Stream stream, const Level& level) {
    const Executable executable = loaded_probe(stream_kernel(stream, stream_shape()), pool_);
    const bool is_shared = level.name == "L3";
    const auto rate = [&](int64_t threads) {
      const int64_t whole = level.bytes == 0 ? large_ / threads
                            : is_shared      ? level.bytes / 2 / threads
                                             : level.bytes / 2;
      return bytes_per_second(executable, arrays_of(stream), whole, threads);
    };
    const double one = rate(1);
    return rate_of(one, pool_->threads() > 1 ? rate(pool_->threads()) : one);
  }

  double bytes_per_second(const Executable& executable, int64_t arrays, int64_t footprint,
                          int64_t threads) {
    const ProbeTile shape = stream_shape();
    const int64_t step = shape.lanes * shape.vectors;
    const int64_t most = large_ / (arrays * 4) / threads;
    const int64_t elements =
        std::max<int64_t>(1, std::min(footprint / (arrays * 4), most) / step) * step;
    const int64_t repeats = std::max<int64_t>(1, (int64_t{1} << 21) / (arrays * 4 * elements));
    const double seconds =
        fastest_call(executable, stream_arguments(), {threads, repeats, elements}, seconds_);
    return static_cast<double>(arrays * 4 * elements * repeats * threads) / seconds;
  }

  /// A loop of as many iterations as threads, each next to nothing.
  double fork_seconds() {
    const Executable executable = loaded_probe(stream_kernel(Stream::Write, stream_shape()), pool_);
    return fastest_call(executable, stream_arguments(), {pool_->threads(), 0, 0}, seconds_);
  }

  const target::Cpu& cpu_;
  std::shared_ptr<ThreadPool> pool_;
  double seconds_; ///< of each measurement
  Machine machine_;
  int64_t large_ = 0; ///< bytes that no cache holds
  std::array<Buffer, 3> arrays_;
  float factor_ = 1;
};

} // namespace

estimate::Machine calibrate(const target::Cpu& cpu, const std::shared_ptr<ThreadPool>& pool,
                            double seconds) {
  return Calibration(cpu, pool, seconds).run();
}

} // namespace kawara::run
