#include "run/cuda/disassemble.h"

#include "run/file.h"

#include <fmt/core.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>

#include <unistd.h>

namespace kawara::run {
namespace {

Diagnostic no_disassembler() {
  Diagnostic d;
  d.code = "K0716";
  d.headline = "no disassembler for GPU code is on this machine";
  d.body.push_back("`nvdisasm` and `cuobjdump` of the CUDA toolkit can do it; neither was found.");
  d.help.push_back({"look at a stage before", "--stage ptx", false});
  return d;
}

std::string output_of(const std::string& command) {
  std::string text;
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::array<char, 4096> part{};
  while (pipe && fgets(part.data(), part.size(), pipe.get()) != nullptr)
    text += part.data();
  return text;
}

} // namespace

Result<std::string, Diagnostic> sass_from_cubin(const std::string& cubin) {
  const std::filesystem::path place =
      std::filesystem::temp_directory_path() / fmt::format("kawara-{}.cubin", getpid());
  if (auto written = write_file(place.string(), cubin); !written)
    return fail(written.error());
  std::string text;
  for (const char* tool :
       {"nvdisasm -c", "cuobjdump --dump-sass", "/usr/local/cuda/bin/nvdisasm -c",
        "/usr/local/cuda/bin/cuobjdump --dump-sass"})
    if (text.empty())
      text = output_of(fmt::format("{} '{}' 2>/dev/null", tool, place.string()));
  std::error_code ignored;
  std::filesystem::remove(place, ignored);
  if (text.empty())
    return fail(no_disassembler());
  return text;
}

} // namespace kawara::run
