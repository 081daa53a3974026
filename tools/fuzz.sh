#!/bin/sh
# Feeds broken texts to the parsers with libFuzzer, under the address and undefined-behaviour
# sanitizers:
#
#   tools/fuzz.sh [RUNS]     default 1000000 for each target; finds go to build/fuzz/
#
# FUZZ_TARGETS names some of the targets (fuzz_program fuzz_schedule_directives), FUZZ_BUILD another
# build folder, FUZZ_SEED another sequence of inputs.
set -eu
cd "$(dirname "$0")/.."
runs=${1:-1000000}
build=${FUZZ_BUILD:-build/fuzz}
mkdir -p "$build"

# The first clang whose fuzzer library is installed.
clang=
echo '#include <cstddef>
extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, std::size_t) { return 0; }' >"$build/probe.cpp"
for candidate in clang++-19 clang++-20 clang++-18 clang++-17 clang++; do
  if "$candidate" -fsanitize=fuzzer,address,undefined "$build/probe.cpp" -o "$build/probe" 2>/dev/null; then
    clang=$candidate
    break
  fi
done
if [ -z "$clang" ]; then
  echo "no clang with its fuzzer library is installed; packages.txt names both" >&2
  exit 77
fi

cmake -G Ninja -S . -B "$build" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DKAWARA_LIBFUZZER=ON \
  -DKAWARA_SANITIZE=address,undefined,fuzzer-no-link -DCMAKE_CXX_COMPILER="$clang" \
  -DCMAKE_CXX_FLAGS=-fno-sanitize-recover=undefined >"$build/configure.log"

# Short inputs, because a long one costs as much as many short ones. Neither leak checks after each
# input (there is one at the end) nor weights by rare features: together they took most of the time.
longest=300
ASAN_OPTIONS=malloc_context_size=5:quarantine_size_mb=16${ASAN_OPTIONS:+:$ASAN_OPTIONS}
export ASAN_OPTIONS
targets=${FUZZ_TARGETS:-$(cd tests/fuzz && ls fuzz_*.cpp | sed 's/\.cpp$//')}
for name in $targets; do
  cmake --build "$build" --target "$name"
  # The corpus starts empty beside the kept seeds, so that a run can be repeated.
  corpus=$build/corpus_$name
  rm -rf "$corpus"
  mkdir -p "$corpus"
  "$build/tests/fuzz/$name" -runs="$runs" -seed="${FUZZ_SEED:-1}" -timeout=60 -rss_limit_mb=2048 \
    -max_len=$longest -detect_leaks=0 -entropic=0 -print_final_stats=1 -artifact_prefix="$build/" \
    -dict="tests/fuzz/${name#fuzz_}.dict" "$corpus" "tests/fuzz/seeds/${name#fuzz_}"
done
