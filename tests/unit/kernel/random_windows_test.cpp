#include "unit/kernel/line.h"

#include <fmt/format.h>

#include <random>

// Windows over images of narrow types, drawn at random: channels first and last, strides, gaps
// between taps, edges, groups, zero points and requantisation. What `auto` and the passes make of
// them for each processor computes what the program means.

namespace kawara {
namespace {

struct WindowTypes {
  const char *image, *weight, *sum;
};

class RandomWindow {
public:
  explicit RandomWindow(uint64_t seed,
                        std::vector<int64_t> channels = {1, 3, 4, 6, 7, 8, 12, 16, 32, 64})
      : random_(seed * 0x9e3779b97f4a7c15ULL + 1), all_channels_(std::move(channels)) {}

  std::string program() {
    const WindowTypes types = pick<WindowTypes>({{"i8", "i8", "i32"},
                                                 {"u8", "i8", "i32"},
                                                 {"u8", "u8", "i32"},
                                                 {"i8", "u8", "i32"},
                                                 {"f16", "f16", "f32"},
                                                 {"bf16", "bf16", "f32"}});
    is_float_ = types.sum[0] == 'f';
    taps_ = pick<int64_t>({1, 1, 2, 3, 3});
    stride_ = pick<int64_t>({1, 1, 2});
    gap_ = taps_ > 1 && chance(20) ? 2 : 1;
    groups_ = chance(15) ? 2 : 1;
    is_last_ = chance(40);
    channels_ = pick(all_channels_);
    const int64_t filters = pick<int64_t>({8, 13, 16, 20, 33, 48});
    const int64_t height = between(1, 4), width = between(1, 21);
    const int64_t reach = gap_ * (taps_ - 1) + 1;
    const int64_t rows = stride_ * (height - 1) + reach, columns = stride_ * (width - 1) + reach;
    pad_ = taps_ > 1 && chance(40) ? 1 : 0;
    if (rows <= 2 * pad_ || columns <= 2 * pad_)
      pad_ = 0;
    std::string text = fmt::format("numerics {}\ninput X: {}{}{}\nconst W: {}{}\n",
                                   is_float_ && chance(50) ? "fast" : "rounding", types.image,
                                   image(channels_, rows - 2 * pad_, columns - 2 * pad_),
                                   chance(20) ? ", z: i32" : "", types.weight, weights(filters));
    const bool has_zero = text.find(", z: i32") != std::string::npos;
    const bool narrows = chance(40);
    text += fmt::format("output Y: {}{}\n", narrows ? types.image : types.sum,
                        image(filters, height, width));
    if (narrows)
      text += fmt::format("temp T: {}{}\n", types.sum, image(filters, height, width));
    std::string source = "X";
    if (pad_ > 0) {
      text += fmt::format("temp P: {}{}\n", types.image, image(channels_, rows, columns));
      text += padding(rows, columns);
      source = "P";
    }
    const std::string element = at("k", "h", "w");
    text += fmt::format("{}{} = sum(({}), {}{} * W{})\n", narrows ? "T" : "Y", element, loops(),
                        source, at("c", along("h", "r"), along("w", "s")), weight());
    if (narrows)
      text += fmt::format("Y{} = {}\n", element, narrowed(types.image, "T" + element, has_zero));
    else if (has_zero)
      text += fmt::format("Y{} += {}\n", element, is_float_ ? "f32(z)" : "z");
    return text;
  }

private:
  bool chance(int64_t percent) { return between(1, 100) <= percent; }
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }
  template <class T> T pick(const std::vector<T>& from) { return from[random_() % from.size()]; }

