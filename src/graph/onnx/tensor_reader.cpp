#include "graph/onnx/tensor_reader.h"

#include "graph/errors.h"

#include <fmt/format.h>

#include <malloc.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace kawara::graph {
namespace {

using ::onnx::TensorProto;

struct Known {
  int number;
  DataType type;
};
constexpr Known kKnown[] = {
    {TensorProto::FLOAT, DataType::F32},    {TensorProto::UINT8, DataType::U8},
    {TensorProto::INT8, DataType::I8},      {TensorProto::UINT16, DataType::U16},
    {TensorProto::INT16, DataType::I16},    {TensorProto::INT32, DataType::I32},
    {TensorProto::INT64, DataType::I64},    {TensorProto::BOOL, DataType::Bool},
    {TensorProto::FLOAT16, DataType::F16},  {TensorProto::DOUBLE, DataType::F64},
    {TensorProto::UINT32, DataType::U32},   {TensorProto::UINT64, DataType::U64},
    {TensorProto::BFLOAT16, DataType::BF16}};

Diagnostic bad_data(const std::string& what, std::string why) {
  return model_error("K0504", "the elements of " + what + " cannot be read", std::move(why),
                     "export the model again");
}

Diagnostic wrong_amount(const std::string& what, const Tensor& tensor, size_t wanted, size_t given,
                        const char* unit) {
  return bad_data(what,
                  fmt::format("Its type {}{} needs {} {}, the file has {}.", name_of(tensor.type()),
                              text_of(tensor.shape()), wanted, unit, given));
}

struct External {
  std::string location;
  int64_t offset = 0, length = -1;
};

std::optional<int64_t> whole_number(const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0)
    return std::nullopt;
  return value;
}

Result<External, Diagnostic> external_of(const TensorProto& proto, const std::string& what) {
  External external;
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") {
      external.location = entry.value();
      continue;
    }
    if (entry.key() != "offset" && entry.key() != "length")
      continue;
    const auto value = whole_number(entry.value());
    if (!value)
      return fail(bad_data(what, "The " + entry.key() + " of its external data is `" +
                                     entry.value() + "`, which is no number."));
    (entry.key() == "offset" ? external.offset : external.length) = *value;
  }
  // A model must not read files outside its own folder.
  const std::filesystem::path path(external.location);
  const bool leaves =
      std::any_of(path.begin(), path.end(), [](const auto& p) { return p == ".."; });
  if (external.location.empty() || path.is_absolute() || leaves)
    return fail(bad_data(what, "Its data file is called `" + external.location +
                                   "`, which is no path inside the model's folder."));
  return external;
}

Result<Done, Diagnostic> read_external(const TensorProto& proto, const std::string& what,
                                       const std::string& folder, Tensor& tensor) {
  KAWARA_TRY(const External external, external_of(proto, what));
  const std::string path = (std::filesystem::path(folder) / external.location).string();
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file)
    return fail(bad_data(what, "Its data file `" + path + "` cannot be opened."));
  const int64_t size = file.tellg();
  const int64_t length = external.length < 0 ? tensor.bytes() : external.length;
  if (length != tensor.bytes())
    return fail(wrong_amount(what, tensor, static_cast<size_t>(tensor.bytes()),
                             static_cast<size_t>(length), "bytes"));
  if (external.offset > size || length > size - external.offset)
    return fail(bad_data(what, fmt::format("It should lie at bytes {} to {} of `{}`, which has {}.",
                                           external.offset, external.offset + length, path, size)));
  file.seekg(external.offset);
  if (!file.read(reinterpret_cast<char*>(tensor.data()), length))
    return fail(bad_data(what, "Reading `" + path + "` failed."));
  return Done{};
}

template <class T, class List>
Result<Done, Diagnostic> copy_list(const List& list, const std::string& what, Tensor& tensor) {
  if (list.size() != tensor.elements())
    return fail(wrong_amount(what, tensor, static_cast<size_t>(tensor.elements()),
                             static_cast<size_t>(list.size()), "numbers"));
  T* elements = tensor.as<T>();
  for (int k = 0; k < list.size(); ++k)
    elements[k] = static_cast<T>(list[k]);
  return Done{};
}

/// Numbers in one of the typed lists of the format.
Result<Done, Diagnostic> read_list(const TensorProto& proto, const std::string& what,
                                   Tensor& tensor) {
  switch (tensor.type()) {
  case DataType::F32:
    return copy_list<float>(proto.float_data(), what, tensor);
  case DataType::F64:
    return copy_list<double>(proto.double_data(), what, tensor);
  case DataType::I64:
    return copy_list<int64_t>(proto.int64_data(), what, tensor);
  case DataType::U64:
    return copy_list<uint64_t>(proto.uint64_data(), what, tensor);
  case DataType::U32:
    return copy_list<uint32_t>(proto.uint64_data(), what, tensor);
  case DataType::I32:
    return copy_list<int32_t>(proto.int32_data(), what, tensor);
  case DataType::F16:
  case DataType::BF16:
  case DataType::U16:
  case DataType::I16:
    return copy_list<uint16_t>(proto.int32_data(), what, tensor);
  default:
    return copy_list<uint8_t>(proto.int32_data(), what, tensor);
  }
}

