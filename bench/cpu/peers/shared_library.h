#pragma once

#include <dlfcn.h>

#include <optional>
#include <stdexcept>
#include <string>

namespace kawara::bench {

/// A library opened at run time, with its names kept apart from those of all others: several of the
/// peers export the same functions. It stays open, because its threads may still live.
class SharedLibrary {
public:
  /// `folder`/`file` when it is there, else what the system finds under that name.
  static std::optional<SharedLibrary> open(const std::string& folder, const std::string& file) {
    constexpr int kFlags = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
    void* handle = folder.empty() ? nullptr : dlopen((folder + "/" + file).c_str(), kFlags);
    if (handle == nullptr)
      handle = dlopen(file.c_str(), kFlags);
    if (handle == nullptr)
      return std::nullopt;
    return SharedLibrary(handle, file);
  }

  /// Throws when the library has no such function.
  template <class Function> Function function(const char* name) const {
    void* found = dlsym(handle_, name);
    if (found == nullptr)
      throw std::runtime_error(file_ + " has no function " + name);
    return reinterpret_cast<Function>(found);
  }

private:
  SharedLibrary(void* handle, std::string file) : handle_(handle), file_(std::move(file)) {}
  void* handle_;
  std::string file_;
};

} // namespace kawara::bench
