#include "cache/description.h"

#include "support/text.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <optional>

namespace kawara::cache {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 40;

/// "32K", "1M", "4096".
std::optional<int64_t> bytes_from_text(std::string_view text) {
  int64_t unit = 1;
  constexpr std::string_view kUnits = "KMG";
  if (const size_t k = text.empty() ? kUnits.npos : kUnits.find(text.back()); k != kUnits.npos) {
    unit = int64_t{1024} << (10 * k);
    text.remove_suffix(1);
  }
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value <= 0 ||
      value > kMostBytes / unit)
    return std::nullopt;
  return value * unit;
}

std::optional<Policy> policy_of(std::string_view name) {
  for (const Policy policy : {Policy::Lru, Policy::Plru, Policy::Fifo})
    if (name == name_of(policy))
      return policy;
  return std::nullopt;
}

Diagnostic refusal(std::string_view text, std::string why) {
  Diagnostic d;
  d.code = "K0458";
  d.headline = fmt::format("`--level {}` describes no cache", printable(std::string(text)));
  d.body.push_back(std::move(why));
  d.help.push_back(
      {"for example 32 KiB in lines of 64 bytes, 8 to a set", "--level 32K,64,8,lru", false});
  return d;
}

/// What does not fit together, if anything.
std::string mismatch(const Description& d) {
  if (!std::has_single_bit(static_cast<uint64_t>(d.line_bytes)))
    return fmt::format("Lines of {} bytes are no power of two.", d.line_bytes);
  if (d.bytes % d.line_bytes != 0)
    return fmt::format("{} bytes are no whole number of lines of {} bytes.", d.bytes, d.line_bytes);
  if (d.lines() > UINT32_MAX / 32)
    return fmt::format("{} lines are more than can be simulated.", d.lines());
  if (d.ways > d.lines() || (d.ways > 0 && d.lines() % d.ways != 0))
    return fmt::format("{} lines make no whole number of sets of {}.", d.lines(), d.ways);
  const int64_t ways = d.lines_of_set();
  if (d.policy == Policy::Plru &&
      (ways > kMostTreeWays || !std::has_single_bit(static_cast<uint64_t>(ways))))
    return fmt::format("A tree chooses among 2, 4, 8, ... up to {} ways, not among {}.",
                       kMostTreeWays, ways);
  return "";
}

} // namespace

std::string_view name_of(Policy policy) {
  constexpr std::string_view names[] = {"lru", "plru", "fifo"};
  return names[static_cast<size_t>(policy)];
}

Result<Description, Diagnostic> description_from_text(std::string_view text, size_t number,
                                                      Policy policy) {
  Description d;
  d.name = fmt::format("L{}", number);
  d.policy = policy;
  size_t k = 0;
  for (const std::string_view field : split(text, ',')) {
    const std::string_view word = trim(field);
    if (k == 0 || k == 1) {
      const auto bytes = bytes_from_text(word);
      if (!bytes)
        return fail(refusal(
            text,
            fmt::format("`{}` is no number of bytes: a whole number, with K, M or G behind it.",
                        printable(std::string(word)))));
      (k == 0 ? d.bytes : d.line_bytes) = *bytes;
    } else if (k == 2 && word != "full") {
      const auto ways = bytes_from_text(word);
      if (!ways)
        return fail(refusal(text, fmt::format("`{}` is no number of ways, nor `full`.",
                                              printable(std::string(word)))));
      d.ways = *ways;
    } else if (const auto named = policy_of(word); k == 3 && named) {
      d.policy = *named;
    } else if (k >= 3 && word == "through") {
      d.writes_back = false;
    } else if (k >= 3 && word == "around") {
      d.allocates = false;
    } else if (k >= 3) {
      return fail(refusal(text, fmt::format("`{}` is none of lru, plru, fifo, through, around.",
                                            printable(std::string(word)))));
    }
    ++k;
  }
  if (std::string why = mismatch(d); !why.empty())
    return fail(refusal(text, std::move(why)));
  return d;
}

Result<Done, Diagnostic> check(const std::vector<Description>& levels) {
  for (size_t k = 1; k < levels.size(); ++k)
    if (levels[k].line_bytes < levels[k - 1].line_bytes) {
      Diagnostic d;
      d.code = "K0458";
      d.headline = fmt::format("lines of {} are smaller than those of {}", levels[k].name,
                               levels[k - 1].name);
      d.body.push_back(fmt::format("{} bytes behind {} bytes: a line would come in pieces.",
                                   levels[k].line_bytes, levels[k - 1].line_bytes));
      d.help.push_back(
          {"name levels from the nearest on, with lines that do not shrink", "", false});
      return fail(std::move(d));
    }
  return Done{};
}

Result<Description, Diagnostic> tlb_from_text(std::string_view text, size_t number) {
  const auto refused = [&](std::string why) {
    Diagnostic d;
    d.code = "K0458";
    d.headline = fmt::format("`--tlb {}` describes no TLB", printable(std::string(text)));
    d.body.push_back(std::move(why));
    d.help.push_back({"for example 64 pages of 4 KiB, 4 to a set", "--tlb 64,4K,4,lru", false});
    return fail(std::move(d));
  };
  const size_t comma = text.find(',');
  const auto entries = bytes_from_text(trim(text.substr(0, comma)));
  const std::string_view rest =
      comma == std::string_view::npos ? std::string_view("4K") : text.substr(comma + 1);
  const auto page = bytes_from_text(trim(rest.substr(0, rest.find(','))));
  if (!entries || !page)
    return refused("It begins with a number of entries and the bytes of a page.");
  if (*entries > kMostBytes / *page)
    return refused(
        fmt::format("{} pages of {} bytes are more than can be simulated.", *entries, *page));
  auto made = description_from_text(fmt::format("{},{}", *entries * *page, rest), number);
  if (!made)
    return refused(made.error().body.front());
  made->name = fmt::format("TLB{}", number);
  return made;
}

std::string size_text(int64_t bytes) {
  for (const auto& [unit, name] :
       {std::pair{int64_t{1} << 30, "GiB"}, std::pair{int64_t{1} << 20, "MiB"},
        std::pair{int64_t{1} << 10, "KiB"}})
    if (bytes >= unit && bytes % unit == 0)
      return fmt::format("{} {}", bytes / unit, name);
  return fmt::format("{} bytes", bytes);
}

std::string print(const Description& d) {
  return fmt::format("{}, {} {}, lines of {} bytes{}{}", size_text(d.bytes),
                     d.sets() == 1 ? "one set," : fmt::format("{}-way", d.ways), name_of(d.policy),
                     d.line_bytes, d.allocates ? "" : ", stores go around it",
                     d.writes_back ? "" : ", stores go through it");
}

} // namespace kawara::cache