/// Bytes that the file holds for this tensor at most; what claims to be larger is not allocated.
int64_t bytes_at_hand(const TensorProto& proto) {
  if (proto.has_raw_data())
    return static_cast<int64_t>(proto.raw_data().size());
  const int64_t numbers =
      std::max({proto.float_data_size(), proto.int32_data_size(), proto.int64_data_size(),
                proto.double_data_size(), proto.uint64_data_size()});
  return numbers * 8;
}

/// The bytes as they were read become the tensor's elements, without a copy. Empty where they are
/// few, or lack the room behind them that tensors have.
Tensor adopted(DataType type, const Shape& shape, TensorProto& proto) {
  constexpr size_t kLeastBytes = size_t{1} << 16, kSlackBytes = 64;
  std::string& raw = *proto.mutable_raw_data();
  const bool has_room =
      raw.size() >= kLeastBytes && malloc_usable_size(raw.data()) >= raw.size() + kSlackBytes;
  const bool is_aligned = reinterpret_cast<uintptr_t>(raw.data()) % alignof(std::max_align_t) == 0;
  if (!has_room || !is_aligned)
    return {};
  const std::shared_ptr<std::string> bytes(proto.release_raw_data());
  return {type, shape,
          std::shared_ptr<std::byte>(bytes, reinterpret_cast<std::byte*>(bytes->data()))};
}

} // namespace

std::optional<DataType> data_type_from_onnx(int number) {
  for (const Known& known : kKnown)
    if (known.number == number)
      return known.type;
  return std::nullopt;
}

int onnx_number_of(DataType type) {
  for (const Known& known : kKnown)
    if (known.type == type)
      return known.number;
  return TensorProto::UNDEFINED;
}

std::string onnx_type_name(int number) {
  if (TensorProto::DataType_IsValid(number))
    return TensorProto::DataType_Name(static_cast<TensorProto::DataType>(number));
  return "number " + std::to_string(number);
}

Result<Tensor, Diagnostic> read_tensor(TensorProto& proto, const std::string& what,
                                       const std::string& folder) {
  const auto type = data_type_from_onnx(proto.data_type());
  if (!type)
    return fail(model_error("K0503",
                            what + " has the element type " + onnx_type_name(proto.data_type()),
                            "Kawara computes with numbers: f64 f32 f16 bf16 i64 i32 i16 i8 u64 u32 "
                            "u16 u8 bool.",
                            ""));
  Shape shape(proto.dims().begin(), proto.dims().end());
  const auto elements = elements_of(shape);
  if (!elements)
    return fail(bad_data(what, "Its shape is " + text_of(shape) + "."));
  const bool is_external = proto.data_location() == TensorProto::EXTERNAL;
  if (!is_external && *elements * bytes_of(*type) > bytes_at_hand(proto))
    return fail(bad_data(what, fmt::format("Its type {}{} needs {} bytes, the file has {}.",
                                           name_of(*type), text_of(shape),
                                           *elements * bytes_of(*type), bytes_at_hand(proto))));
  const int64_t bytes = *elements * bytes_of(*type);
  Tensor tensor;
  if (!is_external && proto.has_raw_data() && *type != DataType::Bool &&
      static_cast<int64_t>(proto.raw_data().size()) == bytes)
    tensor = adopted(*type, shape, proto);
  if (tensor)
    return tensor;
  try {
    tensor = Tensor(*type, std::move(shape));
  } catch (const std::bad_alloc&) {
    return fail(bad_data(what, "There is not enough memory for it."));
  }
  if (is_external) {
    KAWARA_TRY([[maybe_unused]] const Done done, read_external(proto, what, folder, tensor));
  } else if (proto.has_raw_data()) {
    const std::string& raw = proto.raw_data();
    if (static_cast<int64_t>(raw.size()) != tensor.bytes())
      return fail(
          wrong_amount(what, tensor, static_cast<size_t>(tensor.bytes()), raw.size(), "bytes"));
    std::memcpy(tensor.data(), raw.data(), raw.size());
    delete proto.release_raw_data(); // clearing it would keep its memory
  } else {
    KAWARA_TRY([[maybe_unused]] const Done done, read_list(proto, what, tensor));
  }
  if (*type == DataType::Bool)
    for (int64_t k = 0; k < tensor.elements(); ++k)
      tensor.set_int(k, tensor.get_int(k));
  return tensor;
}

} // namespace kawara::graph
