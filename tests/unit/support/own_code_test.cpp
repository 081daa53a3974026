#include "support/own_code.h"

#include "unit/support/traced.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace kawara {
namespace {

uint64_t sum_of(const Pages& pages) {
  return std::accumulate(
      pages.begin, pages.begin + pages.bytes, uint64_t{0},
      [](uint64_t sum, std::byte byte) { return sum * 31 + std::to_integer<uint64_t>(byte); });
}

/// A file of many pages, mapped like code.
class MappedFile {
public:
  MappedFile() {
    std::string name = testing::TempDir() + "kawara_own_code_XXXXXX";
    const int file = ::mkstemp(name.data());
    ::unlink(name.c_str());
    const std::string text(kBytes, 'k');
    EXPECT_EQ(::write(file, text.data(), text.size()), static_cast<ssize_t>(kBytes));
    void* at = ::mmap(nullptr, kBytes, PROT_READ, MAP_PRIVATE, file, 0);
    ::close(file);
    EXPECT_NE(at, MAP_FAILED);
    pages_ = {static_cast<std::byte*>(at), kBytes};
  }
  ~MappedFile() { ::munmap(pages_.begin, pages_.bytes); }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const Pages& pages() const { return pages_; }
  /// Bytes of it that are in memory after a byte of every 64 kB was read.
  int64_t bytes_after_touching() const {
    const int64_t before = resident_bytes().of_files;
    for (size_t at = 0; at < pages_.bytes; at += kStep) {
      const std::byte byte = static_cast<volatile const std::byte&>(pages_.begin[at]);
      EXPECT_EQ(byte, std::byte{'k'});
    }
    return resident_bytes().of_files - before;
  }

private:
  static constexpr size_t kStep = size_t{64} << 10, kBytes = 256 * kStep;
  Pages pages_;
};

TEST(OwnCode, is_where_functions_of_this_program_are) {
  const std::vector<Pages> all = own_code();
  if (is_traced())
    GTEST_SKIP() << "a debugger is watching";
  ASSERT_FALSE(all.empty());
  const auto function = reinterpret_cast<uintptr_t>(&own_code);
  EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const Pages& pages) {
    const auto begin = reinterpret_cast<uintptr_t>(pages.begin);
    return function >= begin && function - begin < pages.bytes;
  }));
}

TEST(OwnCode, comes_again_as_it_was) {
  for (const Pages& pages : own_code()) {
    const uint64_t before = sum_of(pages);
    bring_in_small_pieces(pages);
    take_out(pages);
    EXPECT_EQ(sum_of(pages), before);
    take_out(pages);
  }
}

TEST(OwnCode, leaves_memory_when_it_is_taken_out) {
  const MappedFile file;
  const int64_t before = resident_bytes().of_files;
  EXPECT_GT(sum_of(file.pages()), 0U);
  const int64_t with = resident_bytes().of_files;
  take_out(file.pages());
  const int64_t without = resident_bytes().of_files;
  const auto most = static_cast<int64_t>(file.pages().bytes);
  EXPECT_GT(with - before, most / 2);
  EXPECT_LT(without - before, most / 4);
}

TEST(OwnCode, small_pieces_take_less_memory_than_large_ones) {
  const MappedFile file;
  const int64_t large = file.bytes_after_touching();
  take_out(file.pages());
  bring_in_small_pieces(file.pages());
  const int64_t small = file.bytes_after_touching();
  const int64_t pieces = static_cast<int64_t>(file.pages().bytes) / (64 << 10);
  EXPECT_LE(small, large);
  EXPECT_LE(small, pieces * std::max<int64_t>(8192, ::sysconf(_SC_PAGESIZE)) + (1 << 20));
}

TEST(Resident, grows_with_memory_that_is_written) {
  constexpr size_t kBytes = size_t{32} << 20;
  const Resident before = resident_bytes();
  std::vector<char> memory(kBytes, 1);
  const Resident after = resident_bytes();
  EXPECT_GE(after.all - before.all, static_cast<int64_t>(kBytes / 2));
  EXPECT_LE(after.of_files - before.of_files, static_cast<int64_t>(kBytes / 2));
  EXPECT_EQ(memory[kBytes / 2], 1);
}

} // namespace
} // namespace kawara
