#include "peers/sweep.h"

#include "graph/onnx/export.h"
#include "peers/explained.h"
#include "peers/judge.h"
#include "run/npy.h"

#include <fmt/format.h>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace kawara::peers {
namespace {

struct SweepOptions {
  std::string ort, keep, family;
  uint64_t from = 1, to = 200; ///< both are run
  int64_t jobs = 1, exact_every = 8;
  bool is_verbose = false;
};

constexpr uint64_t kBatch = 50;        ///< seeds that one process runs
constexpr unsigned kMostSeconds = 180; ///< for one seed

/// What a child tells about a seed, one line each: `begin N`, `peer OP(TYPES)`, `kawara`, `end
/// OUTCOME NAMES TEXT`.
void say(int to, const std::string& line) {
  const std::string whole = line + "\n";
  for (size_t at = 0; at < whole.size();) {
    const ssize_t wrote = write(to, whole.data() + at, whole.size() - at);
    if (wrote <= 0)
      _exit(3);
    at += static_cast<size_t>(wrote);
  }
}

std::string one_line(std::string text) {
  for (char& c : text)
    if (c == '\n' || c == '\t')
      c = ' ';
  return text;
}

void write_sample(const Sample& sample, const std::string& stem) {
  if (!graph::write_onnx(sample.graph, stem + ".onnx"))
    fmt::print("cannot write {}.onnx\n", stem);
  for (size_t k = 0; k < sample.inputs.size(); ++k)
    if (!run::write_npy_tensor(fmt::format("{}_{}.npy", stem, k), sample.inputs[k].tensor))
      fmt::print("cannot write {}_{}.npy\n", stem, k);
}

void run_seed(uint64_t seed, const Peer& peer, const SweepOptions& options, int to) {
  say(to, fmt::format("begin\t{}", seed));
  alarm(kMostSeconds);
  Sample sample;
  Verdict verdict;
  try {
    Maker maker(seed, peer);
    sample = maker.make(options.family);
    for (const auto& [what, times] : sample.refused)
      say(to, fmt::format("refused\t{}\t{}", times, one_line(what)));
    if (sample.graph.nodes.empty()) {
      say(to, "end\tempty\t\t");
      return;
    }
    say(to, "kawara");
    if (!options.keep.empty())
      write_sample(sample, fmt::format("{}/running_{}", options.keep, seed));
    const bool is_exact =
        options.exact_every > 0 && seed % static_cast<uint64_t>(options.exact_every) == 0;
    verdict =
        judged(sample, peer, is_exact ? program::Numerics::Exact : program::Numerics::Rounding);
  } catch (const std::exception& error) {
    verdict = {Outcome::Wrong, {}, std::string("throws: ") + error.what()};
  }
  alarm(0);
  static constexpr const char* kOutcomes[] = {"equal", "explained", "ort", "refused", "wrong"};
  std::string names;
  for (const std::string& name : verdict.names)
    names += (names.empty() ? "" : ",") + name;
  say(to, fmt::format("end\t{}\t{}\t{}", kOutcomes[static_cast<int>(verdict.outcome)], names,
                      one_line(verdict.text)));
  if (options.keep.empty())
    return;
  const std::string running = fmt::format("running_{}", seed);
  const bool is_kept = verdict.outcome == Outcome::Wrong || verdict.outcome == Outcome::Refused;
  for (const auto& file : std::filesystem::directory_iterator(options.keep)) {
    const std::string name = file.path().filename();
    if (name.rfind(running + ".", 0) != 0 && name.rfind(running + "_", 0) != 0)
      continue;
    if (is_kept)
      std::filesystem::rename(file.path(), options.keep + "/seed" + name.substr(7));
    else
      std::filesystem::remove(file.path());
  }
}

/// A process and the seeds that it still has to run.
struct Child {
  pid_t pid = 0;
  int from = -1;
  uint64_t next = 0, end = 0; ///< the seed that runs, or runs next; one past the last
  bool is_in_kawara = false;
  std::string text; ///< read, but no whole line yet
};

struct Totals {
  uint64_t seeds = 0, equal = 0, explained_seeds = 0, empty = 0, wrong = 0, peer_refused = 0,
           peer_crashes = 0;
  std::map<std::string, int64_t> explained, refused, refused_text, refused_nodes;
};

class Sweep {
public:
  explicit Sweep(const SweepOptions& options) : options_(options), next_(options.from) {}

