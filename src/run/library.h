#pragma once

#include <memory>
#include <string>
#include <vector>

namespace kawara::run {

/// A shared library opened at run time; closed with the last user.
class Library {
public:
  /// The first of the names that can be opened; null when none can.
  static std::shared_ptr<Library> open(const std::vector<std::string>& names);
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  /// The function called `name` as a pointer of the wanted type; null when the library has none.
  template <class F> F* function(const char* name) const {
    return reinterpret_cast<F*>(symbol(name));
  }

private:
  explicit Library(void* handle) : handle_(handle) {}
  void* symbol(const char* name) const;
  void* handle_;
};

} // namespace kawara::run
