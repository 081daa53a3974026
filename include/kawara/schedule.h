#pragma once

#include "kawara/diagnostic.h"
#include "kawara/executable.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace kawara {

/// The order in which a program's iterations run, changed step by step. Copies are independent.
///
/// Each directive has the name and the arguments of its text (docs/reference/), so that
/// `s.split("i", 32)` is `s.apply("split(i, 32)")`; where C++ reserves the name, it ends in `_`. A
/// loop is named as in text: "i", "i.0", "S1.i". A directive is applied only after it was proved
/// legal; otherwise it throws Error with the reason, and the schedule stays as it was.
class Schedule {
public:
  Schedule& split(const std::string& loop, int64_t size);
  Schedule& tile(const std::vector<std::pair<std::string, int64_t>>& loops);
  Schedule& interchange(const std::string& a, const std::string& b);
  Schedule& reorder(const std::vector<std::string>& loops);
  Schedule& skew(const std::string& loop, const std::string& by, int64_t factor = 1);
  Schedule& shift(const std::string& loop, int64_t amount);
  Schedule& reverse(const std::string& loop);
  Schedule& coalesce(const std::string& outer, const std::string& inner);
  Schedule& fuse(const std::string& a, const std::string& b);
  Schedule& distribute(const std::string& loop);
  Schedule& cut(const std::string& loop, int64_t at);
  Schedule& isolate(const std::string& loop);
  Schedule& compute_at(const std::string& statement, const std::string& loop);
  /// `rounded`: dimensions, "d1", that get a multiple of a number as their length, filled up with
  /// zeros.
  Schedule& stage(const std::string& tensor, const std::string& loop,
                  std::optional<int64_t> panel = {}, std::optional<int64_t> width = {},
                  const std::vector<std::pair<std::string, int64_t>>& rounded = {});
  Schedule& pack(const std::string& tensor, std::optional<std::string> loop = {});
  Schedule& store_at(const std::string& tensor, const std::string& loop);
  Schedule& store_in(const std::string& tensor, const std::string& other);
  /// Parts as in text: "d1/16", "d0", "d1%16".
  Schedule& layout(const std::string& tensor, const std::vector<std::string>& parts);
  Schedule& pad(const std::string& tensor, const std::string& dimension, int64_t by);
  /// To a multiple of `to`, with zeros.
  Schedule& pad_to(const std::string& tensor, const std::string& dimension, int64_t to);
  Schedule& extend(const std::string& loop, int64_t to);
  Schedule& fold(const std::string& tensor, const std::string& loop,
                 std::optional<int64_t> size = {});
  Schedule& promote(const std::string& tensor, const std::string& loop);
  Schedule& prefetch(const std::string& tensor, const std::string& loop, int64_t ahead = 1);
  Schedule& inline_(const std::string& statement);
  Schedule& unroll(const std::string& loop, std::optional<int64_t> factor = {});
  Schedule& unroll_and_jam(const std::string& loop, int64_t factor);
  Schedule& vectorize(const std::string& loop, std::optional<int64_t> width = {});
  Schedule& tensorize(const std::string& loop, const std::string& instruction);
  Schedule& parallel(const std::string& loop);
  Schedule& bind(const std::string& loop, const std::string& axis); ///< "block.x", "thread.x"
  Schedule& rfactor(const std::string& loop);
  Schedule& online(const std::vector<std::string>& loops);
  /// A good schedule for this machine. At the beginning, and with all sizes given: the one that
  /// `kawara tune` found, if it did.
  Schedule& auto_();

  /// Directives as text: separated by `;` or new lines, groups in brackets. All of them or none.
  Schedule& apply(const std::string& directives);
  /// Whether `apply` would do it. Throws nothing for what directives may be wrong about.
  Verdict check(const std::string& directives) const;

  std::string print() const; ///< the directives so far, as text that `apply` takes
  std::string tree() const;  ///< the loops, drawn
  std::string c() const;     ///< the loops as a C11 file

  /// Native code for this machine.
  Executable compile() const;

  struct Impl;
  explicit Schedule(std::shared_ptr<const Impl> impl);

private:
  std::shared_ptr<const Impl> impl_;
};

} // namespace kawara
