#include "emit/llvm/failures.h"

#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/PrettyStackTrace.h>
#include <llvm/Support/raw_ostream.h>

#include <csetjmp>
#include <cstdio>
#include <mutex>
#include <regex>
#include <utility>

namespace kawara::emit {
namespace {

/// Where to go on when LLVM gives up on this thread.
struct Attempt {
  std::jmp_buf back = {};
  std::string words;
};
thread_local Attempt* g_attempt = nullptr;

/// LLVM is compiled without exceptions: nothing can be thrown through its functions. Like its own
/// CrashRecoveryContext, this leaves them behind.
void give_up(void*, const char* reason, bool) {
  if (g_attempt == nullptr) {
    // Somebody else's LLVM: it ends the process after this, and says nothing where there is a
    // handler.
    std::fprintf(stderr, "LLVM ERROR: %s\n", reason);
    return;
  }
  g_attempt->words = reason;
  std::longjmp(g_attempt->back, 1);
}

void install_handlers() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::install_fatal_error_handler(give_up);
    llvm::install_bad_alloc_error_handler(give_up);
  });
}

/// Whether the work came to its end. Nothing in here has a destructor or changes after `setjmp`.
bool comes_to_its_end(Attempt& attempt, const std::function<void()>& work) {
  if (setjmp(attempt.back) != 0)
    return false;
  work();
  return true;
}

/// The attempt of this thread for as long as the object lives, and the one around it after that.
class AttemptScope {
public:
  explicit AttemptScope(Attempt& attempt)
      : outer_(std::exchange(g_attempt, &attempt)), stack_(llvm::SavePrettyStackState()) {}
  AttemptScope(const AttemptScope&) = delete;
  AttemptScope& operator=(const AttemptScope&) = delete;
  ~AttemptScope() {
    g_attempt = outer_;
    llvm::RestorePrettyStackState(stack_);
  }

private:
  Attempt* outer_;
  const void*
      stack_; ///< LLVM's list of what it is doing, which has entries in frames that were left
};

class ErrorKeeper : public llvm::DiagnosticHandler {
public:
  explicit ErrorKeeper(ReportedError error) : error_(std::move(error)) {}

  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    // What is no error is about hints that LLVM did not take: nothing to tell anybody, and LLVM
    // would print it.
    if (info.getSeverity() == llvm::DS_Error && error_->empty()) {
      llvm::raw_string_ostream stream(*error_);
      llvm::DiagnosticPrinterRawOStream printer(stream);
      info.print(printer);
    }
    return true;
  }

private:
  ReportedError error_;
};

/// The first line, without addresses of LLVM's nodes, which are others in every run.
std::string lasting_words(const std::string& words) {
  static const std::regex address("0x[0-9a-f]+:? ?");
  return std::regex_replace(words.substr(0, words.find('\n')), address, "");
}

} // namespace

std::optional<std::string> failure_of_llvm(const std::function<void()>& work) {
  install_handlers();
  Attempt attempt;
  const AttemptScope scope(attempt);
  if (comes_to_its_end(attempt, work))
    return std::nullopt;
  return lasting_words(attempt.words);
}

ReportedError keep_errors(llvm::LLVMContext& context) {
  auto error = std::make_shared<std::string>();
  context.setDiagnosticHandler(std::make_unique<ErrorKeeper>(error));
  return error;
}

} // namespace kawara::emit
