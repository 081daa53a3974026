// Any byte string gives a Program or Diagnostics; a Program prints to a text that gives it again.
//
// Built with clang and -fsanitize=fuzzer it is a libFuzzer target (define KAWARA_LIBFUZZER).
// Without that, `main` feeds files, or mutations of them: fuzz_program [--runs N] [--seed S]
// FILE...

#include "program/program.h"
#include "support/check.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace kawara;

/// Messages, and printing and parsing again, cost more than parsing, so only every fourth text does
/// them: which, the text itself decides, so that an input that fails fails again.
bool takes_the_long_way(const std::string& text) {
  uint32_t sum = 2166136261U;
  for (const char c : text)
    sum = (sum ^ static_cast<unsigned char>(c)) * 16777619U;
  return (sum >> 8) % 4 == 0;
}

void check_text(const std::string& text, bool is_long_way) {
  const auto parsed = program::parse(make_source("fuzz.kw", text));
  if (!parsed) {
    KAWARA_CHECK(!parsed.error().empty(), "no program and no reason");
    if (is_long_way)
      (void)render(parsed.error());
    return;
  }
  const auto broken = program::spec(*parsed);
  KAWARA_CHECK(broken.empty(), broken.front());
  if (!is_long_way)
    return;
  const std::string printed = program::print(*parsed);
  const auto again = program::parse(make_source("printed.kw", printed));
  KAWARA_CHECK(bool(again), "does not parse:\n" + printed + render(again.error()));
  KAWARA_CHECK(program::print(*again) == printed, "changes when printed:\n" + printed);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  check_text(text, takes_the_long_way(text));
  return 0;
}

#ifndef KAWARA_LIBFUZZER
namespace {

constexpr const char* kWords[] = {"for ",    "if ",     "else:\n", "elif ",
                                  "range(",  "sum(",    "max(",    "argmax(",
                                  "select(", "[",       "]",       "(",
                                  ")",       ":",       ",",       "\n",
                                  "    ",    "\t",      "=",       "+=",
                                  "max=",    "-",       "*",       "/",
                                  "//",      "%",       "<",       " in ",
                                  " and ",   "not ",    "param ",  "temp ",
                                  "input ",  "output ", "assume ", "f32",
                                  "i8",      "bool",    "f16",     "0",
                                  "1",       "0.5",     "1e9",     "9223372036854775808",
                                  "inf",     "i",       "j",       "k",
                                  "N",       "A",       "C",       "_sum0",
                                  "f32(",    "i32(",    "silu(",   "k in range(3), "};

std::string mutated(std::string text, const std::vector<std::string>& corpus,
                    std::mt19937_64& random) {
  const auto pick = [&](size_t n) { return n == 0 ? 0 : size_t(random() % n); };
  for (size_t n = 1 + pick(4); n > 0; --n) {
    const size_t at = pick(text.size() + 1);
    switch (pick(5)) {
    case 0:
      text.insert(at, kWords[pick(std::size(kWords))]);
      break;
    case 1:
      text.erase(at, 1 + pick(8));
      break;
    case 2:
      if (at < text.size())
        text[at] = char(random());
      break;
    case 3: {
      const std::string& other = corpus[pick(corpus.size())];
      const size_t from = pick(other.size() + 1);
      text.insert(at, other.substr(from, pick(60)));
      break;
    }
    default:
      text.replace(at, std::min<size_t>(text.size() - at, 1 + pick(3)),
                   kWords[pick(std::size(kWords))]);
    }
  }
  return text;
}

} // namespace

int main(int argc, char** argv) {
  std::vector<std::string> corpus;
  size_t runs = 0;
  uint64_t seed = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--runs" && i + 1 < argc) {
      runs = std::strtoull(argv[++i], nullptr, 10);
    } else if (arg == "--seed" && i + 1 < argc) {
      seed = std::strtoull(argv[++i], nullptr, 10);
    } else {
      std::ifstream file(arg, std::ios::binary);
      corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
  }
  if (corpus.empty())
    corpus.emplace_back();
  std::string text;
  try {
    for (const std::string& seed_text : corpus)
      check_text(text = seed_text, true);
    std::mt19937_64 random(seed);
    std::vector<std::string> pool = corpus;
    for (size_t run = 0; run < runs; ++run) {
      std::string& slot = pool[random() % pool.size()];
      check_text(text = mutated(slot, corpus, random), true);
      // Mutations pile up for a while, then the slot starts over.
      slot = random() % 8 == 0 || text.size() > 4000 ? corpus[random() % corpus.size()] : text;
    }
  } catch (const InternalError& error) {
    std::fprintf(stderr, "%s\n--- text\n%s\n", error.what(), text.c_str());
    return 1;
  }
  std::printf("%zu texts, %zu mutations\n", corpus.size(), runs);
  return 0;
}
#endif
