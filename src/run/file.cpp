#include "run/file.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>

namespace kawara::run {
namespace {

struct Close {
  void operator()(std::FILE* f) const { std::fclose(f); }
};
using File = std::unique_ptr<std::FILE, Close>;

std::string reason(int error) { return std::generic_category().message(error) + "."; }

} // namespace

Diagnostic file_error(std::string code, std::string headline, std::string why, std::string help) {
  Diagnostic d;
  d.code = std::move(code);
  d.headline = std::move(headline);
  d.body = {std::move(why)};
  if (!help.empty())
    d.help = {{std::move(help), "", false}};
  return d;
}

Result<std::string, Diagnostic> read_file(const std::string& path) {
  const auto refuse = [&](const std::string& why) {
    return fail(file_error("K0420", "cannot read `" + path + "`", why, "check the path"));
  };
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    return refuse("It is a folder.");
  const File file(std::fopen(path.c_str(), "rb"));
  if (!file)
    return refuse(reason(errno));
  std::string bytes;
  char buffer[1 << 16];
  while (const size_t count = std::fread(buffer, 1, sizeof buffer, file.get()))
    bytes.append(buffer, count);
  if (std::ferror(file.get()) != 0)
    return refuse(reason(errno));
  return bytes;
}

Result<Done, Diagnostic> write_file(const std::string& path, std::string_view bytes) {
  const auto refuse = [&](int error) {
    return fail(file_error("K0425", "cannot write `" + path + "`", reason(error),
                           "choose a folder that exists and may be written to"));
  };
  File file(std::fopen(path.c_str(), "wb"));
  if (!file)
    return refuse(errno);
  if (std::fwrite(bytes.data(), 1, bytes.size(), file.get()) != bytes.size())
    return refuse(errno);
  // Closing writes what is still buffered, so it can fail like a write.
  if (std::fclose(file.release()) != 0)
    return refuse(errno);
  return Done{};
}

} // namespace kawara::run
