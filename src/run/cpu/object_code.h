#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kawara::run {

/// Functions that compiled code may call, by name; so that it finds them in a statically linked
/// program too.
std::vector<std::pair<std::string, void*>> library_functions();

/// Machine code of an object file in executable memory, for as long as the object lives.
class ObjectCode {
public:
  ObjectCode(std::byte* memory, size_t bytes, void* function)
      : memory_(memory), bytes_(bytes), function_(function) {}
  ObjectCode(ObjectCode&&) noexcept;
  ObjectCode& operator=(ObjectCode&&) noexcept;
  ~ObjectCode();
  void* function() const { return function_; } ///< the one that was asked for

private:
  std::byte* memory_;
  size_t bytes_;
  void* function_;
};

/// Links an ELF object of code for this kind of processor, without LLVM: it takes a tenth of the
/// time and none of LLVM's 11 MB. Nothing where the object is damaged or has what code of Kawara
/// does not need (variables, unwinding while it runs, unusual relocations); LLVM links those.
std::optional<ObjectCode> code_from_object(std::string_view object, const std::string& symbol);

} // namespace kawara::run
