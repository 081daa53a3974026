#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace llvm {
class LLVMContext;
}

namespace kawara::emit {

/// Runs `work`, which calls LLVM. Nothing when it came to its end; LLVM's words where LLVM gave up,
/// which by itself would end the process.
///
/// After a failure the work is left where it was: what it had made on its way is never destroyed,
/// and neither may be the module and the context that it worked on (LlvmUnit::Impl::is_abandoned).
/// Everything else goes on as before. Exceptions of `work` itself pass through.
std::optional<std::string> failure_of_llvm(const std::function<void()>& work);

/// The first error that LLVM has reported about code of a context; empty when there was none.
using ReportedError = std::shared_ptr<std::string>;
/// Lets the context keep the first error. By itself it would end the process with it.
ReportedError keep_errors(llvm::LLVMContext&);

} // namespace kawara::emit
