#include "emit/cuda/host.h"

#include "emit/cuda/engine.h"
#include "support/text.h"

#include <algorithm>

namespace kawara::emit {
namespace {

using kernel::Block;
using kernel::Buffer;
using kernel::Kernel;
using kernel::Scope;
using scalar::Expr;

class HostWriter {
public:
  HostWriter(const Kernel& kernel, const CNames& names, const CudaUnit& unit)
      : kernel_(kernel), names_(names), unit_(unit), expr_(kernel, names, false) {}

  std::string text() {
    ++depth_;
    line("cudaError_t error = cudaSuccess;");
    const std::set<uint32_t> used = kernel::used_buffers(kernel_);
    std::vector<uint32_t> temps;
    for (uint32_t b = 0; b < kernel_.buffers.size(); ++b)
      if (kernel_.buffers[b].scope == Scope::Workspace && used.contains(b))
        temps.push_back(b);
    for (const uint32_t b : temps)
      allocate(b);
    block(kernel_.body);
    for (const uint32_t b : temps)
      line("cudaFreeAsync(" + names_.buffers[b] + ", stream);");
    line("return error != cudaSuccess ? error : cudaGetLastError();");
    --depth_;
    return text_;
  }

private:
  void line(const std::string& text) { text_ += std::string(2 * depth_, ' ') + text + "\n"; }

  std::string bytes_of(const Buffer& b) {
    Expr cells = scalar::int_lit(scalar::bytes_of(b.elem));
    for (const Expr& extent : b.shape)
      cells = cells * extent;
    return expr_(scalar::simplify(cells));
  }

  void allocate(uint32_t b) {
    const std::string type = cuda_type(kernel_.buffers[b].elem), name = names_.buffers[b];
    line(type + "* " + name + " = nullptr;");
    line("if (error == cudaSuccess)");
    line("  error = cudaMallocAsync((void**)&" + name + ", " + bytes_of(kernel_.buffers[b]) +
         ", stream);");
  }

  void block(const Block& statements) {
    for (const kernel::Stmt& stmt : statements)
      std::visit([&](const auto& s) { one(s); }, stmt);
  }
  void nested(const Block& statements) {
    ++depth_;
    block(statements);
    --depth_;
  }

