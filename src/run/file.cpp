#include "run/file.h"

#include "support/text.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <vector>

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

namespace {

/// Files of a folder in the order of the alphabet; none where there are too many to be looked
/// through.
std::vector<std::string> files_in(const std::filesystem::path& folder) {
  constexpr size_t kMost = 10000;
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator at(folder.empty() ? "." : folder, error), end;
  for (; !error && at != end && names.size() < kMost; at.increment(error))
    if (std::error_code ignored; at->is_regular_file(ignored))
      names.push_back(at->path().filename().string());
  std::sort(names.begin(), names.end());
  return names.size() < kMost ? names : std::vector<std::string>();
}

/// By its name, a program or model.
bool can_be_run(const std::string& name) {
  return name.ends_with(".kw") || name.ends_with(".onnx");
}

/// A file beside `path` whose name is nearly that, or is that with an ending; of several, one that
/// can be run.
std::optional<std::string> file_meant(const std::filesystem::path& path) {
  const std::vector<std::string> names = files_in(path.parent_path());
  const std::string name = path.filename().string();
  std::optional<std::string> meant = closest(name, names);
  bool is_runnable = false;
  for (const std::string& each : names)
    if (!name.empty() && std::filesystem::path(each).stem() == name && !is_runnable) {
      meant = each;
      is_runnable = can_be_run(each);
    }
  if (meant)
    return (path.parent_path() / *meant).string();
  return std::nullopt;
}

/// A program or model in the folder.
std::optional<std::string> file_inside(const std::filesystem::path& folder) {
  for (const std::string& name : files_in(folder))
    if (can_be_run(name))
      return (folder / name).string();
  return std::nullopt;
}

} // namespace

Result<std::string, Diagnostic> read_file(const std::string& path) {
  const auto refuse = [&](const std::string& why, const std::string& intro = {},
                          const std::optional<std::string>& meant = {}) {
    Diagnostic d = file_error("K0420", "cannot read `" + path + "`", why, "check the path");
    if (meant)
      d.help = {{intro, *meant, false}};
    return fail(std::move(d));
  };
  if (path.empty())
    return fail(file_error("K0420", "cannot read a file that has no name",
                           "The path is empty: nothing stands after `@`, or between the quotes.",
                           "name a file"));
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    return refuse("It is a folder.", "give a file, for example", file_inside(path));
  const File file(std::fopen(path.c_str(), "rb"));
  if (!file && errno == ENOENT)
    return refuse(reason(ENOENT), "did you mean", file_meant(path));
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
