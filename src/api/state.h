#pragma once

#include "driver/pipeline.h"
#include <kawara/kawara.h>

namespace kawara {

// What the objects of the public interface hold. Shared and never changed, so that copies are
// cheap.

struct Program::Impl {
  driver::Request request;
  program::Program program;
};

struct Schedule::Impl {
  driver::Request request; ///< without directives
  driver::Scheduled front;
  schedule::Environment environment;
};

struct Executable::Impl {
  driver::Request request;
  driver::Compiled compiled;
};

namespace api {

/// The value, or an Error thrown with the whole message.
[[noreturn]] void raise(const Diagnostics&);

template <class T> T value_or_throw(Parsed<T> result) {
  if (!result)
    raise(result.error());
  return *std::move(result);
}
template <class T> T value_or_throw(Result<T, Diagnostic> result) {
  if (!result)
    raise({result.error()});
  return *std::move(result);
}

} // namespace api
} // namespace kawara
