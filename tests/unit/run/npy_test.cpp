#include "run/npy.h"

#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>

namespace kawara::run {
namespace {

using program::Array;
using scalar::Elem;

constexpr Elem kAll[] = {Elem::F64, Elem::F32, Elem::F16, Elem::BF16, Elem::I64,
                         Elem::I32, Elem::I16, Elem::I8,  Elem::U8,   Elem::Bool};

/// A file as NumPy would write it, put together by hand.
std::string file(const std::string& header, const std::string& data, char version = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += {version, 0};
  const int width = version == 1 ? 2 : 4;
  for (int i = 0; i < width; ++i)
    bytes += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return bytes + header + data;
}

template <class T> std::string raw(std::initializer_list<T> values) {
  std::string bytes;
  for (const T v : values)
    bytes.append(reinterpret_cast<const char*>(&v), sizeof v);
  return bytes;
}

std::vector<double> elements(const Array& a) {
  std::vector<double> values;
  for (int64_t i = 0; i < a.elements(); ++i)
    values.push_back(a.get_double(i));
  return values;
}

std::string code(const std::string& bytes) {
  const auto r = array_from_npy(bytes, "a.npy");
  return r ? "none" : r.error().code;
}

TEST(Npy, EveryTypeAndShapeComesBack) {
  for (const Elem elem : kAll)
    for (const std::vector<int64_t>& shape :
         {std::vector<int64_t>{}, {5}, {0}, {3, 4}, {2, 3, 5}, {2, 0, 3}}) {
      const Array a = program::fill_pattern(elem, shape, 11);
      const std::string bytes = npy_from_array(a);
      const auto back = array_from_npy(bytes, "a.npy");
      ASSERT_TRUE(back) << render(back.error());
      EXPECT_TRUE(*back == a) << scalar::name_of(elem) << program::shape_text(shape);
      EXPECT_EQ((bytes.size() - a.bytes()) % 64, 0U) << "data are aligned";
    }
}

TEST(Npy, WritesTheHeaderOfNumpy) {
  const std::string bytes = npy_from_array(Array(Elem::F32, {3, 4}));
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }";
  EXPECT_EQ(bytes.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  EXPECT_EQ(bytes.substr(10, header.size()), header);
  EXPECT_NE(npy_from_array(Array(Elem::F32, {3})).find("'shape': (3,), }"), std::string::npos);
  EXPECT_NE(npy_from_array(Array(Elem::F32, {})).find("'shape': (), }"), std::string::npos);
  EXPECT_NE(npy_from_array(Array(Elem::BF16, {})).find("'descr': '|V2'"), std::string::npos);
  EXPECT_NE(npy_from_array(Array(Elem::U8, {})).find("'descr': '|u1'"), std::string::npos);
}

TEST(Npy, ReadsAllVersionsAndSpellings) {
  const std::string data = raw<float>({1, 2, 3});
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }\n";
  for (const char version : {1, 2, 3}) {
    const auto a = array_from_npy(file(header, data, version), "a.npy");
    ASSERT_TRUE(a);
    EXPECT_EQ(elements(*a), (std::vector<double>{1, 2, 3}));
  }
  EXPECT_EQ(code(file(R"({"shape": (3L,), "fortran_order": False, "descr": "<f4"})", data)),
            "none");
}

TEST(Npy, ReadsFortranOrderAndBigEndian) {
  const auto f = array_from_npy(file("{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }",
                                     raw<int32_t>({0, 3, 1, 4, 2, 5})),
                                "a.npy");
  ASSERT_TRUE(f);
  EXPECT_EQ(elements(*f), (std::vector<double>{0, 1, 2, 3, 4, 5}));
  const auto cube =
      array_from_npy(file("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 2, 2), }",
                          raw<uint8_t>({0, 4, 2, 6, 1, 5, 3, 7})),
                     "a.npy");
  ASSERT_TRUE(cube);
  EXPECT_EQ(elements(*cube), (std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7}));
  const auto big = array_from_npy(file("{'descr': '>i2', 'fortran_order': False, 'shape': (2,), }",
                                       std::string("\x01\x02\x00\x03", 4)),
                                  "a.npy");
  ASSERT_TRUE(big);
  EXPECT_EQ(elements(*big), (std::vector<double>{258, 3}));
  const auto short_elements = array_from_npy(
      file("{'descr': '<u2', 'fortran_order': False, 'shape': (1,), }", raw<uint16_t>({0x3f80})),
      "a.npy");
  ASSERT_TRUE(short_elements);
  EXPECT_EQ(short_elements->elem(), Elem::U16);
  EXPECT_EQ(elements(*short_elements), (std::vector<double>{0x3f80}));
  const auto wide = array_from_npy(file("{'descr': '<u8', 'fortran_order': False, 'shape': (1,), }",
                                        raw<uint64_t>({UINT64_MAX})),
                                   "a.npy");
  ASSERT_TRUE(wide);
  EXPECT_EQ(elements(*wide), (std::vector<double>{0x1p64}));
}

