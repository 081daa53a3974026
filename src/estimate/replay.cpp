#include "estimate/replay.h"

#include "estimate/accesses.h"
#include "estimate/caches.h"
#include "kernel/analysis/extents.h"
#include "kernel/walk.h"
#include "scalar/eval.h"

#include <fmt/format.h>

#include <algorithm>

namespace kawara::estimate {
namespace {

/// Where buffers begin: small ones at a page, large ones at a huge one, as the run time places
/// them.
constexpr int64_t kPage = 4096, kHugePage = int64_t{2} << 20, kLarge = int64_t{4} << 20;
constexpr int64_t kAccessesBetweenReports = int64_t{1} << 24;

class Replayer {
public:
  Replayer(const kernel::Kernel& kernel, std::span<const int64_t> params, Caches& caches,
           const std::function<void(int64_t)>& progress)
      : kernel_(kernel), params_(params), caches_(caches), progress_(progress),
        values_(kernel.variables.size(), 0) {
    const std::vector<int64_t> sizes(params.begin(), params.end());
    int64_t next = kHugePage;
    for (const kernel::Buffer& buffer : kernel.buffers) {
      const int64_t bytes =
          kernel::element_count(kernel::extents_of(buffer, sizes)) * scalar::bytes_of(buffer.elem);
      const int64_t unit = bytes >= kLarge ? kHugePage : kPage;
      next = (next + unit - 1) / unit * unit;
      begins_.push_back(next);
      bytes_.push_back(bytes);
      next += bytes;
    }
    leaves_.param = [this](uint32_t p) { return scalar::int_value(params_[p]); };
    leaves_.var = [this](uint32_t v) { return scalar::int_value(values_[v]); };
  }

  void run(const AccessCode& code) {
    for (const AccessStep& step : code)
      std::visit([this](const auto& s) { one(s); }, step.step);
  }

  void count_anew() { accesses_ = 0, moved_ = {}; }
  int64_t accesses() const { return accesses_; }
  const Moved& moved() const { return moved_; } ///< between registers and the nearest cache

private:
  void one(const AccessLoop& loop) {
    const int64_t hi = value(loop.hi);
    for (int64_t at = value(loop.lo); at < hi; at += loop.step) {
      values_[loop.var] = at;
      run(loop.body);
    }
  }
  void one(const AccessBranch& branch) {
    run(is_true(branch.cond) ? branch.then : branch.otherwise);
  }
  void one(const AccessSet& set) { values_[set.var] = value(set.value); }
  void one(const Access& access) {
    if (access.guard && !is_true(*access.guard))
      return;
    const int64_t first = value(access.at);
    for (int64_t k = 0; k < access.count; ++k)
      touch(access, first + k * access.stride);
  }

  void touch(const Access& access, int64_t offset) {
    const int64_t address = begins_[access.buffer] + offset;
    if (access.kind == Access::Kind::Request) {
      // Only what exists is there to be fetched.
      if (offset >= 0 && offset < bytes_[access.buffer])
        caches_.load(address, access.bytes);
      return;
    }
    if (++accesses_ % kAccessesBetweenReports == 0 && progress_)
      progress_(accesses_);
    if (access.kind == Access::Kind::Load) {
      moved_.read += static_cast<double>(access.bytes);
      return caches_.load(address, access.bytes);
    }
    moved_.written += static_cast<double>(access.bytes);
    if (kernel_.buffers[access.buffer].is_streamed)
      caches_.store_past(address, access.bytes);
    else
      caches_.store(address, access.bytes);
  }

  int64_t value(const Place& place) const {
    int64_t sum = place.constant;
    for (const auto& [var, factor] : place.variables)
      sum += values_[var] * factor;
    for (const auto& [term, factor] : place.others)
      sum += value(term) * factor;
    return sum;
  }
  /// A division by zero is nothing that a loop of a sound program does.
  int64_t value(const scalar::Expr& e) const {
    return scalar::evaluate(e, leaves_).value_or(scalar::int_value(0)).i;
  }
  bool is_true(const scalar::Expr& cond) const { return value(cond) != 0; }

