#include "emit/cuda/host.h"

#include "emit/cuda/async_ops.h"
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

  /// Temps that the host has to find a place for.
  std::vector<uint32_t> temps() const {
    const std::set<uint32_t> used = kernel::used_buffers(kernel_);
    std::vector<uint32_t> found;
    for (uint32_t b = 0; b < kernel_.buffers.size(); ++b)
      if (kernel_.buffers[b].scope == Scope::Workspace && used.contains(b))
        found.push_back(b);
    return found;
  }

  /// The body of the function that launches; `workspace` holds the temps, one after the other.
  std::string text() {
    ++depth_;
    line("cudaError_t error = cudaSuccess;");
    std::string at = "0";
    for (const uint32_t b : temps()) {
      const std::string type = cuda_type(kernel_.buffers[b].elem);
      line(type + "* const " + names_.buffers[b] + " = (" + type + "*)((char*)workspace + " + at +
           ");");
      at += " + " + room_of(kernel_.buffers[b]);
    }
    block(kernel_.body);
    line("return error != cudaSuccess ? error : cudaGetLastError();");
    --depth_;
    return text_;
  }

  /// Bytes of all temps, each beginning where vectors may.
  std::string workspace() {
    std::vector<std::string> parts;
    for (const uint32_t b : temps())
      parts.push_back(room_of(kernel_.buffers[b]));
    return join(parts, " + ");
  }

private:
  void line(const std::string& text) { text_ += std::string(2 * depth_, ' ') + text + "\n"; }

  std::string bytes_of(const Buffer& b) {
    Expr elements = scalar::int_lit(scalar::bytes_of(b.elem));
    for (const Expr& extent : b.shape)
      elements = elements * extent;
    return expr_(scalar::simplify(elements));
  }

  std::string room_of(const Buffer& b) { return "((" + bytes_of(b) + " + 255) / 256 * 256)"; }

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
    arguments.insert(arguments.begin(), {s.name, "dim3(" + join(blocks, ", ") + ")",
                                         "dim3(" + join(threads, ", ") + ")", shared, "stream"});
    line("if (error == cudaSuccess)");
    line("  error = kw_launch<" + std::string(passed.is_alone ? "false" : "true") + ">(" +
         join(arguments, ", ") + ");");
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
    // Bytes of any meaning are copied alike.
    const std::string type = b.elem == scalar::Elem::BF16    ? "BFLOAT16"
                             : b.elem == scalar::Elem::F16   ? "FLOAT16"
                             : scalar::bytes_of(b.elem) == 1 ? "UINT8"
                             : scalar::is_integer(b.elem)    ? "INT32"
                                                             : "FLOAT32";
    if (map.walk && extents.size() == 3) // one image
      extents.emplace_back("1");
    line("kw_map " + name + ";");
    line("const unsigned long long " + name + "_extents[] = {" + join(extents, ", ") + "};");
    if (map.walk)
      return make_window_map(map, name, type);
    line("const unsigned " + name + "_box[] = {" + join(box, ", ") + "};");
    line("if (error == cudaSuccess)");
    line("  error = kw_make_map(&" + name + ", CU_TENSOR_MAP_DATA_TYPE_" + type + ", " +
         std::to_string(scalar::bytes_of(b.elem)) + ", " + rank + ", " +
         names_.buffers[map.buffer] + ", " + name + "_extents, " + name + "_box);");
  }
  void make_window_map(const CudaMap& map, const std::string& name, const std::string& type) {
    const auto pair = [](const std::array<int64_t, 2>& of) {
      return "{" + std::to_string(of[1]) + ", " + std::to_string(of[0]) + "};";
    };
    line("const int " + name + "_first[] = " + pair(map.walk->first));
    line("const int " + name + "_last[] = " + pair(map.walk->last));
    line("const unsigned " + name + "_stride[] = " + pair(map.walk->stride));
    line("if (error == cudaSuccess)");
    line("  error = kw_make_window_map(&" + name + ", CU_TENSOR_MAP_DATA_TYPE_" + type + ", " +
         std::to_string(scalar::bytes_of(kernel_.buffers[map.buffer].elem)) + ", " +
         names_.buffers[map.buffer] + ", " + name + "_extents, " + name + "_first, " + name +
         "_last, " + name + "_stride, " + std::to_string(map.walk->channels) + ", " +
         std::to_string(map.box.back()) + ", " + std::to_string(map.box[map.box.size() - 2]) +
         ");");
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
  void one(const kernel::AsyncOp&) {}
  void one(const kernel::Comment& s) { line("// " + s.text); }

  const Kernel& kernel_;
  const CNames& names_;
  const CudaUnit& unit_;
  CudaExpr expr_;
  std::string text_;
  size_t depth_ = 0, next_ = 0;
};