  int run() {
    while (true) {
      while (static_cast<int64_t>(children_.size()) < options_.jobs && next_ <= options_.to) {
        const uint64_t end = std::min(next_ + kBatch, options_.to + 1);
        start(next_, end);
        next_ = end;
      }
      if (children_.empty())
        break;
      wait();
    }
    print();
    return totals_.wrong > 0 ? 1 : 0;
  }

private:
  void start(uint64_t begin, uint64_t end) {
    int ends[2];
    if (pipe(ends) != 0)
      std::exit(2);
    std::fflush(stdout);
    const pid_t pid = fork();
    if (pid == 0) {
      close(ends[0]);
      const auto peer = Peer::open(options_.ort);
      for (uint64_t seed = begin; seed < end; ++seed)
        run_seed(seed, *peer, options_, ends[1]);
      std::fflush(stdout);
      _exit(0);
    }
    close(ends[1]);
    children_.push_back({pid, ends[0], begin, end, false, ""});
  }

  void wait() {
    std::vector<pollfd> polls;
    for (const Child& child : children_)
      polls.push_back({child.from, POLLIN, 0});
    if (poll(polls.data(), polls.size(), -1) <= 0)
      return;
    for (size_t k = polls.size(); k-- > 0;) {
      if (polls[k].revents == 0)
        continue;
      char buffer[4096];
      const ssize_t got = read(polls[k].fd, buffer, sizeof buffer);
      if (got > 0)
        take(children_[k], std::string(buffer, static_cast<size_t>(got)));
      else
        finish(k);
    }
  }

  void take(Child& child, const std::string& more) {
    child.text += more;
    for (size_t at = child.text.find('\n'); at != std::string::npos; at = child.text.find('\n')) {
      const std::string line = child.text.substr(0, at);
      child.text.erase(0, at + 1);
      std::vector<std::string> words;
      for (size_t from = 0; from <= line.size();) {
        const size_t to = std::min(line.find('\t', from), line.size());
        words.push_back(line.substr(from, to - from));
        from = to + 1;
      }
      take_line(child, words);
    }
  }

  void take_line(Child& child, const std::vector<std::string>& words) {
    if (words[0] == "begin") {
      child.next = std::stoull(words[1]);
      child.is_in_kawara = false;
    } else if (words[0] == "kawara") {
      child.is_in_kawara = true;
    } else if (words[0] == "refused") {
      totals_.refused_nodes[words[2]] += std::stoll(words[1]);
    } else if (words[0] == "end") {
      count(child.next, words[1], words[2], words[3]);
      child.next += 1;
    }
  }

  void count(uint64_t seed, const std::string& outcome, const std::string& names,
             const std::string& text) {
    ++totals_.seeds;
    if (outcome == "equal")
      ++totals_.equal;
    else if (outcome == "empty")
      ++totals_.empty;
    else if (outcome == "ort")
      ++totals_.peer_refused;
    else if (outcome == "explained")
      count_explained(names);
    else if (outcome == "refused")
      ++totals_.refused[names];
    else
      ++totals_.wrong;
    if (outcome == "wrong" || outcome == "refused" || (options_.is_verbose && outcome != "equal"))
      fmt::print("seed {}: {} {}: {}\n", seed, outcome, names, text);
    std::fflush(stdout);
  }

