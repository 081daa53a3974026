#include "run/npy.h"

#include "run/file.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace kawara::run {
namespace {

using program::Array;
using scalar::Elem;

constexpr std::string_view kMagic("\x93NUMPY", 6);
// Shapes beyond this multiply to more bytes than any file has.
constexpr int64_t kMostBytes = int64_t{1} << 46;

struct Header {
  std::string descr;
  bool is_fortran = false;
  std::vector<int64_t> shape;
};

/// Reads the Python dictionary in which a header is written.
class HeaderReader {
public:
  explicit HeaderReader(std::string_view text) : text_(text) {}

  std::optional<Header> read() {
    Header header;
    bool has_descr = false, has_order = false, has_shape = false;
    if (!take('{'))
      return std::nullopt;
    while (!take('}')) {
      std::string key;
      if (!string(key) || !take(':'))
        return std::nullopt;
      if (key == "descr" && !has_descr)
        has_descr = string(header.descr);
      else if (key == "fortran_order" && !has_order)
        has_order = boolean(header.is_fortran);
      else if (key == "shape" && !has_shape)
        has_shape = tuple(header.shape);
      else
        return std::nullopt;
      if (!take(',') && peek() != '}')
        return std::nullopt;
    }
    const bool is_whole = has_descr && has_order && has_shape && peek() == '\0';
    return is_whole ? std::optional(header) : std::nullopt;
  }

private:
  char peek() {
    while (at_ < text_.size() && std::strchr(" \t\n\r", text_[at_]) != nullptr &&
           text_[at_] != '\0')
      ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  bool take(char c) {
    if (peek() != c)
      return false;
    ++at_;
    return true;
  }

  bool string(std::string& value) {
    const char quote = peek();
    if (quote != '\'' && quote != '"')
      return false;
    const size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos)
      return false;
    value = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return true;
  }

  bool boolean(bool& value) {
    value = peek() == 'T';
    const std::string_view word = value ? "True" : "False";
    if (text_.substr(at_, word.size()) != word)
      return false;
    at_ += word.size();
    return true;
  }

  bool tuple(std::vector<int64_t>& values) {
    if (!take('('))
      return false;
    while (!take(')')) {
      int64_t value = 0;
      if (!number(value))
        return false;
      values.push_back(value);
      if (!take(',') && peek() != ')')
        return false;
    }
    return true;
  }

  bool number(int64_t& value) {
    const char first = peek();
    if (first < '0' || first > '9')
      return false;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      value = value * 10 + (text_[at_] - '0');
      if (value > kMostBytes)
        return false;
    }
    // Files from Python 2 have a suffix on long integers.
    if (at_ < text_.size() && text_[at_] == 'L')
      ++at_;
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
};

struct ElemName {
  Elem elem;
  std::string_view code; ///< without the byte order
};
// The first entry of a type is the one that is written.
constexpr ElemName kElems[] = {{Elem::F64, "f8"},  {Elem::F32, "f4"},    {Elem::F16, "f2"},
                               {Elem::I64, "i8"},  {Elem::I32, "i4"},    {Elem::I16, "i2"},
                               {Elem::I8, "i1"},   {Elem::U8, "u1"},     {Elem::Bool, "b1"},
                               {Elem::U16, "u2"},  {Elem::U32, "u4"},    {Elem::U64, "u8"},
                               {Elem::BF16, "V2"}, {Elem::F8E4M3, "V1"}, {Elem::F8E5M2, "V1"}};

/// Types whose elements models hold as signed integers.
struct UnsignedName {
  graph::DataType type;
  std::string_view code;
};
constexpr UnsignedName kUnsigned[] = {
    {graph::DataType::U16, "u2"}, {graph::DataType::U32, "u4"}, {graph::DataType::U64, "u8"}};

std::optional<graph::DataType> unsigned_of(std::string_view descr) {
  for (const UnsignedName& e : kUnsigned)
    if (descr.size() == 3 && e.code == descr.substr(1))
      return e.type;
  return std::nullopt;
}

/// The elements' type; of a model's tensor where `is_model`.
std::optional<Elem> elem_of(std::string_view descr, bool is_model) {
  if (descr.size() != 3 || std::strchr("<>|=", descr[0]) == nullptr)
    return std::nullopt;
  if (const auto type = unsigned_of(descr); type && is_model)
    return graph::storage_of(*type);
  for (const ElemName& e : kElems)
    if (e.code == descr.substr(1))
      return e.elem;
  return std::nullopt;
}

std::string descr_of(Elem elem) {
  for (const ElemName& e : kElems) {
    if (e.elem != elem)
      continue;
    const bool has_order = scalar::bytes_of(elem) > 1 && elem != Elem::BF16;
    return (has_order ? "<" : "|") + std::string(e.code);
  }
  return "";
}

void swap_bytes(Array& array) {
  const auto width = static_cast<ptrdiff_t>(scalar::bytes_of(array.elem()));
  for (std::byte* element = array.data(); element != array.data() + array.bytes(); element += width)
    std::reverse(element, element + width);
}

/// `array` was filled in column-major order; the result has the same elements in row-major order.
Array transposed_storage(const Array& array) {
  Array result(array.elem(), array.shape());
  const size_t width = static_cast<size_t>(scalar::bytes_of(array.elem()));
  const auto& shape = array.shape();
  std::vector<int64_t> index(shape.size(), 0);
  for (int64_t to = 0; to < array.elements(); ++to) {
    int64_t from = 0;
    for (size_t d = shape.size(); d-- > 0;)
      from = from * shape[d] + index[d];
    std::memcpy(result.data() + static_cast<size_t>(to) * width,
                array.data() + static_cast<size_t>(from) * width, width);
    for (size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d])
        break;
      index[d] = 0;
    }
  }
  return result;
}

