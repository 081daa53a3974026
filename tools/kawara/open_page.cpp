#include "kawara/open_page.h"

#include "support/text.h"

#include <fmt/format.h>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>

extern char** environ;

namespace kawara::tools {
namespace {

constexpr const char* kOpener = "xdg-open";

Diagnostic cannot_open(const std::string& path, const std::string& why) {
  Diagnostic d;
  d.code = "K0474";
  d.headline = "the page is written, but no browser could be asked to show it";
  d.body.push_back(why);
  d.help.push_back({"to look at it, open in a browser", printable(path), false});
  return d;
}

} // namespace

Result<Done, Diagnostic> open_page(const std::string& path) {
  const std::string whole = std::filesystem::absolute(path).string();
  std::string program = kOpener, file = whole;
  std::array<char*, 3> arguments{program.data(), file.data(), nullptr};
  posix_spawn_file_actions_t quiet;
  posix_spawn_file_actions_init(&quiet);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_addopen(&quiet, stream, "/dev/null",
                                     stream == STDIN_FILENO ? O_RDONLY : O_WRONLY, 0);
  pid_t child = 0;
  const int failed = ::posix_spawnp(&child, kOpener, &quiet, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&quiet);
  if (failed != 0)
    return fail(
        cannot_open(path, fmt::format("There is no program `{}` on this machine.", kOpener)));
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return fail(
        cannot_open(path, fmt::format("`{}` found none, or ended with an error.", kOpener)));
  return Done{};
}

std::string passing_page() {
  std::string folder = (std::filesystem::temp_directory_path() / "kawara-report-XXXXXX").string();
  return ::mkdtemp(folder.data()) == nullptr ? "report.html" : folder + "/report.html";
}

} // namespace kawara::tools
