#include "emit/cuda/async_ops.h"
#include "program/interpret/instruction.h"
#include "support/text.h"

#include <algorithm>

namespace kawara::emit {
namespace {

constexpr const char* kAsync =
    R"(// How a tensor lies in memory, for TMA. Made by the host.
struct alignas(64) kw_map { unsigned long long at[16]; };
static __device__ inline unsigned kw_address(const void* shared) {
  return (unsigned)__cvta_generic_to_shared(shared);
}
// Pieces of 16 bytes of a row of 128 change places with the row's number.
template <int bytes> static __device__ inline int kw_swizzle(int element) {
  return element ^ (element >> 3 & 0x70 / bytes);
}
static __device__ inline void kw_begin_barrier(unsigned barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
static __device__ inline void kw_arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
static __device__ inline void kw_arrive_expecting(unsigned barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}
static __device__ inline void kw_await_phase(unsigned barrier, int parity) {
  int done = 0;
  while (!done)
    asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                 "selp.b32 %0, 1, 0, p;\n}"
                 : "=r"(done) : "r"(barrier), "r"(parity) : "memory");
}
// The threads of a warpgroup; what they stored to shared memory, TMA sees.
static __device__ inline void kw_group_barrier(int number) {
  asm volatile("fence.proxy.async.shared::cta;\nbar.sync %0, 128;" ::"r"(number) : "memory");
}
// Where an operand of a product lies: rows of 128 bytes, swizzled, eight to a piece of 1024.
template <int is_transposed> static __device__ inline unsigned long long kw_operand(unsigned address) {
  const unsigned long long panels = is_transposed ? 8192 : 16;
  return (unsigned long long)((address & 0x3ffff) >> 4) | panels >> 4 << 16 |
         (unsigned long long)(1024 >> 4) << 32 | 1ull << 62;
}
template <int n> static __device__ inline void kw_settle(float (&c)[n]) {
#pragma unroll
  for (int i = 0; i < n; ++i)
    asm volatile("" : "+f"(c[i])::"memory");
}
template <class T, int n> static __device__ inline void kw_settle(T (&c)[n]) {
#pragma unroll
  for (int i = 0; i < n; ++i)
    asm volatile("" : "+r"(c[i])::"memory");
}
)";

/// The copies of boxes of one rank.
std::string bulk_copies(int rank) {
  std::vector<std::string> given, names, loads, values;
  for (int d = 0; d < rank; ++d) {
    given.push_back("int c" + std::to_string(d));
    loads.push_back("%" + std::to_string(3 + d));
    names.push_back("%" + std::to_string(2 + d));
    values.push_back("\"r\"(c" + std::to_string(d) + ")");
  }
  const std::string dims = std::to_string(rank) + "d";
  const std::string at = join(given, ", "), list = join(values, ", ");
  return "static __device__ inline void kw_bulk_load(unsigned to, const kw_map* from, unsigned "
         "done, " +
         at + ") {\n  asm volatile(\"cp.async.bulk.tensor." + dims +
         ".shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {" + join(loads, ", ") +
         "}], [%2];\"\n               ::\"r\"(to), \"l\"(from), \"r\"(done), " + list +
         " : \"memory\");\n}\n" +
         "static __device__ inline void kw_bulk_store(const kw_map* to, unsigned from, " + at +
         ") {\n  asm volatile(\"cp.async.bulk.tensor." + dims +
         ".global.shared::cta.bulk_group [%0, {" + join(names, ", ") +
         "}], [%1];\\ncp.async.bulk.commit_group;\"\n               ::\"l\"(to), \"r\"(from), " +
         list + " : \"memory\");\n}\n";
}

/// A box that comes to several blocks of a cluster, `blocks` a bit each.
std::string multicast_load(int rank) {
  std::vector<std::string> given, loads, values;
  for (int d = 0; d < rank; ++d) {
    given.push_back("int c" + std::to_string(d));
    loads.push_back("%" + std::to_string(4 + d));
    values.push_back("\"r\"(c" + std::to_string(d) + ")");
  }
  return "template <int blocks> static __device__ inline void kw_multicast_load(unsigned to, const "
         "kw_map* from, unsigned done, " +
         join(given, ", ") + ") {\n  asm volatile(\"cp.async.bulk.tensor." + std::to_string(rank) +
         "d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {" +
         join(loads, ", ") +
         "}], [%2], %3;\"\n               ::\"r\"(to), \"l\"(from), \"r\"(done), "
         "\"h\"((unsigned short)blocks), " +
         join(values, ", ") + " : \"memory\");\n}\n";
}

/// An arrival announces that reads have ended. A release at the scope of the cluster would wait for
/// all writes as well, and takes half of a product's time (H200, 18 November 2026).
constexpr const char* kClusters =
    R"(// The barrier at the same place in another block of the cluster.
static __device__ inline void kw_arrive_at(unsigned barrier, int block) {
  asm volatile("{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\n"
               "mbarrier.arrive.shared::cluster.b64 _, [there];\n}"
               ::"r"(barrier), "r"(block) : "memory");
}
static __device__ inline void kw_meet_cluster() {
  asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
}
)";