  std::string image(int64_t channels, int64_t rows, int64_t columns) const {
    const std::string groups = groups_ > 1 ? fmt::format("{}, ", groups_) : "";
    return is_last_ ? fmt::format("[{}{}, {}, {}]", groups, rows, columns, channels)
                    : fmt::format("[{}{}, {}, {}]", groups, channels, rows, columns);
  }
  std::string at(const std::string& channel, const std::string& row,
                 const std::string& column) const {
    const std::string groups = groups_ > 1 ? "g, " : "";
    return is_last_ ? fmt::format("[{}{}, {}, {}]", groups, row, column, channel)
                    : fmt::format("[{}{}, {}, {}]", groups, channel, row, column);
  }
  std::string weights(int64_t filters) const {
    const std::string groups = groups_ > 1 ? fmt::format("{}, ", groups_) : "";
    const std::string taps = taps_ > 1 ? fmt::format("{0}, {0}", taps_) : "";
    if (is_last_)
      return fmt::format("[{}{}{}{}, {}]", groups, taps, taps.empty() ? "" : ", ", channels_,
                         filters);
    return fmt::format("[{}{}, {}{}{}]", groups, filters, channels_, taps.empty() ? "" : ", ",
                       taps);
  }
  std::string weight() const {
    const std::string groups = groups_ > 1 ? "g, " : "";
    if (is_last_)
      return fmt::format("[{}{}c, k]", groups, taps_ > 1 ? "r, s, " : "");
    return fmt::format("[{}k, c{}]", groups, taps_ > 1 ? ", r, s" : "");
  }
  std::string along(const std::string& element, const std::string& tap) const {
    const std::string start = stride_ > 1 ? fmt::format("{} * {}", stride_, element) : element;
    if (taps_ == 1)
      return start;
    return gap_ > 1 ? fmt::format("{} + {} * {}", start, gap_, tap) : start + " + " + tap;
  }
  std::string loops() const {
    if (taps_ == 1)
      return fmt::format("c in range({})", channels_);
    const std::string taps = fmt::format("r in range({0}), s in range({0})", taps_);
    return is_last_ ? fmt::format("{}, c in range({})", taps, channels_)
                    : fmt::format("c in range({}), {}", channels_, taps);
  }
  /// The image inside a border of zeros.
  std::string padding(int64_t rows, int64_t columns) const {
    std::string text, indent;
    const auto loop = [&](const std::string& name, int64_t extent) {
      text += fmt::format("{}for {} in range({}):\n", indent, name, extent);
      indent += "    ";
    };
    if (groups_ > 1)
      loop("g", groups_);
    loop("c", channels_);
    loop("h", rows);
    loop("w", columns);
    const std::string element = "P" + at("c", "h", "w");
    text += fmt::format("{}if h >= 1 and h < {} and w >= 1 and w < {}:\n", indent, rows - 1,
                        columns - 1);
    text += fmt::format("{}    {} = X{}\n", indent, element, at("c", "h - 1", "w - 1"));
    return text + fmt::format("{0}else:\n{0}    {1} = 0\n", indent, element);
  }
  std::string narrowed(const std::string& type, const std::string& sum, bool has_zero) const {
    if (is_float_)
      return fmt::format("{}(max({} * 0.125{}, 0))", type, sum, has_zero ? " + f32(z)" : "");
    const int64_t low = type == "u8" ? 0 : -128;
    return fmt::format("{}(min(max(round(f32({}{}) * 0.0078125), 0 - {}), {}))", type, sum,
                       has_zero ? " - z" : "", -low, low + 255);
  }

  std::mt19937_64 random_;
  std::vector<int64_t> all_channels_;
  int64_t taps_ = 1, stride_ = 1, gap_ = 1, groups_ = 1, channels_ = 1, pad_ = 0;
  bool is_float_ = false, is_last_ = false;
};

TEST(RandomWindows, ComputeWhatTheProgramMeans) {
  constexpr uint64_t kSeeds = 60;
  size_t instructions = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const std::string text = RandomWindow(seed).program();
    const auto names = target::named_cpus();
    target::Cpu cpu = *target::named_cpu(names[seed % names.size()]);
    cpu.cores = seed % 3 == 0 ? 4 : 1;
    SCOPED_TRACE("seed " + std::to_string(seed) + " for " + cpu.name + "\n" + text);
    const line::Line made = line::compile(text, "auto", cpu);
    const kernel::Kernel passed = kernel::optimise(made.kernel, cpu);
    instructions += kernel::print(passed).find("dot") != std::string::npos ? 1 : 0;
    // Sums of f16 are rounded to 11 bits at every step; sums of hundreds of products that nearly
    // cancel show it.
    const bool adds_in_f16 = text.starts_with("numerics fast\ninput X: f16");
    ASSERT_EQ(line::difference(made.program, passed, {}, adds_in_f16 ? 1e-1 : 1e-2), "")
        << kernel::print(passed);
  }
  EXPECT_GT(instructions, 0U);
}

/// Channels that fill rows of tiles.
TEST(RandomWindows, ComputeTheSameOnTiles) {
  constexpr uint64_t kSeeds = 30;
  size_t tiles = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const std::string text = RandomWindow(seed, {32, 64, 64, 128}).program();
    target::Cpu cpu = *target::named_cpu("sapphirerapids");
    cpu.cores = seed % 3 == 0 ? 4 : 1;
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + text);
    const line::Line made = line::compile(text, "auto", cpu);
    const kernel::Kernel passed = kernel::optimise(made.kernel, cpu);
    tiles += kernel::print(passed).find("amx.") != std::string::npos ? 1 : 0;
    const bool adds_in_f16 = text.starts_with("numerics fast\ninput X: f16");
    ASSERT_EQ(line::difference(made.program, passed, {}, adds_in_f16 ? 1e-1 : 1e-2), "")
        << kernel::print(passed);
  }
  EXPECT_GT(tiles, kSeeds / 6);
}

} // namespace
} // namespace kawara
