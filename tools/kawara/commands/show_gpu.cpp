#include "kawara/commands/show_gpu.h"

#include "run/cuda/disassemble.h"
#include "run/cuda/nvrtc.h"

namespace kawara::tools {

Diagnostic needs_gpu(const std::string& stage) {
  Diagnostic d;
  d.code = "K0715";
  d.headline = "stage `" + stage + "` needs a GPU as target";
  d.help.push_back({"name one", "--target cuda:sm_90a", false});
  return d;
}

std::string resources_of(const std::string& log) {
  std::string text;
  size_t begin = 0;
  while (begin < log.size()) {
    size_t end = log.find('\n', begin);
    end = end == std::string::npos ? log.size() : end;
    std::string line = log.substr(begin, end - begin);
    if (const size_t info = line.find("ptxas info"); info != std::string::npos)
      line = line.substr(line.find(':', info) + 2);
    else if (const size_t dot = line.find(". "); line.starts_with("ptxas") && dot < line.size())
      line = line.substr(line.find_first_not_of(' ', dot + 1));
    if (line.find("bytes gmem") == std::string::npos && !line.starts_with("Compile time"))
      text += line + "\n";
    begin = end + 1;
  }
  return text;
}

const std::vector<std::string>& gpu_stages() {
  static const std::vector<std::string> stages = {"cuda", "ptx", "sass", "resources"};
  return stages;
}

Parsed<std::string> gpu_text_at(const std::string& stage, const driver::Scheduled& front,
                                const schedule::Environment& environment, Trace& trace) {
  if (!environment.gpu)
    return fail(Diagnostics{needs_gpu(stage)});
  const emit::CudaUnit unit = driver::cuda_of(front, environment, trace);
  if (stage == "cuda")
    return unit.text;
  run::NvrtcOptions options;
  options.arch = environment.gpu->arch;
  options.flags = unit.flags;
  if (stage == "ptx") {
    auto ptx = run::ptx_from_cuda(unit.text, unit.function, options);
    if (!ptx)
      return fail(Diagnostics{ptx.error()});
    return *std::move(ptx);
  }
  const auto cubin = run::cubin_from_cuda(unit.text, unit.function, options, stage == "resources");
  if (!cubin)
    return fail(Diagnostics{cubin.error()});
  if (stage == "resources")
    return resources_of(cubin->log);
  auto sass = run::sass_from_cubin(cubin->bytes);
  if (!sass)
    return fail(Diagnostics{sass.error()});
  return *std::move(sass);
}

} // namespace kawara::tools