  void one(const kernel::For& s) {
    const std::string i = names_.variables[s.var];
    line("for (long long " + i + " = " + expr_(s.lo) + "; " + i + " < " + expr_(s.hi) + "; " + i +
         " += " + std::to_string(s.step) + ") {");
    nested(s.body);
    line("}");
  }
  void one(const kernel::If& s) {
    line("if (" + expr_(s.cond) + ") {");
    nested(s.then);
    if (!s.otherwise.empty()) {
      line("} else {");
      nested(s.otherwise);
    }
    line("}");
  }
  void one(const kernel::Allocate& s) { block(s.body); }
  void one(const kernel::Launch& s) {
    const CudaLaunch& passed = unit_.launches.at(next_++);
    std::vector<std::string> arguments, blocks, threads;
    for (const uint32_t p : passed.params)
      arguments.push_back(names_.params[p]);
    for (const uint32_t v : passed.variables)
      arguments.push_back(names_.variables[v]);
    for (const uint32_t b : passed.buffers)
      arguments.push_back(names_.buffers[b]);
    for (size_t n = 0; n < passed.maps.size(); ++n)
      arguments.push_back(name_of_map(names_, passed.maps[n], n));
    for (size_t a = 0; a < 3; ++a) {
      blocks.push_back("(unsigned)(" + expr_(s.blocks[a]) + ")");
      threads.push_back(std::to_string(s.threads[a]));
    }
    const std::string shared = passed.is_dynamic ? std::to_string(passed.shared_bytes) : "0";
    std::string may_run = "error == cudaSuccess";
    for (const Expr& count : s.blocks)
      if (!scalar::constant_of(count))
        may_run += " && " + expr_(scalar::binary(scalar::BinaryOp::Gt, count, scalar::int_lit(0)));
    line("if (" + may_run + ") {");
    ++depth_;
    for (size_t n = 0; n < passed.maps.size(); ++n)
      make_map(passed.maps[n], n);
    if (passed.is_dynamic)
      line("if (error == cudaSuccess)");
    if (passed.is_dynamic)
      line("  error = cudaFuncSetAttribute(" + s.name +
           ", cudaFuncAttributeMaxDynamicSharedMemorySize, " + shared + ");");
    line(s.name + "<<<dim3(" + join(blocks, ", ") + "), dim3(" + join(threads, ", ") + "), " +
         shared + ", stream>>>(" + join(arguments, ", ") + ");");
    --depth_;
    line("}");
  }
  void make_map(const CudaMap& map, size_t number) {
    const Buffer& b = kernel_.buffers[map.buffer];
    const std::string name = name_of_map(names_, map, number);
    std::vector<std::string> extents, box;
    for (size_t d = b.shape.size(); d-- > 0;) {
      extents.push_back("(unsigned long long)(" + expr_(scalar::simplify(b.shape[d])) + ")");
      box.push_back(std::to_string(map.box[d]));
    }
    const std::string rank = std::to_string(box.size());
    const std::string type = b.elem == scalar::Elem::BF16  ? "BFLOAT16"
                             : b.elem == scalar::Elem::F16 ? "FLOAT16"
                                                           : "FLOAT32";
    line("kw_map " + name + ";");
    line("const unsigned long long " + name + "_extents[] = {" + join(extents, ", ") + "};");
    line("const unsigned " + name + "_box[] = {" + join(box, ", ") + "};");
    line("if (error == cudaSuccess)");
    line("  error = kw_make_map(&" + name + ", CU_TENSOR_MAP_DATA_TYPE_" + type + ", " +
         std::to_string(scalar::bytes_of(b.elem)) + ", " + rank + ", " +
         names_.buffers[map.buffer] + ", " + name + "_extents, " + name + "_box);");
  }
  void one(const kernel::Zero& s) {
    line("if (error == cudaSuccess)");
    line("  error = cudaMemsetAsync(" + names_.buffers[s.buffer] + ", 0, " +
         bytes_of(kernel_.buffers[s.buffer]) + ", stream);");
  }
  void one(const kernel::Define& s) {
    line("const long long " + names_.variables[s.var] + " = " + expr_(s.value) + ";");
  }
  void one(const kernel::Assign&) {}
  void one(const kernel::Prefetch&) {}
  void one(const kernel::Store&) {}
  void one(const kernel::Barrier&) {}
  void one(const kernel::Commit&) {}
  void one(const kernel::Await&) {}
  void one(const kernel::Combine&) {}
  void one(const kernel::Engine&) {}
  void one(const kernel::Comment& s) { line("// " + s.text); }

  const Kernel& kernel_;
  const CNames& names_;
  const CudaUnit& unit_;
  CudaExpr expr_;
  std::string text_;
  size_t depth_ = 0, next_ = 0;
};

} // namespace

std::string cuda_prototype(const Kernel& kernel, const CNames& names) {
  std::vector<std::string> parts;
  for (const std::string& p : names.params)
    parts.push_back("long long " + p);
  for (uint32_t b = 0; b < kernel.buffers.size(); ++b)
    if (const Buffer& buffer = kernel.buffers[b]; buffer.scope == Scope::Argument)
      parts.push_back((buffer.role == program::Role::Input ? "const " : "") +
                      cuda_type(buffer.elem) + "* " + names.buffers[b]);
  parts.emplace_back("cudaStream_t stream");
  return "cudaError_t " + names.function + "(" + join(parts, ", ") + ")";
}

std::string cuda_host_function(const Kernel& kernel, const CNames& names, const CudaUnit& unit) {
  const bool has_maps = std::any_of(unit.launches.begin(), unit.launches.end(),
                                    [](const CudaLaunch& launch) { return !launch.maps.empty(); });
  return "#ifndef __CUDACC_RTC__\n#include <cuda_runtime.h>\n" +
         (has_maps ? host_engine_prelude() : std::string("\n")) + "extern \"C\" " +
         cuda_prototype(kernel, names) + " {\n" + HostWriter(kernel, names, unit).text() +
         "}\n#endif\n";
}

} // namespace kawara::emit
