#include "run/cpu/cached_code.h"

#include "emit/runtime_faults.h"
#include "support/hash.h"

#include <algorithm>
#include <cstring>

namespace kawara::run {
namespace {

constexpr std::string_view kKeptMagic = "kawara code 4\n";

/// Extents are built from these: they stand for themselves, the others have two operands.
constexpr int64_t kNumber = -1, kParam = -2;

bool makes_extents(scalar::BinaryOp op) {
  using enum scalar::BinaryOp;
  return op == Add || op == Sub || op == Mul || op == FloorDiv || op == Mod || op == Min ||
         op == Max;
}

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
      number(b.is_dead_once_prepared ? 1 : 0);
      number(static_cast<int64_t>(b.shape.size()));
      for (const scalar::Expr& extent : b.shape)
        if (!expression(scalar::simplify(extent)))
          return false;
    }
    return true;
  }
  bool expression(const scalar::Expr& e) {
    if (const auto* literal = std::get_if<scalar::IntLit>(&e.node().kind)) {
      number(kNumber);
      number(literal->value);
      return true;
    }
    if (const auto* param = std::get_if<scalar::Param>(&e.node().kind)) {
      number(kParam);
      number(param->index);
      return true;
    }
    const auto* binary = std::get_if<scalar::Binary>(&e.node().kind);
    if (binary == nullptr || !makes_extents(binary->op))
      return false;
    number(static_cast<int64_t>(binary->op));
    return expression(binary->lhs) && expression(binary->rhs);
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
  scalar::Expr expression(size_t params) {
    const int64_t what = number();
    if (what == kNumber)
      return scalar::int_lit(number());
    if (what == kParam) {
      const int64_t index = number();
      is_good_ = is_good_ && index >= 0 && index < static_cast<int64_t>(params);
      return scalar::param(static_cast<uint32_t>(is_good_ ? index : 0));
    }
    const auto op = static_cast<scalar::BinaryOp>(what);
    is_good_ = is_good_ && what >= 0 && what <= static_cast<int64_t>(scalar::BinaryOp::Or) &&
               makes_extents(op);
    if (!is_good_)
      return scalar::int_lit(0);
    scalar::Expr lhs = expression(params);
    return scalar::binary(op, std::move(lhs), expression(params));
  }
  std::vector<emit::BufferInfo> buffers(size_t params) {
    std::vector<emit::BufferInfo> all;
    for (int64_t left = count(); left > 0 && is_good_; --left) {
      emit::BufferInfo b;
      b.id = static_cast<uint32_t>(number());
      b.name = text();
      b.elem = member(scalar::Elem::Bool);
      b.role = member(program::Role::Temp);
      b.is_constant = number() != 0;
      b.is_dead_once_prepared = number() != 0;
      for (int64_t dims = count(); dims > 0 && is_good_; --dims)
        b.shape.push_back(expression(params));
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
  KeptWriter out;
  out.text(s.name);
  out.number(static_cast<int64_t>(s.params.size()));
  for (const program::Param& param : s.params)
    out.text(param.name);
  out.number(s.has_prepared ? 1 : 0);
  if (!out.buffers(s.arguments) || !out.buffers(s.workspace) || !out.buffers(s.scratch))
    return std::nullopt;
  out.number(static_cast<int64_t>(s.checks.size()));
  for (const emit::IndexCheck& check : s.checks) {
    for (const std::string& name : {check.tensor, check.index_tensor, check.statement})
      out.text(name);
    out.number(check.dim);
    out.number(check.index_rank);
  }
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
  for (int64_t left = in.count(); left > 0 && in.is_good(); --left)
    kept.signature.params.push_back({in.text(), {}});
  const size_t params = kept.signature.params.size();
  kept.signature.has_prepared = in.number() != 0;
  kept.signature.arguments = in.buffers(params);
  kept.signature.workspace = in.buffers(params);
  kept.signature.scratch = in.buffers(params);
  for (int64_t left = in.count(); left > 0 && in.is_good(); --left) {
    emit::IndexCheck check;
    for (std::string* name : {&check.tensor, &check.index_tensor, &check.statement})
      *name = in.text();
    check.dim = in.number();
    check.index_rank = std::clamp<int64_t>(in.number(), 0, emit::RuntimeFaults::kMostTold);
    kept.signature.checks.push_back(std::move(check));
  }
  kept.object = in.text();
  if (!in.is_good() || !in.is_at_end())
    return std::nullopt;
  return kept;
}

} // namespace kawara::run
