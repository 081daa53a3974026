#!/bin/sh
# Feeds broken texts to the parsers with libFuzzer, under the address sanitizer:
#
#   tools/fuzz.sh [RUNS]     default 1000000 for each target; finds go to build/fuzz/
set -eu
cd "$(dirname "$0")/.."
runs=${1:-1000000}
build=build/fuzz
mkdir -p "$build"

# The first clang whose fuzzer library is installed.
clang=
echo '#include <cstddef>
extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, std::size_t) { return 0; }' >"$build/probe.cpp"
for candidate in clang++-19 clang++-20 clang++-18 clang++-17 clang++; do
  if "$candidate" -fsanitize=fuzzer,address "$build/probe.cpp" -o "$build/probe" 2>/dev/null; then
    clang=$candidate
    break
  fi
done
if [ -z "$clang" ]; then
  echo "no clang with its fuzzer library is installed; packages.txt names both" >&2
  exit 77
fi

cmake -G Ninja -S . -B "$build" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DKAWARA_LIBFUZZER=ON \
  -DKAWARA_SANITIZE=address,fuzzer-no-link -DCMAKE_CXX_COMPILER="$clang" >"$build/configure.log"
for source in tests/fuzz/fuzz_*.cpp; do
  name=$(basename "$source" .cpp)
  cmake --build "$build" --target "$name"
  corpus=$build/corpus_$name
  mkdir -p "$corpus"
  find examples -name '*.kw' -exec cp {} "$corpus" \; 2>/dev/null || true
  words=tests/fuzz/${name#fuzz_}.dict
  "$build/tests/fuzz/$name" -runs="$runs" -timeout=10 -rss_limit_mb=2048 -max_len=4096 \
    -artifact_prefix="$build/" ${words:+$([ -f "$words" ] && echo "-dict=$words")} "$corpus"
done
