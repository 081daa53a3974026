#include "mutate_model.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace kawara::hostile {
namespace {

/// A field of a protobuf message, without its schema.
struct Field {
  uint64_t number = 0;
  int wire = 0;
  uint64_t value = 0;        ///< of wire types 0, 1 and 5
  std::string bytes;         ///< of wire type 2, when it is no message
  std::vector<Field> fields; ///< of wire type 2, when it reads as a message
  bool is_message = false;
};

void put_varint(std::string& out, uint64_t value) {
  for (; value >= 128; value >>= 7)
    out += static_cast<char>(value | 128);
  out += static_cast<char>(value);
}

bool take_varint(std::string_view& in, uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64 && !in.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(in.front());
    in.remove_prefix(1);
    value |= uint64_t{byte & 127U} << shift;
    if (byte < 128)
      return true;
  }
  return false;
}

bool take_fixed(std::string_view& in, size_t size, uint64_t& value) {
  if (in.size() < size)
    return false;
  for (size_t k = 0; k < size; ++k)
    value |= uint64_t{static_cast<unsigned char>(in[k])} << (8 * k);
  in.remove_prefix(size);
  return true;
}

bool take_fields(std::string_view in, std::vector<Field>& fields, int depth) {
  while (!in.empty()) {
    Field field;
    uint64_t tag = 0;
    if (!take_varint(in, tag) || (tag >> 3) == 0 || (tag >> 3) > 1000)
      return false;
    field.number = tag >> 3;
    field.wire = static_cast<int>(tag & 7);
    bool is_fine = true;
    if (field.wire == 0) {
      is_fine = take_varint(in, field.value);
    } else if (field.wire == 1 || field.wire == 5) {
      is_fine = take_fixed(in, field.wire == 1 ? 8 : 4, field.value);
    } else if (field.wire == 2) {
      uint64_t size = 0;
      is_fine = take_varint(in, size) && size <= in.size();
      if (is_fine) {
        field.bytes = std::string(in.substr(0, size));
        in.remove_prefix(size);
        field.is_message =
            depth < 12 && size > 1 && take_fields(field.bytes, field.fields, depth + 1);
        if (!field.is_message)
          field.fields.clear();
      }
    } else {
      is_fine = false;
    }
    if (!is_fine)
      return false;
    fields.push_back(std::move(field));
  }
  return true;
}

std::string text_of_fields(const std::vector<Field>& fields) {
  std::string out;
  for (const Field& field : fields) {
    put_varint(out, field.number << 3 | static_cast<uint64_t>(field.wire));
    if (field.wire == 0) {
      put_varint(out, field.value);
    } else if (field.wire == 2) {
      const std::string inner = field.is_message ? text_of_fields(field.fields) : field.bytes;
      put_varint(out, inner.size());
      out += inner;
    } else {
      for (int k = 0; k < (field.wire == 1 ? 8 : 4); ++k)
        out += static_cast<char>(field.value >> (8 * k));
    }
  }
  return out;
}

/// Every list of fields, and every text, of a message.
void gather(std::vector<Field>& fields, std::vector<std::vector<Field>*>& lists,
            std::vector<std::string>& texts) {
  lists.push_back(&fields);
  for (Field& field : fields) {
    if (field.is_message)
      gather(field.fields, lists, texts);
    if (field.wire == 2 && field.bytes.size() < 40)
      texts.push_back(field.bytes);
  }
}

uint64_t strange_number(std::mt19937_64& random) {
  constexpr uint64_t numbers[] = {0,          1,          2,     3,         7,          16,
                                  64,         255,        65535, 1U << 20,  0x7fffffff, 0x80000000,
                                  1ULL << 40, 1ULL << 62, ~0ULL, ~0ULL - 1, ~0ULL - 99, 1ULL << 63};
  return numbers[random() % std::size(numbers)];
}

Field text_field(uint64_t number, std::string text) {
  Field field;
  field.number = number;
  field.wire = 2;
  field.bytes = std::move(text);
  return field;
}

/// A tensor's elements in a file that is not there, is no file, or is none of the model's business.
void lead_outside(std::vector<Field>& fields, std::mt19937_64& random) {
  constexpr const char* places[] = {"missing.bin", "../model.onnx", "/dev/zero", "",
                                    ".",           "model.onnx",    "a/../../b", "model.onnx/x"};
  constexpr const char* numbers[] = {"0", "-1", "999999999999999999999", "9223372036854775807",
                                     "x"};
  Field location;
  location.number = 14;
  location.value = 1;
  fields.push_back(location);
  const auto entry = [&](const std::string& key, const std::string& value) {
    fields.push_back(text_field(13, text_of_fields({text_field(1, key), text_field(2, value)})));
  };
  entry("location", places[random() % std::size(places)]);
  if (random() % 2 == 0)
    entry("offset", numbers[random() % std::size(numbers)]);
  if (random() % 2 == 0)
    entry("length", numbers[random() % std::size(numbers)]);
}

void change_field(std::vector<Field>& fields, const std::vector<std::string>& texts,
                  std::mt19937_64& random) {
  if (fields.empty())
    return;
  const size_t at = random() % fields.size();
  Field& field = fields[at];
  const auto offset = static_cast<std::ptrdiff_t>(at);
  switch (random() % 9) {
  case 0:
    fields.erase(fields.begin() + offset);
    return;
  case 1:
    fields.insert(fields.begin() + offset, Field(field));
    return;
  case 2:
    std::swap(field, fields[random() % fields.size()]);
    return;
  case 3:
    field.fields.clear();
    field.bytes.clear();
    return;
  case 4:
    field.number = 1 + random() % 20;
    return;
  case 5:
    if (field.wire == 2 && !texts.empty()) {
      field.is_message = false;
      field.bytes = texts[random() % texts.size()];
    }
    return;
  case 6:
    if (field.wire == 2 && !field.is_message && !field.bytes.empty())
      field.bytes.resize(random() % field.bytes.size());
    return;
  default:
    if (field.wire != 2)
      field.value = strange_number(random);
    else if (!field.is_message && !field.bytes.empty())
      field.bytes[random() % field.bytes.size()] = static_cast<char>(random());
  }
}

} // namespace

std::string mutated(const std::string& model, std::mt19937_64& random) {
  std::string bytes = model;
  if (bytes.empty())
    return bytes;
  std::vector<Field> fields;
  const uint64_t kind = random() % 10;
  if (kind == 0) {
    bytes.resize(random() % bytes.size());
    return bytes;
  }
  if (kind <= 2 || !take_fields(bytes, fields, 0)) {
    for (uint64_t k = 1 + random() % 4; k > 0; --k)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    return bytes;
  }
  for (uint64_t k = 1 + random() % 3; k > 0; --k) {
    std::vector<std::vector<Field>*> lists;
    std::vector<std::string> texts;
    gather(fields, lists, texts);
    std::vector<Field>& list = *lists[random() % lists.size()];
    if (random() % 20 == 0)
      lead_outside(list, random);
    else
      change_field(list, texts, random);
  }
  return text_of_fields(fields);
}

} // namespace kawara::hostile
