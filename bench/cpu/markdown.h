#pragma once

#include <string>
#include <vector>

namespace kawara::bench {

/// Rows of elements as a Markdown table, columns padded; the first column is text, the others numbers.
std::string markdown(std::vector<std::vector<std::string>> table);

} // namespace kawara::bench
