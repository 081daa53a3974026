#pragma once

#include "graph/tensor.h"
#include "program/interpret/values.h"
#include "support/diagnostic.h"

#include <optional>
#include <string>
#include <string_view>

namespace kawara::run {

// NumPy's `.npy` format, versions 1 to 3.
//
// f64 f32 f16 i64 i32 i16 i8 u8 bool have their NumPy types. bf16, which NumPy lacks, is written
// as raw two-byte elements (`|V2`, what ml_dtypes writes too); `|V2` and `<u2` are read as bf16.
// Floats of 8 bits are written as raw bytes, `|V1`, which says nothing of their kind: they are read
// as f8e4m3. Either byte order and Fortran order are read; what is written is little-endian in C
// order.

/// The array in the bytes of a `.npy` file; `name` is how messages call it.
/// Refuses what is no such file (K0421), has a damaged header (K0422), another element type
/// (K0423), or too little or too much data for its shape (K0424).
Result<program::Array, Diagnostic> array_from_npy(std::string_view bytes, const std::string& name);

std::string npy_from_array(const program::Array& array);

Result<program::Array, Diagnostic> read_npy(const std::string& path);

// The same for the tensors of models, which also have u16, u32 and u64: NumPy's `u2`, `u4` and
// `u8`. `u2` is bf16 where `declared` says so.
Result<graph::Tensor, Diagnostic> tensor_from_npy(std::string_view bytes, const std::string& name,
                                                  std::optional<graph::DataType> declared = {});
std::string npy_from_tensor(const graph::Tensor& tensor);
Result<graph::Tensor, Diagnostic> read_npy_tensor(const std::string& path,
                                                  std::optional<graph::DataType> declared = {});
Result<Done, Diagnostic> write_npy_tensor(const std::string& path, const graph::Tensor& tensor);

Result<Done, Diagnostic> write_npy(const std::string& path, const program::Array& array);

} // namespace kawara::run
