#include "run/npy.h"
#include "run/npz.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <zlib.h>

namespace kawara::run {
namespace {

using program::Array;
using program::Arrays;
using scalar::Elem;

Arrays sample_arrays() {
  Arrays arrays;
  arrays["A"] = program::fill_pattern(Elem::F32, {3, 5}, 1);
  arrays["empty"] = Array(Elem::F64, {0, 2});
  arrays["scalar"] = program::fill_pattern(Elem::I64, {}, 3);
  arrays["bits"] = program::fill_pattern(Elem::BF16, {9}, 4);
  return arrays;
}

std::string le(uint64_t value, int width) {
  std::string text;
  for (int i = 0; i < width; ++i)
    text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}

std::string deflated(const std::string& content) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out(content.size() + 1000, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

struct Options {
  int method = 8;
  int flags = 0;
  bool is_zip64 = false;
  uint64_t crc_error = 0;
  uint64_t size_error = 0;
};

/// An archive with one deflated member, as numpy.savez_compressed writes it.
std::string archive(const std::string& content, const Options& options) {
  const std::string name = "A.npy", packed = deflated(content);
  const uint64_t crc = crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size()) ^
                       options.crc_error;
  const uint64_t size = content.size() + options.size_error;
  const std::string start = le(45, 2) + le(static_cast<uint64_t>(options.flags), 2) +
                            le(static_cast<uint64_t>(options.method), 2) + le(0, 4) + le(crc, 4);
  // In zip64 the sizes move to an extra field.
  const std::string wide = le(1, 2) + le(16, 2) + le(size, 8) + le(packed.size(), 8);
  const std::string extra = options.is_zip64 ? wide : "";
  const std::string sizes =
      options.is_zip64 ? le(0xffffffff, 4) + le(0xffffffff, 4) : le(packed.size(), 4) + le(size, 4);
  const std::string fields = start + sizes + le(name.size(), 2) + le(extra.size(), 2);
  const std::string local = std::string("PK\x03\x04") + fields + name + extra + packed;
  const std::string central = std::string("PK\x01\x02") + le(45, 2) + fields +
                              std::string(10, '\0') + le(0, 4) + name + extra;
  return local + central + "PK\x05\x06" + le(0, 4) + le(1, 2) + le(1, 2) + le(central.size(), 4) +
         le(local.size(), 4) + le(0, 2);
}

std::string npz_code(const std::string& bytes) {
  const auto r = arrays_from_npz(bytes, "a.npz");
  return r ? "none" : r.error().code;
}

TEST(Npz, ComesBack) {
  const auto bytes = npz_from_arrays(sample_arrays(), "a.npz");
  ASSERT_TRUE(bytes);
  const auto back = arrays_from_npz(*bytes, "a.npz");
  ASSERT_TRUE(back) << render(back.error());
  EXPECT_TRUE(*back == sample_arrays());
  const auto none = arrays_from_npz(*npz_from_arrays({}, "a.npz"), "a.npz");
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->empty());
}

TEST(Npz, ReadsDeflatedMembers) {
  const Array a(Elem::F64, {100, 10});
  for (const bool is_zip64 : {false, true}) {
    const auto back = arrays_from_npz(archive(npy_from_array(a), {.is_zip64 = is_zip64}), "a.npz");
    ASSERT_TRUE(back) << render(back.error());
    EXPECT_TRUE(back->at("A") == a);
  }
}

TEST(Npz, RefusesDamage) {
  const std::string content = npy_from_array(Array(Elem::F32, {4}));
  EXPECT_EQ(npz_code(archive(content, {})), "none");
  EXPECT_EQ(npz_code(archive(content, {.method = 12})), "K0426");
  EXPECT_EQ(npz_code(archive(content, {.flags = 1})), "K0426");
  EXPECT_EQ(npz_code(archive(content, {.crc_error = 1})), "K0426");
  EXPECT_EQ(npz_code(archive(content, {.size_error = 1})), "K0426");
  EXPECT_EQ(npz_code(archive(content, {.is_zip64 = true, .size_error = uint64_t{1} << 60})),
            "K0426");
  EXPECT_EQ(npz_code(archive("not an array", {})), "K0421");
  EXPECT_EQ(npz_code("\x93NUMPY"), "K0421");
  EXPECT_EQ(npz_code(""), "K0421");
  const std::string whole = archive(content, {});
  EXPECT_EQ(npz_code(whole.substr(0, whole.size() - 1)), "K0426");
}

TEST(Npz, NeverCrashesOnDamagedFiles) {
  const std::string good = archive(npy_from_array(Array(Elem::F32, {4})), {.is_zip64 = true});
  for (size_t at = 0; at < good.size(); ++at)
    for (const int change : {1, 0x40, 0x80, 0xff}) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ change);
      (void)arrays_from_npz(bad, "a.npz");
      (void)arrays_from_npz(bad.substr(0, at), "a.npz");
    }
}

TEST(Npz, FilesOnDisk) {
  const std::string path = testing::TempDir() + "kawara_npz_test.npz";
  ASSERT_TRUE(write_npz(path, sample_arrays()));
  const auto back = read_npz(path);
  ASSERT_TRUE(back);
  EXPECT_TRUE(*back == sample_arrays());
  std::filesystem::remove(path);
  EXPECT_EQ(read_npz(path).error().code, "K0420");
}

TEST(Npz, RefusesMoreArraysThanAnArchiveHolds) {
  Arrays arrays;
  for (int k = 0; k < 0xffff; ++k)
    arrays["a" + std::to_string(k)] = Array(Elem::I8, {0});
  const auto bytes = npz_from_arrays(arrays, "many.npz");
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().code, "K0427");
  EXPECT_EQ(bytes.error().headline, "`many.npz` would be larger than a .npz file can be");
}

/// Models have types that programs lack: they are not written as the signed ones with the same
/// bytes.
TEST(Npz, KeepsUnsignedTensorsOfModels) {
  const std::string path = ::testing::TempDir() + "unsigned.npz";
  graph::Tensor narrow(graph::DataType::U16, {2}), wide(graph::DataType::U64, {1});
  narrow.set_int(0, 7);
  narrow.set_int(1, 65535);
  wide.set_int(0, -1);
  ASSERT_TRUE(write_npz_tensors(path, {{"narrow", narrow}, {"wide", wide}}));
  const auto read = read_npz_tensors(path, [](const std::string&) { return std::nullopt; });
  ASSERT_TRUE(read);
  EXPECT_EQ(read->at("narrow").type(), graph::DataType::U16);
  EXPECT_EQ(read->at("narrow").get_double(1), 65535);
  EXPECT_EQ(read->at("wide").type(), graph::DataType::U64);
  EXPECT_EQ(read->at("wide").get_int(0), -1);
  // The same bits are bf16 where the model says so.
  const auto declared = read_npz_tensors(path, [](const std::string& name) {
    return name == "narrow" ? std::optional(graph::DataType::BF16) : std::nullopt;
  });
  ASSERT_TRUE(declared);
  EXPECT_EQ(declared->at("narrow").type(), graph::DataType::BF16);
  std::remove(path.c_str());
}

} // namespace
} // namespace kawara::run
