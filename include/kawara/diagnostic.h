#pragma once

#include <stdexcept>
#include <string>

namespace kawara {

/// What Kawara refused: text that is no program, a directive that is not legal, arguments that do
/// not fit. `what()` is the whole message, as the command line prints it: what was asked, where,
/// why, and what to do instead.
class Error : public std::runtime_error {
public:
  Error(std::string code, const std::string& message)
      : std::runtime_error(message), code_(std::move(code)) {}
  /// The first error's stable code, "K0203"; its page is docs/errors/K0203.md.
  const std::string& code() const noexcept { return code_; }

private:
  std::string code_;
};

/// The answer to "may this be done?".
struct Verdict {
  bool is_legal = false;
  bool reassociates = false; ///< legal because the numerics contract lets reductions change order
  std::string code;          ///< of the refusal; empty when legal
  std::string message;       ///< the refusal in full, with the two iterations that would break
  explicit operator bool() const { return is_legal; }
};

} // namespace kawara
