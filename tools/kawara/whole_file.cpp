#include "kawara/whole_file.h"

#include "run/file.h"

#include <csignal>
#include <filesystem>

namespace kawara::tools {
namespace {

/// While it lives, signals that end the program wait.
class HeldSignals {
public:
  HeldSignals() {
    sigset_t held;
    sigemptyset(&held);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP})
      sigaddset(&held, signal);
    pthread_sigmask(SIG_BLOCK, &held, &before_);
  }
  ~HeldSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

private:
  sigset_t before_;
};

} // namespace

Result<Done, Diagnostic> write_whole(const std::string& path, const std::string& text) {
  const HeldSignals held;
  const std::string part = path + ".part";
  std::error_code ignored, failed;
  if (auto written = run::write_file(part, text); !written) {
    std::filesystem::remove(part, ignored);
    return written;
  }
  std::filesystem::rename(part, path, failed);
  if (!failed)
    return Done{};
  std::filesystem::remove(part, ignored);
  return run::write_file(path, text); // whoever says best why not
}

} // namespace kawara::tools
