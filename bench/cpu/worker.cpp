#include "cpu/worker.h"

#include "run/file.h"

#include <fmt/core.h>

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace kawara::bench {
namespace {

void set_environment(int64_t threads, const std::string& peer_folder) {
  const std::string count = std::to_string(threads);
  for (const char* name :
       {"KAWARA_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS"})
    setenv(name, count.c_str(), 1);
  setenv("OMP_DYNAMIC", "FALSE", 1);
  if (peer_folder.empty())
    return;
  const char* old = std::getenv("LD_LIBRARY_PATH");
  const std::string path = old == nullptr ? peer_folder : peer_folder + ":" + old;
  setenv("LD_LIBRARY_PATH", path.c_str(), 1);
}

/// The last core that this process may use: the first one serves most interrupts.
void pin_to_one_core() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
    return;
  for (int core = CPU_SETSIZE - 1; core >= 0; --core)
    if (CPU_ISSET(core, &allowed)) {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(core, &one);
      sched_setaffinity(0, sizeof one, &one);
      return;
    }
}

[[noreturn]] void become_worker(std::vector<std::string> arguments, int64_t threads,
                                const std::string& peer_folder) {
  set_environment(threads, peer_folder);
  if (threads == 1)
    pin_to_one_core();
  std::vector<char*> words;
  for (std::string& argument : arguments)
    words.push_back(argument.data());
  words.push_back(nullptr);
  execv("/proc/self/exe", words.data());
  _exit(127);
}

} // namespace

WorkerEnd run_worker(const std::vector<std::string>& arguments, int64_t threads,
                     const std::string& peer_folder) {
  std::string path = (std::filesystem::temp_directory_path() / "kawara-bench-XXXXXX").string();
  const int file = mkstemp(path.data());
  if (file < 0)
    return {"", "no file could be made for its results"};
  close(file);
  std::vector<std::string> words = {"bench_cpu"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  // The last of repeated options counts.
  words.insert(words.end(), {"--worker", std::to_string(threads), "--json", path});
  const pid_t child = fork();
  if (child == 0)
    become_worker(std::move(words), threads, peer_folder);
  int status = -1;
  if (child > 0)
    waitpid(child, &status, 0);
  const auto text = run::read_file(path);
  unlink(path.c_str());
  if (WIFSIGNALED(status))
    return {"", fmt::format("signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)))};
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return {"", fmt::format("status {}", WEXITSTATUS(status))};
  return text ? WorkerEnd{*text, ""} : WorkerEnd{"", "its results cannot be read"};
}

} // namespace kawara::bench
