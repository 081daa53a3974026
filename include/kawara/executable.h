#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace kawara {

/// Values of a program's parameters by name.
using Sizes = std::map<std::string, int64_t>;

/// Element types of the language. `Any` is what an untyped pointer has: it fits every tensor.
enum class Element : uint8_t {
  Any,
  F64,
  F32,
  F16,
  BF16,
  I64,
  I32,
  I16,
  I8,
  U8,
  Bool,
  F8E4M3,
  F8E5M2,
  U16,
  U32,
  U64
};

/// The element type that a C++ type stands for. f16 and bf16 have none: pass them as `void*`.
template <class T> constexpr Element element_of() {
  using V = std::remove_cv_t<T>;
  if constexpr (std::is_void_v<V>)
    return Element::Any;
  else if constexpr (std::is_same_v<V, double>)
    return Element::F64;
  else if constexpr (std::is_same_v<V, float>)
    return Element::F32;
  else if constexpr (std::is_same_v<V, bool>)
    return Element::Bool;
  else {
    static_assert(std::is_integral_v<V>, "no element type of the language has this C++ type");
    constexpr bool is_signed = std::is_signed_v<V>;
    return sizeof(V) == 8   ? (is_signed ? Element::I64 : Element::U64)
           : sizeof(V) == 4 ? (is_signed ? Element::I32 : Element::U32)
           : sizeof(V) == 2 ? (is_signed ? Element::I16 : Element::U16)
                            : (is_signed ? Element::I8 : Element::U8);
  }
}

/// Memory of one tensor in row-major order, owned by the caller. A pointer is trusted to reach all
/// elements; the length of a vector is checked.
class TensorData {
public:
  template <class T>
  TensorData(T* data)
      : data_(const_cast<void*>(static_cast<const void*>(data))), element_(element_of<T>()),
        is_const_(std::is_const_v<T>) {}
  template <class T> TensorData(std::vector<T>& elements) : TensorData(elements.data()) {
    count_ = static_cast<int64_t>(elements.size());
  }
  template <class T> TensorData(const std::vector<T>& elements) : TensorData(elements.data()) {
    count_ = static_cast<int64_t>(elements.size());
  }

  void* data() const { return data_; }
  Element element() const { return element_; }
  int64_t count() const { return count_; } ///< elements; -1 when not known
  bool is_const() const { return is_const_; }

private:
  void* data_;
  Element element_;
  int64_t count_ = -1;
  bool is_const_;
};

/// Seconds per call.
struct Timing {
  double median = 0, min = 0, max = 0;
  double spread = 0; ///< distance between the quartiles, relative to the median
  int64_t samples = 0;
};

/// Native code of a scheduled program. Copies share it. Calls from several threads are fine.
class Executable {
public:
  /// Runs on the caller's memory: one entry per input, output and inout, none of them overlapping.
  /// Sizes that were fixed by `Program::schedule` may be left out. Throws Error when an entry is
  /// missing (K0401), too short (K0402), of another element type (K0403), const but written (K0408)
  /// or no tensor of the program (K0407), and when sizes are missing (K0431), unknown (K0430), or
  /// other than those the code was made for (K0405).
  void run(const std::map<std::string, TensorData>& tensors, const Sizes& sizes = {}) const;

  /// Time per call on inputs of a fixed pattern.
  Timing time(const Sizes& sizes = {}) const;

  std::string kernel() const; ///< the loops behind the code, for reading

  struct Impl;
  explicit Executable(std::shared_ptr<const Impl> impl);

private:
  std::shared_ptr<const Impl> impl_;
};

} // namespace kawara
