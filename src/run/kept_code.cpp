#include "run/kept_code.h"

#include "support/hash.h"

#include <cstring>

namespace kawara::run {
namespace {

constexpr std::string_view kKeptMagic = "kawara code 2\n";

class KeptWriter {
public:
  void number(int64_t value) { bytes.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void text(std::string_view value) {
    number(static_cast<int64_t>(value.size()));
    bytes += value;
  }
  bool buffers(const std::vector<emit::BufferInfo>& all) {
    number(static_cast<int64_t>(all.size()));
    for (const emit::BufferInfo& b : all) {
      number(b.id);
      text(b.name);
      number(static_cast<int64_t>(b.elem));
      number(static_cast<int64_t>(b.role));
      number(b.is_constant ? 1 : 0);
      number(b.is_used_up ? 1 : 0);
      number(static_cast<int64_t>(b.shape.size()));
      for (const scalar::Expr& extent : b.shape) {
        const auto value = scalar::constant_of(scalar::simplify(extent));
        if (!value)
          return false;
        number(*value);
      }
    }
    return true;
  }
  std::string bytes;
};

class KeptReader {
public:
  explicit KeptReader(std::string_view bytes) : bytes_(bytes) {}
  bool is_good() const { return is_good_; }
  bool is_at_end() const { return bytes_.empty(); }

  int64_t number() {
    int64_t value = 0;
    const std::string_view raw = take(sizeof value);
    if (raw.size() == sizeof value)
      std::memcpy(&value, raw.data(), sizeof value);
    return value;
  }
  /// A number of things of which each takes some bytes.
  int64_t count() {
    const int64_t value = number();
    is_good_ = is_good_ && value >= 0 && value <= static_cast<int64_t>(bytes_.size());
    return is_good_ ? value : 0;
  }
  std::string text() { return std::string(take(static_cast<size_t>(count()))); }
  template <class Enum> Enum member(Enum last) {
    const int64_t value = number();
    is_good_ = is_good_ && value >= 0 && value <= static_cast<int64_t>(last);
    return is_good_ ? static_cast<Enum>(value) : Enum{};
  }
  std::vector<emit::BufferInfo> buffers() {
    std::vector<emit::BufferInfo> all;
    for (int64_t left = count(); left > 0 && is_good_; --left) {
      emit::BufferInfo b;
      b.id = static_cast<uint32_t>(number());
      b.name = text();
      b.elem = member(scalar::Elem::Bool);
      b.role = member(program::Role::Temp);
      b.is_constant = number() != 0;
      b.is_used_up = number() != 0;
      for (int64_t dims = count(); dims > 0 && is_good_; --dims)
        b.shape.push_back(scalar::int_lit(number()));
      all.push_back(std::move(b));
    }
    return all;
  }

private:
  std::string_view take(size_t size) {
    is_good_ = is_good_ && size <= bytes_.size();
    if (!is_good_)
      return {};
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }
  std::string_view bytes_;
  bool is_good_ = true;
};

} // namespace

std::optional<std::string> bytes_of(const KeptCode& kept) {
  const emit::Signature& s = kept.signature;
  if (!s.params.empty())
    return std::nullopt;
  KeptWriter out;
  out.text(s.name);
  out.number(s.has_prepared ? 1 : 0);
  if (!out.buffers(s.arguments) || !out.buffers(s.workspace) || !out.buffers(s.scratch))
    return std::nullopt;
  out.text(kept.object);
  KeptWriter whole;
  whole.bytes = kKeptMagic;
  whole.number(static_cast<int64_t>(hash_text(out.bytes)));
  return whole.bytes + out.bytes;
}

std::optional<KeptCode> kept_from_bytes(std::string_view bytes) {
  if (bytes.substr(0, kKeptMagic.size()) != kKeptMagic)
    return std::nullopt;
  bytes.remove_prefix(kKeptMagic.size());
  KeptReader head(bytes);
  const auto sum = static_cast<uint64_t>(head.number());
  if (!head.is_good())
    return std::nullopt;
  bytes.remove_prefix(sizeof sum);
  if (hash_text(bytes) != sum)
    return std::nullopt;
  KeptReader in(bytes);
  KeptCode kept;
  kept.signature.name = in.text();
  kept.signature.has_prepared = in.number() != 0;
  kept.signature.arguments = in.buffers();
  kept.signature.workspace = in.buffers();
  kept.signature.scratch = in.buffers();
  kept.object = in.text();
  if (!in.is_good() || !in.is_at_end())
    return std::nullopt;
  return kept;
}

} // namespace kawara::run
