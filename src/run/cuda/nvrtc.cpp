#include "run/cuda/nvrtc.h"

#include "run/file.h"
#include "run/library.h"
#include "support/hash.h"

#include <fmt/format.h>

#include <unistd.h>

namespace kawara::run {
namespace {

using Program = void*;
using Status = int;

std::shared_ptr<Library> open_nvrtc() {
  return Library::open({"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so",
                        "/usr/local/cuda/lib64/libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so.13",
                        "/usr/local/cuda/lib64/libnvrtc.so.12"});
}

Diagnostic no_nvrtc() {
  Diagnostic d;
  d.code = "K0710";
  d.headline = "NVRTC, the compiler for CUDA text, is not on this machine";
  d.body.push_back("It is opened when it is needed (libnvrtc.so.13 or .12), and was not found.");
  d.help.push_back({"install the CUDA toolkit, or look at the text", "--stage cuda", false});
  return d;
}

Diagnostic refused(const std::string& name, const std::string& log) {
  Diagnostic d;
  d.code = "K0711";
  d.headline = "NVRTC does not compile the text of kernel `" + name + "`";
  d.body.push_back(log);
  d.body.push_back("This is a bug in Kawara; please report it with the command and its files.");
  return d;
}

class Nvrtc {
public:
  explicit Nvrtc(std::shared_ptr<Library> library)
      : library_(std::move(library)),
        version(library_->function<Status(int*, int*)>("nvrtcVersion")),
        create(
            library_->function<Status(Program*, const char*, const char*, int, const char* const*,
                                      const char* const*)>("nvrtcCreateProgram")),
        destroy(library_->function<Status(Program*)>("nvrtcDestroyProgram")),
        compile(
            library_->function<Status(Program, int, const char* const*)>("nvrtcCompileProgram")) {}

  /// What the pair of functions `nvrtcGet...Size` and `nvrtcGet...` gives.
  std::string get(Program program, const std::string& what) const {
    const auto size =
        library_->function<Status(Program, size_t*)>(("nvrtcGet" + what + "Size").c_str());
    const auto copy = library_->function<Status(Program, char*)>(("nvrtcGet" + what).c_str());
    size_t bytes = 0;
    if (size == nullptr || copy == nullptr || size(program, &bytes) != 0)
      return "";
    std::string text(bytes, '\0');
    return copy(program, text.data()) == 0 ? text : "";
  }

  bool is_complete() const {
    return version != nullptr && create != nullptr && destroy != nullptr && compile != nullptr;
  }

private:
  std::shared_ptr<Library> library_;

public:
  Status (*version)(int*, int*);
  Status (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*);
  Status (*destroy)(Program*);
  Status (*compile)(Program, int, const char* const*);
};

struct Output {
  std::string code, log;
};

Result<Output, Diagnostic> compiled(const Nvrtc& nvrtc, const std::string& text,
                                    const std::string& name, const std::vector<std::string>& flags,
                                    const std::string& what) {
  Program program = nullptr;
  if (nvrtc.create(&program, text.c_str(), (name + ".cu").c_str(), 0, nullptr, nullptr) != 0)
    return fail(refused(name, "The program could not be created."));
  std::vector<const char*> words;
  for (const std::string& flag : flags)
    words.push_back(flag.c_str());
  const Status status = nvrtc.compile(program, static_cast<int>(words.size()), words.data());
  Output output{status == 0 ? nvrtc.get(program, what) : "", nvrtc.get(program, "ProgramLog")};
  nvrtc.destroy(&program);
  while (!output.log.empty() && (output.log.back() == '\0' || output.log.back() == '\n'))
    output.log.pop_back();
  if (status != 0 || output.code.empty())
    return fail(refused(name, output.log));
  return output;
}

std::vector<std::string> flags_of(const NvrtcOptions& options, const std::string& arch) {
  std::vector<std::string> flags = {"-arch=" + arch, "-std=c++17"};
  flags.insert(flags.end(), options.flags.begin(), options.flags.end());
  return flags;
}

std::filesystem::path cached_at(const Nvrtc& nvrtc, const std::string& text,
                                const std::vector<std::string>& flags,
                                const NvrtcOptions& options) {
  int major = 0, minor = 0;
  nvrtc.version(&major, &minor);
  uint64_t hash = hash_text(text);
  for (const std::string& flag : flags)
    hash = hash_mix(hash, hash_text(flag));
  hash = hash_mix(hash, static_cast<uint64_t>(major * 1000 + minor));
  return options.cache / fmt::format("{:016x}.cubin", hash);
}

/// Written beside and moved into place, so that nobody reads half of it. A cache that cannot be
/// written is no error.
void keep(const std::filesystem::path& path, const std::string& bytes) {
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  const std::string beside = path.string() + "." + std::to_string(getpid());
  if (!error && write_file(beside, bytes))
    std::filesystem::rename(beside, path, error);
}

} // namespace

bool has_nvrtc() {
  const auto library = open_nvrtc();
  return library != nullptr && Nvrtc(library).is_complete();
}

Result<Cubin, Diagnostic> cubin_from_cuda(const std::string& text, const std::string& name,
                                          const NvrtcOptions& options, bool wants_log) {
  const auto library = open_nvrtc();
  if (!library || !Nvrtc(library).is_complete())
    return fail(no_nvrtc());
  const Nvrtc nvrtc(library);
  std::vector<std::string> flags = flags_of(options, options.arch);
  const bool uses_cache = !options.cache.empty() && !wants_log;
  const std::filesystem::path place =
      uses_cache ? cached_at(nvrtc, text, flags, options) : std::filesystem::path();
  if (uses_cache)
    if (auto known = read_file(place.string()); known && !known->empty())
      return Cubin{*std::move(known), "", true};
  if (wants_log)
    flags.emplace_back("--ptxas-options=-v");
  KAWARA_TRY(Output output, compiled(nvrtc, text, name, flags, "CUBIN"));
  if (uses_cache)
    keep(place, output.code);
  return Cubin{std::move(output.code), std::move(output.log), false};
}

Result<std::string, Diagnostic> ptx_from_cuda(const std::string& text, const std::string& name,
                                              const NvrtcOptions& options) {
  const auto library = open_nvrtc();
  if (!library || !Nvrtc(library).is_complete())
    return fail(no_nvrtc());
  std::string arch = options.arch;
  if (arch.starts_with("sm_"))
    arch = "compute_" + arch.substr(3);
  KAWARA_TRY(Output output, compiled(Nvrtc(library), text, name, flags_of(options, arch), "PTX"));
  while (!output.code.empty() && output.code.back() == '\0')
    output.code.pop_back();
  return std::move(output.code);
}

} // namespace kawara::run