TEST(Npy, RefusesWhatItCannotRead) {
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }";
  const std::string one = raw<float>({1});
  EXPECT_EQ(code(file(good, one)), "none");
  EXPECT_EQ(code(""), "K0421");
  EXPECT_EQ(code("hello"), "K0421");
  EXPECT_EQ(code("\x93NUMPY"), "K0422");
  EXPECT_EQ(code(file(good, one, 4)), "K0422");
  EXPECT_EQ(code(file(good, one).substr(0, 30)), "K0422");
  EXPECT_EQ(code(file("{'descr': '<f4'}", one)), "K0422");
  EXPECT_EQ(code(file("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,)}", one)), "K0422");
  EXPECT_EQ(code(file("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", one)), "K0422");
  EXPECT_EQ(code(file("{'descr': '<f4', 'fortran_order': False, 'shape': (1", one)), "K0422");
  EXPECT_EQ(code(file("{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}", one)), "K0423");
  EXPECT_EQ(code(file(good, "")), "K0424");
  EXPECT_EQ(code(file(good, one + "x")), "K0424");
  EXPECT_EQ(
      code(file("{'descr': '<f4', 'fortran_order': False, 'shape': (4194304, 4194304)}", one)),
      "K0424");
}

TEST(Npy, NeverCrashesOnDamagedFiles) {
  const std::string good = npy_from_array(program::fill_pattern(Elem::F32, {2, 3}, 1));
  for (size_t at = 0; at < good.size(); ++at)
    for (const int change : {1, 0x20, 0x80}) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ change);
      (void)array_from_npy(bad, "a.npy");
      (void)array_from_npy(bad.substr(0, at), "a.npy");
    }
}

TEST(Npy, SaysWhatIsWrongWithAFile) {
  EXPECT_EQ(
      render(array_from_npy(
                 file("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}", "xxxx"), "a.npy")
                 .error()),
      "error[K0424]: `a.npy` does not hold as much data as its header says\n"
      "\n"
      "  The shape [2, 3] of <f4 needs 24 bytes; there are 4.\n"
      "\n"
      "  help: the file was cut off or joined with another: write it again\n");
}

TEST(Npy, FilesOnDisk) {
  const std::string path = testing::TempDir() + "kawara_npy_test.npy";
  const Array a = program::fill_pattern(Elem::I16, {7, 3}, 2);
  ASSERT_TRUE(write_npy(path, a));
  const auto back = read_npy(path);
  ASSERT_TRUE(back);
  EXPECT_TRUE(*back == a);
  std::filesystem::remove(path);
  EXPECT_EQ(read_npy(path).error().code, "K0420");
  EXPECT_EQ(read_npy(testing::TempDir()).error().code, "K0420");
  EXPECT_EQ(write_npy(testing::TempDir() + "no/such/folder/a.npy", a).error().code, "K0425");
}

/// Unsigned types of models have NumPy's names, and their own values.
TEST(Npy, KeepsTheUnsignedTypesOfModels) {
  using graph::DataType;
  for (const auto& [type, code] : {std::pair{DataType::U16, "'<u2'"},
                                   {DataType::U32, "'<u4'"},
                                   {DataType::U64, "'<u8'"},
                                   {DataType::I16, "'<i2'"},
                                   {DataType::BF16, "'|V2'"}}) {
    graph::Tensor tensor(type, {2});
    tensor.set_int(0, 1);
    tensor.set_int(1, 60000);
    const std::string bytes = npy_from_tensor(tensor);
    EXPECT_NE(bytes.find(code), std::string::npos) << graph::name_of(type);
    const auto again = tensor_from_npy(bytes, "x");
    ASSERT_TRUE(again);
    EXPECT_EQ(again->type(), type);
    EXPECT_EQ(again->get_double(1), tensor.get_double(1));
  }
  graph::Tensor bits(DataType::U16, {1});
  const auto declared = tensor_from_npy(npy_from_tensor(bits), "x", DataType::BF16);
  ASSERT_TRUE(declared);
  EXPECT_EQ(declared->type(), DataType::BF16);
}

} // namespace
} // namespace kawara::run