struct Parts {
  std::string_view header, data;
};

/// The two parts of a file whose magic string is there; empty when it ends too early.
std::optional<Parts> parts_of(std::string_view bytes) {
  const auto byte = [&](size_t at) {
    return static_cast<uint64_t>(static_cast<uint8_t>(bytes[at]));
  };
  if (bytes.size() < 10)
    return std::nullopt;
  const size_t begin = byte(6) == 1 ? 10 : 12;
  if (bytes.size() < begin)
    return std::nullopt;
  uint64_t length = byte(8) | byte(9) << 8;
  if (begin == 12)
    length |= byte(10) << 16 | byte(11) << 24;
  if (length > bytes.size() - begin)
    return std::nullopt;
  return Parts{bytes.substr(begin, length), bytes.substr(begin + length)};
}

std::optional<int64_t> bytes_needed(const Header& header, Elem elem) {
  int64_t bytes = scalar::bytes_of(elem);
  for (const int64_t extent : header.shape)
    if (__builtin_mul_overflow(bytes, extent, &bytes) || bytes > kMostBytes)
      return std::nullopt;
  return bytes;
}

std::string quoted(const std::string& name) { return "`" + name + "`"; }

Diagnostic damaged_header(const std::string& name, const std::string& why) {
  return file_error("K0422", "the header of " + quoted(name) + " is damaged", why,
                    "write the file again, for example with numpy.save");
}

Diagnostic wrong_type(const std::string& name, const std::string& descr, bool is_model) {
  return file_error(
      "K0423", "the element type " + quoted(descr) + " of " + quoted(name) + " is not supported",
      is_model ? "Supported are f8 f4 f2 i8 i4 i2 i1 u8 u4 u2 u1 b1, and V2 for bf16."
               : "Supported are f8 f4 f2 i8 i4 i2 i1 u8 u4 u2 u1 b1, V2 or u2 for bf16, and V1 for "
                 "f8e4m3.",
      "convert the array first, for example with a.astype('float32')");
}

Diagnostic wrong_length(const std::string& name, const Header& header, size_t found,
                        std::optional<int64_t> needed) {
  return file_error("K0424", quoted(name) + " does not hold as much data as its header says",
                    "The shape " + program::shape_text(header.shape) + " of " + header.descr +
                        " needs " + (needed ? std::to_string(*needed) : "too many") +
                        " bytes; there are " + std::to_string(found) + ".",
                    "the file was cut off or joined with another: write it again");
}

} // namespace

