#pragma once

#include "cpu/results.h"

#include "target/cpu.h"

#include <nlohmann/json_fwd.hpp>

namespace kawara::bench {

/// A table for each group, then means, totals of networks and ratios between element types; Markdown.
std::string table_of(const Results&);

/// One line on a case that was just measured: "gemm 64,64,64  kawara 0.011 ms, best ORT 0.009 ms, 0.86".
std::string progress_of(const Row&);

/// Everything, with all samples.
nlohmann::json json_of(const Results&);

/// The processor as this program sees it.
nlohmann::json json_of(const target::Cpu&);

} // namespace kawara::bench
