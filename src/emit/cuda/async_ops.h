#pragma once

#include "emit/cuda/cuda_from_kernel.h"
#include "emit/cuda/expr.h"

namespace kawara::emit {

/// Orders to TMA and the tensor cores as CUDA C++, one launch at a time. Notes the tensor maps that
/// the launch must pass.
class AsyncWriter {
public:
  AsyncWriter(const kernel::Kernel& kernel, const kernel::Launch& launch, CudaExpr& expr,
              CudaLaunch& out)
      : kernel_(kernel), launch_(launch), expr_(expr), out_(out) {}

  /// Lines that carry out one order.
  std::vector<std::string> lines(const kernel::AsyncOp&);
  /// Lines at the start of the function: barriers in shared memory from `offset` on, all in phase
  /// 0.
  std::vector<std::string> barriers(int64_t offset);
  int64_t bytes_of_barriers() const;
  /// What the function's declaration says of its cluster; empty where it has none.
  std::string of_cluster() const;
  /// What its blocks do at the end: others may still reach what one of them has.
  std::string end_of_cluster() const { return launch_.cluster > 1 ? "  kw_meet_cluster();\n" : ""; }
  /// Private buffers that products add to or read.
  bool is_fragment(uint32_t buffer) const;
  /// Private buffers that products read: two elements to a register.
  bool is_packed(uint32_t buffer) const;

private:
  std::vector<std::string> one(const kernel::BulkLoad&);
  std::vector<std::string> one(const kernel::BulkStore&);
  std::vector<std::string> one(const kernel::AwaitBulkStores&);
  std::vector<std::string> one(const kernel::Arrive&);
  std::vector<std::string> one(const kernel::AwaitPhase&);
  std::vector<std::string> one(const kernel::Mma&);
  std::vector<std::string> one(const kernel::AwaitMma&);
  std::vector<std::string> one(const kernel::GroupBarrier&);
  std::vector<std::string> one(const kernel::SetRegisters&);
  std::string registers_of(const kernel::Mma&, int64_t step) const;
  std::string slot(const kernel::MbarrierSlot&);
  std::string map_of(CudaMap);
  std::string place_in(const kernel::ElementAt&);
  std::string address(const kernel::ElementAt&);

  const kernel::Kernel& kernel_;
  const kernel::Launch& launch_;
  CudaExpr& expr_;
  CudaLaunch& out_;
};

/// Name of the parameter that passes a map.
std::string name_of_map(const CNames&, const CudaMap&, size_t number);

/// What these orders need above the functions; `needs` as in prelude.h (async, bulk_2 to bulk_5 and
/// multicast_2 to multicast_5 by rank, bulk_walk, cluster, and instructions by name).
std::string async_prelude(const std::set<std::string>& needs);
/// Functions of the host that make tensor maps.
std::string host_async_prelude();
/// The same for maps of windows.
std::string host_window_prelude();

} // namespace kawara::emit
