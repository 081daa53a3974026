#pragma once

#include "cpu/case.h"

namespace kawara::bench {

/// What all contestants of a case compute with; row-major, at multiples of 64 bytes, and the same
/// memory for all of them. Pointers that an operation does not have are null.
struct Operands {
  const float* a = nullptr;     ///< left matrix, image, Q, rows
  const float* b = nullptr;     ///< right matrix, weights, K, gamma, second summand
  const float* c = nullptr;     ///< V, beta
  const int8_t* a_i8 = nullptr; ///< operands of GemmI8
  const int8_t* b_i8 = nullptr;
  const uint16_t* a_f16 = nullptr; ///< operands of GemmF16, as bits
  const uint16_t* b_f16 = nullptr;
};

/// A library, or Kawara, in a race. What is constant (weights) may be prepared before the race.
/// Any function but the destructor may throw std::exception: the contestant then fails the case.
class Contestant {
public:
  Contestant() = default;
  Contestant(const Contestant&) = delete;
  Contestant& operator=(const Contestant&) = delete;
  virtual ~Contestant() = default;

  virtual const char* name() const = 0;
  virtual const char* version() const = 0;
  virtual bool is_kawara() const { return false; }
  /// Makes ready for the case; false when it has no such operation. Forgets the case before. The
  /// operands outlive the runs.
  virtual bool prepare(const Case&, const Operands&) = 0;
  /// What is timed.
  virtual void run() = 0;
  /// Copies the result of the last run, as Op says it is laid out, into `output_elements` elements.
  virtual void output(float* elements) const = 0;
  /// Frees what `prepare` made.
  virtual void release() = 0;
};

/// What a contestant in a library of its own exports as `kawara_contestant`: made for that many
/// threads, owned by the caller.
using ContestantFunction = Contestant* (*)(int64_t threads);

} // namespace kawara::bench
