#pragma once

#include <cstdint>
#include <string>

namespace kawara {

/// Bytes that this process can still allocate and use: what the system has free or can free, within
/// the limits of the control groups that the process is in and of its address space. A system that
/// promises more than that ends the program later.
int64_t memory_left();

/// "480.0 GB", "17.2 MB".
std::string bytes_text(int64_t bytes);

} // namespace kawara