constexpr const char* kWindowCopies =
    R"(// Places of a window that follow each other, from c1, c2, c3 on; of each the element that lies (x, y) beside it.
static __device__ inline void kw_bulk_load_window(unsigned to, const kw_map* from, unsigned done, int c0, int c1,
                                                  int c2, int c3, unsigned short x, unsigned short y) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2], {%7, %8};"
               ::"r"(to), "l"(from), "r"(done), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "h"(x), "h"(y) : "memory");
}
)";

/// `is_a_private`: the left operand is four registers with two elements each.
std::string wgmma_text(const target::Intrinsic& data, bool is_a_private) {
  const program::Instruction& instruction = program::instruction_of(data);
  const int64_t elements = instruction.result().lanes() / 128;
  const bool has_floats = scalar::is_float(instruction.result().elem);
  std::string name(data.name);
  std::replace(name.begin(), name.end(), '.', '_');
  std::vector<std::string> registers, outputs;
  for (int64_t n = 0; n < elements; ++n) {
    registers.push_back("%" + std::to_string(n));
    outputs.push_back((has_floats ? "\"+f\"(c[" : "\"+r\"(c[") + std::to_string(n) + "])");
  }
  const std::string elem(data.name.substr(data.name.rfind('.') + 1));
  const std::string shape = std::string(data.name.substr(0, data.name.rfind('.'))).substr(6);
  // Only operands of two bytes can be transposed.
  const bool has_turns = scalar::bytes_of(instruction.operands[0].elem) == 2;
  int64_t next = elements;
  const auto operand = [&] { return "%" + std::to_string(next++); };
  std::string left, given, values;
  if (is_a_private) {
    std::vector<std::string> parts;
    for (int n = 0; n < 4; ++n)
      parts.push_back(operand());
    left = "{" + join(parts, ", ") + "}";
    given = "unsigned a0, unsigned a1, unsigned a2, unsigned a3";
    values = "\"r\"(a0), \"r\"(a1), \"r\"(a2), \"r\"(a3)";
  } else {
    left = operand();
    given = "unsigned long long a";
    values = "\"l\"(a)";
  }
  const std::string right = operand(), adds = operand();
  std::string transposed;
  if (has_turns && !is_a_private)
    transposed += ", " + operand();
  if (has_turns)
    transposed += ", " + operand();
  return std::string("template <") + (is_a_private ? "" : "int a_transposed, ") +
         "int b_transposed, int adds> static __device__ inline void kw_" + name +
         (has_floats ? "(float" : "(int") + " (&c)[" + std::to_string(elements) + "], " + given +
         ", unsigned long long b) {\n  asm volatile(\"{\\n.reg .pred p;\\nsetp.ne.b32 p, " + adds +
         ", 0;\\nwgmma.mma_async.sync.aligned." + shape + (has_floats ? ".f32." : ".s32.") + elem +
         "." + elem + " {" + join(registers, ", ") + "}, " + left + ", " + right +
         (has_floats ? ", p, 1, 1" : ", p") + transposed + ";\\n}\"\n    : " + join(outputs, ", ") +
         "\n    : " + values + ", \"l\"(b), \"n\"(adds)" +
         (has_turns && !is_a_private ? ", \"n\"(a_transposed)" : "") +
         (has_turns ? ", \"n\"(b_transposed)" : "") + ");\n}\n";
}

} // namespace

