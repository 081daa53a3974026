#include "run/library.h"

#include <dlfcn.h>

namespace kawara::run {

std::shared_ptr<Library> Library::open(const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL))
      return std::shared_ptr<Library>(new Library(handle));
  return nullptr;
}

Library::~Library() { dlclose(handle_); }

void* Library::symbol(const char* name) const { return dlsym(handle_, name); }

} // namespace kawara::run