constexpr const char* kLaunch =
    R"(// The kernel's blocks may get ready while the one before it finishes, if it is early; they wait for it in kw_begin.
template <bool is_early, class... P, class... A>
static cudaError_t kw_launch(void (*function)(P...), dim3 blocks, dim3 threads, unsigned shared,
                             cudaStream_t stream, A... given) {
  cudaLaunchAttribute early;
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = blocks;
  config.blockDim = threads;
  config.dynamicSmemBytes = shared;
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = is_early ? 1 : 0;
  return cudaLaunchKernelEx(&config, function, (P)given...);
}

)";

/// Parameters of the host's function: their types with their names, or the names alone.
std::vector<std::string> host_parameters(const Kernel& kernel, const CNames& names,
                                         bool has_types) {
  std::vector<std::string> parts;
  for (const std::string& p : names.params)
    parts.push_back((has_types ? "long long " : "") + p);
  for (uint32_t b = 0; b < kernel.buffers.size(); ++b)
    if (const Buffer& buffer = kernel.buffers[b]; buffer.scope == Scope::Argument) {
      const std::string type =
          (buffer.role == program::Role::Input ? "const " : "") + cuda_type(buffer.elem) + "* ";
      parts.push_back((has_types ? type : "") + names.buffers[b]);
    }
  return parts;
}

/// Functions for kernels with temps: one that says how much room they need, one that is given it,
/// and the one without, which asks for it in the stream.
std::string with_workspace(const Kernel& kernel, const CNames& names, HostWriter& writer) {
  const std::string name = names.function;
  std::vector<std::string> given = host_parameters(kernel, names, true);
  std::vector<std::string> passed = host_parameters(kernel, names, false);
  std::vector<std::string> sizes, sizes_passed = names.params;
  for (const std::string& p : names.params)
    sizes.push_back("long long " + p);
  given.insert(given.end(), {"void* workspace", "cudaStream_t stream"});
  passed.insert(passed.end(), {"workspace", "stream"});
  return "extern \"C\" size_t " + name + "_workspace(" + join(sizes, ", ") + ") {\n  return " +
         writer.workspace() + ";\n}\nextern \"C\" cudaError_t " + name + "_in(" +
         join(given, ", ") + ") {\n" + writer.text() + "}\nextern \"C\" " +
         cuda_prototype(kernel, names) +
         " {\n  void* workspace = nullptr;\n  cudaError_t error = cudaMallocAsync(&workspace, " +
         name + "_workspace(" + join(sizes_passed, ", ") +
         "), stream);\n  if (error == cudaSuccess)\n    error = " + name + "_in(" +
         join(passed, ", ") +
         ");\n  if (workspace != nullptr)\n    cudaFreeAsync(workspace, stream);\n  return "
         "error;\n}\n";
}

} // namespace

std::string cuda_prototype(const Kernel& kernel, const CNames& names) {
  std::vector<std::string> parts = host_parameters(kernel, names, true);
  parts.emplace_back("cudaStream_t stream");
  return "cudaError_t " + names.function + "(" + join(parts, ", ") + ")";
}

std::string cuda_host_function(const Kernel& kernel, const CNames& names, const CudaUnit& unit) {
  bool has_maps = false, has_windows = false;
  for (const CudaLaunch& launch : unit.launches)
    for (const CudaMap& map : launch.maps) {
      has_maps = true;
      has_windows = has_windows || map.walk.has_value();
    }
  HostWriter writer(kernel, names, unit);
  const std::string functions =
      writer.temps().empty()
          ? "extern \"C\" " + cuda_prototype(kernel, names) + " {\n" + writer.text() + "}\n"
          : with_workspace(kernel, names, writer);
  return "#ifndef __CUDACC_RTC__\n#include <cuda_runtime.h>\n" +
         (has_maps ? host_async_prelude() : std::string("\n")) +
         (has_windows ? host_window_prelude() : "") + kLaunch + functions + "#endif\n";
}

} // namespace kawara::emit