std::string async_prelude(const std::set<std::string>& needs) {
  if (!needs.contains("async"))
    return "";
  std::string text = kAsync;
  for (int rank = 2; rank <= 5; ++rank)
    if (needs.contains("bulk_" + std::to_string(rank)))
      text += bulk_copies(rank);
  for (int rank = 2; rank <= 5; ++rank)
    if (needs.contains("multicast_" + std::to_string(rank)))
      text += multicast_load(rank);
  if (needs.contains("cluster"))
    text += kClusters;
  if (needs.contains("bulk_walk"))
    text += kWindowCopies;
  for (const target::Intrinsic& data : target::intrinsics())
    for (const bool is_a_private : {false, true})
      if (needs.contains(std::string(data.name) + (is_a_private ? ".private" : "")))
        text += wgmma_text(data, is_a_private);
  return text + "\n";
}

std::string host_async_prelude() {
  return R"(#include <cuda.h>

// A tensor, innermost extent first, that is copied in boxes; rows of a box are 128 bytes, swizzled. The cache fetches
// pairs of its lines where rows begin with one.
static cudaError_t kw_make_map(kw_map* map, CUtensorMapDataType type, unsigned bytes, unsigned rank,
                               const void* at, const unsigned long long* extents, const unsigned* box) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult status;
  const cudaError_t error = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000,
                                                             cudaEnableDefault, &status);
  if (error != cudaSuccess || found == nullptr)
    return error != cudaSuccess ? error : cudaErrorNotSupported;
  cuuint64_t sizes[5], strides[5], stride = bytes;
  cuuint32_t boxes[5], steps[5];
  for (unsigned d = 0; d < rank; ++d) {
    sizes[d] = extents[d];
    boxes[d] = box[d];
    steps[d] = 1;
    stride *= extents[d];
    strides[d] = stride;
  }
  const auto encode = (CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                                    const cuuint64_t*, const cuuint32_t*, const cuuint32_t*,
                                    CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
                                    CUtensorMapFloatOOBfill))found;
  const CUresult result =
      encode((CUtensorMap*)map, type, rank, (void*)at, sizes, strides, boxes, steps,
             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
             strides[0] % 256 == 0 ? CU_TENSOR_MAP_L2_PROMOTION_L2_256B : CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return result == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue;
}

)";
}

std::string host_window_prelude() {
  return R"(// An image [n, y, x, c] that is copied by places of a window; directions are x, y.
static cudaError_t kw_make_window_map(kw_map* map, CUtensorMapDataType type, unsigned bytes, const void* at,
                                      const unsigned long long* extents, const int* first, const int* last,
                                      const unsigned* stride, unsigned elements, unsigned channels,
                                      unsigned places) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult status;
  const cudaError_t error = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeIm2col", &found, 12000,
                                                             cudaEnableDefault, &status);
  if (error != cudaSuccess || found == nullptr)
    return error != cudaSuccess ? error : cudaErrorNotSupported;
  cuuint64_t sizes[4], strides[4], one = bytes;
  for (int d = 0; d < 4; ++d) {
    sizes[d] = extents[d];
    one *= extents[d];
    strides[d] = one;
  }
  // A place may have more channels than the image: they lie in the elements to the right.
  sizes[0] = elements;
  sizes[1] -= (elements - 1) / extents[0];
  // Corners count from the image's first and last elements.
  const int low[] = {first[0], first[1]};
  const int high[] = {last[0] - (int)sizes[1] + 1, last[1] - (int)sizes[2] + 1};
  const cuuint32_t steps[] = {1, stride[0], stride[1], 1};
  const auto encode = (CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                                    const cuuint64_t*, const int*, const int*, cuuint32_t, cuuint32_t,
                                    const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle,
                                    CUtensorMapL2promotion, CUtensorMapFloatOOBfill))found;
  const CUresult result =
      encode((CUtensorMap*)map, type, 4, (void*)at, sizes, strides, low, high, channels, places, steps,
             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
             CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return result == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue;
}

)";
}

} // namespace kawara::emit