  const kernel::Kernel& kernel_;
  std::span<const int64_t> params_;
  Caches& caches_;
  const std::function<void(int64_t)>& progress_;
  std::vector<int64_t> values_;
  std::vector<int64_t> begins_, bytes_; ///< of buffers
  scalar::Leaves leaves_;
  int64_t accesses_ = 0;
  Moved moved_;
};

Diagnostic cannot_replay(const kernel::Kernel& kernel) {
  const bool is_for_gpu = kernel::has<kernel::Launch>(kernel.body);
  Diagnostic d;
  d.code = "K0446";
  d.headline = fmt::format("the loads and stores of `{}` cannot be replayed", kernel.name);
  d.body.push_back(
      is_for_gpu ? "It is a kernel for a GPU: in which order its blocks run, nobody knows before."
                 : "An index or the end of a loop is read from memory: where it leads, "
                   "only running it shows.");
  d.help.push_back({is_for_gpu ? "replay it for the processor: leave `--target` out"
                               : "leave `--replay` out: the prediction needs no addresses",
                    "", false});
  return d;
}

std::string bytes_text(double bytes) {
  return bytes >= 1e9   ? fmt::format("{:.4g} GB", bytes * 1e-9)
         : bytes >= 1e6 ? fmt::format("{:.4g} MB", bytes * 1e-6)
                        : fmt::format("{:.4g} kB", bytes * 1e-3);
}

} // namespace

Result<Replayed, Diagnostic> replay(const kernel::Kernel& kernel, std::span<const int64_t> params,
                                    const Machine& machine,
                                    const std::function<void(int64_t)>& progress) {
  const auto code = accesses_of(kernel, params);
  if (!code)
    return fail(cannot_replay(kernel));
  std::vector<int64_t> capacities;
  for (const Level& level : machine.levels)
    if (level.bytes > 0)
      capacities.push_back(level.bytes);
  Caches caches(capacities, machine.line_bytes);
  Replayer replayer(kernel, params, caches, progress);
  for (const AccessCode& part : code->parts)
    replayer.run(part);
  caches.count_anew();
  replayer.count_anew();
  for (size_t k = kernel.prepared; k < code->parts.size(); ++k)
    replayer.run(code->parts[k]);
  Replayed result;
  result.accesses = replayer.accesses();
  result.assumed = code->assumed;
  for (size_t k = 0; k < machine.levels.size(); ++k) {
    const Moved& moved = k == 0 ? replayer.moved() : caches.moved()[k - 1];
    result.levels.push_back({machine.levels[k].name, moved.read, moved.written});
  }
  return result;
}

std::string print(const Replayed& replayed, const Prediction& prediction) {
  std::string text = fmt::format("replayed {:.4g} million loads and stores of one call\n"
                                 "{:<12}{:>12}{:>12}{:>12}{:>12}{:>14}\n",
                                 static_cast<double>(replayed.accesses) * 1e-6, "from", "read",
                                 "written", "together", "predicted", "of it");
  for (size_t k = 0; k < replayed.levels.size(); ++k) {
    const ReplayedLevel& level = replayed.levels[k];
    const double together = level.read + level.written, predicted = prediction.levels[k].bytes;
    text +=
        fmt::format("{:<12}{:>12}{:>12}{:>12}{:>12}{:>14}\n", level.name, bytes_text(level.read),
                    bytes_text(level.written), bytes_text(together), bytes_text(predicted),
                    predicted > 0 ? fmt::format("{:.0f} %", together / predicted * 100) : "-");
  }
  if (replayed.assumed > 0)
    text += fmt::format("{} {} on data {} taken to hold\n", replayed.assumed,
                        replayed.assumed == 1 ? "condition" : "conditions",
                        replayed.assumed == 1 ? "was" : "were");
  return text;
}

} // namespace kawara::estimate
