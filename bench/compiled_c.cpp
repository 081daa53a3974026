#include "compiled_c.h"

#include "emit/c/c_from_kernel.h"
#include "run/file.h"
#include "support/check.h"
#include "support/text.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace kawara::bench {

namespace fs = std::filesystem;

struct CLibrary::Impl {
  fs::path folder;
  void* handle = nullptr;
  std::string warnings;

  Impl() {
    std::string name = (fs::temp_directory_path() / "kawara-c-XXXXXX").string();
    KAWARA_CHECK(mkdtemp(name.data()) != nullptr, "no folder for compiled C");
    folder = name;
  }
  ~Impl() {
    if (handle != nullptr)
      dlclose(handle);
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
};

namespace {

std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word)
    text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

bool succeeds(const std::string& command) { return std::system(command.c_str()) == 0; }

bool accepts(const std::string& compiler, const std::string& flag) {
  return succeeds(compiler + " " + flag + " -x c -fsyntax-only /dev/null >/dev/null 2>&1");
}

/// A function of one shape for all kernels, so that they can be called without knowing theirs.
std::string entry_text(const CFunction& function, const std::string& callee) {
  const emit::Signature signature = emit::signature_of(function.kernel);
  std::vector<std::string> parts;
  for (size_t p = 0; p < signature.params.size(); ++p)
    parts.push_back("params[" + std::to_string(p) + "]");
  for (size_t a = 0; a < signature.arguments.size(); ++a)
    parts.push_back("arguments[" + std::to_string(a) + "]");
  const std::string prototype =
      "void " + function.name + "(void* const* arguments, const int64_t* params)";
  return "\n" + prototype + ";\n" + prototype + " {\n  (void)arguments;\n  (void)params;\n  " +
         callee + "(" + join(parts, ", ") + ");\n}\n";
}

} // namespace

CCompiler best_c_compiler() {
  for (const char* name : {"clang-20", "clang-19", "clang-18", "clang-17", "clang", "cc"}) {
    if (!succeeds(std::string("command -v ") + name + " >/dev/null 2>&1"))
      continue;
    for (const char* flag : {"-march=native", "-mcpu=native"})
      if (accepts(name, flag))
        return {name, {"-O3", flag}};
    return {name, {"-O3"}};
  }
  return {"cc", {"-O3"}};
}

CLibrary::CLibrary(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CLibrary::CLibrary(CLibrary&&) noexcept = default;
CLibrary& CLibrary::operator=(CLibrary&&) noexcept = default;
CLibrary::~CLibrary() = default;

CLibrary::Function CLibrary::function(const std::string& name) const {
  void* symbol = dlsym(impl_->handle, name.c_str());
  KAWARA_CHECK(symbol != nullptr, "no compiled function `" + name + "`");
  return reinterpret_cast<Function>(symbol);
}

const std::string& CLibrary::warnings() const { return impl_->warnings; }

Result<CLibrary, std::string> load_c(const std::vector<CFunction>& functions,
                                     const CCompiler& compiler) {
  auto impl = std::make_unique<CLibrary::Impl>();
  const std::string library = (impl->folder / "library.so").string();
  const std::string log = (impl->folder / "log").string();
  std::string command = compiler.command;
  for (const std::string& flag : compiler.flags)
    command += " " + quoted(flag);
  command += " -std=c11 -shared -fPIC -o " + quoted(library);
  for (const CFunction& function : functions) {
    const std::string callee = "kw_" + function.name;
    const emit::CUnit unit = emit::c_from_kernel(function.kernel, {function.is_naive, callee});
    const std::string path = (impl->folder / (function.name + ".c")).string();
    const auto written = run::write_file(path, unit.text + entry_text(function, unit.function));
    if (!written)
      return fail(render(written.error()));
    command += " " + quoted(path);
  }
  const bool is_compiled = succeeds(command + " -lm >" + quoted(log) + " 2>&1");
  auto said = run::read_file(log);
  impl->warnings = said ? *std::move(said) : "";
  if (!is_compiled)
    return fail(impl->warnings);
  // Never unloaded: threads of an OpenMP runtime that came with it may still be in its code.
  impl->handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (impl->handle == nullptr)
    return fail(std::string(dlerror()));
  return CLibrary(std::move(impl));
}

} // namespace kawara::bench