  /// A seed may have several reasons; it counts for each of them.
  void count_explained(const std::string& names) {
    ++totals_.explained_seeds;
    for (size_t from = 0; from <= names.size();) {
      const size_t to = std::min(names.find(',', from), names.size());
      ++totals_.explained[names.substr(from, to - from)];
      from = to + 1;
    }
  }

  /// A process that died is charged to its seed; another one goes on behind that.
  void finish(size_t k) {
    const Child child = children_[k];
    children_.erase(children_.begin() + static_cast<int64_t>(k));
    close(child.from);
    int status = 0;
    waitpid(child.pid, &status, 0);
    if (child.next >= child.end)
      return;
    const std::string how = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM
                                ? fmt::format("takes longer than {} s", kMostSeconds)
                            : WIFSIGNALED(status) ? strsignal(WTERMSIG(status))
                                                  : "ends";
    ++totals_.seeds;
    if (child.is_in_kawara)
      ++totals_.wrong;
    else
      ++totals_.peer_crashes;
    fmt::print("seed {}: {}: {}\n", child.next,
               child.is_in_kawara ? "wrong" : "ONNX Runtime dies while the graph is made", how);
    if (child.next + 1 < child.end)
      start(child.next + 1, child.end);
  }

  void print() const {
    if (options_.is_verbose)
      for (const auto& [what, times] : totals_.refused_nodes)
        fmt::print("ONNX Runtime refuses ({}): {}\n", times, what);
    int64_t refused = 0, nodes = 0;
    for (const auto& [name, times] : totals_.refused)
      refused += times;
    for (const auto& [name, times] : totals_.refused_nodes)
      nodes += times;
    fmt::print("{} seeds: {} equal, {} explained, {} refused by Kawara, {} wrong; {} without "
               "nodes, {} refused "
               "by ONNX Runtime as a whole ({} nodes left out), it died in {}\n",
               totals_.seeds, totals_.equal, totals_.explained_seeds, refused, totals_.wrong,
               totals_.empty, totals_.peer_refused, nodes, totals_.peer_crashes);
    for (const auto& [name, times] : totals_.explained)
      fmt::print("explained {:>6}  {}: {}\n", times, name, reason_of(name));
    for (const auto& [code, times] : totals_.refused)
      fmt::print("refused   {:>6}  {}\n", times, code);
  }

  SweepOptions options_;
  uint64_t next_;
  std::vector<Child> children_;
  Totals totals_;
};

int usage() {
  fmt::print(
      "usage: against_ort --ort FOLDER [--seeds A..B] [--jobs N] [--keep FOLDER] [--family NAME] "
      "[--exact N] [--verbose]\n");
  return 2;
}

} // namespace

int against_ort_program(int count, char** words) {
  SweepOptions options;
  for (int k = 1; k < count; ++k) {
    const std::string word = words[k];
    if (word == "--verbose") {
      options.is_verbose = true;
      continue;
    }
    if (k + 1 >= count)
      return usage();
    const std::string value = words[++k];
    if (word == "--ort") {
      options.ort = value;
    } else if (word == "--seeds") {
      const size_t dots = value.find("..");
      options.from = std::stoull(value);
      options.to = dots == std::string::npos ? options.from : std::stoull(value.substr(dots + 2));
    } else if (word == "--jobs") {
      options.jobs = std::stoll(value);
    } else if (word == "--exact") {
      options.exact_every = std::stoll(value);
    } else if (word == "--keep") {
      options.keep = value;
    } else if (word == "--family") {
      options.family = value;
    } else {
      return usage();
    }
  }
  if (!std::filesystem::exists(options.ort + "/libonnxruntime.so.1")) {
    fmt::print(
        "skipped: there is no libonnxruntime.so.1 in `{}`; tools/fetch_onnxruntime.sh gets it\n",
        options.ort);
    return 77;
  }
  if (!options.keep.empty())
    std::filesystem::create_directories(options.keep);
  // Processes run side by side already.
  setenv("KAWARA_THREADS", "1", 0);
  return Sweep(options).run();
}

} // namespace kawara::peers
