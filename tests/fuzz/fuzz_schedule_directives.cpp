// Any bytes as directive text: parsing ends, never crashes, and what was accepted prints and parses
// back to itself. With libFuzzer (KAWARA_LIBFUZZER) the bytes come from it; otherwise from a seeded
// generator that mixes pieces of real directives.

#include "schedule/schedule.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

using namespace kawara;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto parsed = schedule::parse_directives(make_source("fuzz", text));
  if (!parsed) {
    if (render(parsed.error()).empty())
      std::abort();
    return 0;
  }
  const std::string printed = schedule::print(*parsed);
  const auto again = schedule::parse_directives(make_source("printed", printed));
  if (!again || *again != *parsed)
    std::abort();
  return 0;
}

#ifndef KAWARA_LIBFUZZER
int main(int argc, char** argv) {
  long runs = 100000;
  unsigned long seed = 1;
  for (int a = 1; a + 1 < argc; ++a) {
    const std::string option = argv[a];
    if (option == "--runs")
      runs = std::atol(argv[a + 1]);
    if (option == "--seed")
      seed = std::strtoul(argv[a + 1], nullptr, 10);
  }
  const char* const pieces[] = {"split",   "tile",
                                "reorder", "skew",
                                "auto",    "fuse",
                                "(",       ")",
                                "[",       "]",
                                ",",       "=",
                                ";",       "\n",
                                "i",       "S1.i.0",
                                "j.",      "by",
                                "factor",  "32",
                                "-1",      "99999999999999999999",
                                "#",       " ",
                                "\xff",    "\xc3",
                                "S",       "."};
  std::mt19937 random(static_cast<std::mt19937::result_type>(seed));
  for (long run = 0; run < runs; ++run) {
    std::string text;
    for (unsigned length = random() % 24; length > 0; --length)
      text += random() % 8 == 0 ? std::string(1, static_cast<char>(random()))
                                : pieces[random() % (sizeof pieces / sizeof *pieces)];
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  }
  std::printf("%ld inputs\n", runs);
  return 0;
}
#endif