namespace {

/// Elements of a file, and how it spells their type.
struct Elements {
  Array array;
  std::string descr;
};

Result<Elements, Diagnostic> elements_from_npy(std::string_view bytes, const std::string& name,
                                               bool is_model) {
  if (bytes.substr(0, kMagic.size()) != kMagic)
    return fail(file_error("K0421", quoted(name) + " is not a .npy file",
                           "Such a file starts with the bytes \\x93NUMPY.",
                           "write it with numpy.save"));
  if (bytes.size() > 6 && (bytes[6] < 1 || bytes[6] > 3))
    return fail(damaged_header(name, "It names version " + std::to_string(bytes[6]) +
                                         " of the format; versions 1 to 3 exist."));
  const auto parts = parts_of(bytes);
  if (!parts)
    return fail(damaged_header(name, "The file ends within it."));
  const auto header = HeaderReader(parts->header).read();
  if (!header)
    return fail(damaged_header(name, "It is no dictionary of descr, fortran_order and shape."));
  const auto elem = elem_of(header->descr, is_model);
  if (!elem)
    return fail(wrong_type(name, header->descr, is_model));
  const auto needed = bytes_needed(*header, *elem);
  if (!needed || static_cast<size_t>(*needed) != parts->data.size())
    return fail(wrong_length(name, *header, parts->data.size(), needed));
  Array array(*elem, header->shape);
  if (array.bytes() > 0)
    std::memcpy(array.data(), parts->data.data(), array.bytes());
  if (header->descr[0] == '>')
    swap_bytes(array);
  const bool is_transposed = header->is_fortran && header->shape.size() > 1;
  return Elements{is_transposed ? transposed_storage(array) : std::move(array), header->descr};
}

std::string file_of(const std::string& descr, const std::vector<int64_t>& extents,
                    const std::byte* data, size_t size) {
  std::string shape;
  for (const int64_t extent : extents)
    shape += std::to_string(extent) + (extents.size() == 1 ? "," : ", ");
  if (extents.size() > 1)
    shape.resize(shape.size() - 2);
  std::string header =
      "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  // Data start at a multiple of 64, so that the file can be mapped; the header ends with a newline.
  header.append(63 - (kMagic.size() + 4 + header.size()) % 64, ' ');
  header += '\n';
  std::string bytes(kMagic);
  bytes += {1, 0, static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  bytes += header;
  bytes.append(reinterpret_cast<const char*>(data), size);
  return bytes;
}

} // namespace

Result<Array, Diagnostic> array_from_npy(std::string_view bytes, const std::string& name) {
  KAWARA_TRY(Elements elements, elements_from_npy(bytes, name, false));
  return std::move(elements.array);
}

std::string npy_from_array(const Array& array) {
  return file_of(descr_of(array.elem()), array.shape(), array.data(), array.bytes());
}

Result<graph::Tensor, Diagnostic> tensor_from_npy(std::string_view bytes, const std::string& name,
                                                  std::optional<graph::DataType> declared) {
  KAWARA_TRY(const Elements elements, elements_from_npy(bytes, name, true));
  graph::DataType type =
      unsigned_of(elements.descr).value_or(graph::data_type_of(elements.array.elem()));
  if (type == graph::DataType::U16 && declared == graph::DataType::BF16)
    type = graph::DataType::BF16;
  graph::Tensor tensor(type, elements.array.shape());
  std::memcpy(tensor.data(), elements.array.data(), elements.array.bytes());
  return tensor;
}

std::string npy_from_tensor(const graph::Tensor& tensor) {
  std::string descr = descr_of(graph::storage_of(tensor.type()));
  for (const UnsignedName& e : kUnsigned)
    if (e.type == tensor.type())
      descr = "<" + std::string(e.code);
  return file_of(descr, tensor.shape(), tensor.data(), static_cast<size_t>(tensor.bytes()));
}

Result<graph::Tensor, Diagnostic> read_npy_tensor(const std::string& path,
                                                  std::optional<graph::DataType> declared) {
  KAWARA_TRY(const std::string bytes, read_file(path));
  return tensor_from_npy(bytes, path, declared);
}

Result<Done, Diagnostic> write_npy_tensor(const std::string& path, const graph::Tensor& tensor) {
  return write_file(path, npy_from_tensor(tensor));
}

Result<Array, Diagnostic> read_npy(const std::string& path) {
  KAWARA_TRY(const std::string bytes, read_file(path));
  return array_from_npy(bytes, path);
}

Result<Done, Diagnostic> write_npy(const std::string& path, const Array& array) {
  return write_file(path, npy_from_array(array));
}

} // namespace kawara::run
