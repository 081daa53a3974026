#include "corpus/corpus.h"

#include "driver/pipeline.h"
#include "driver/target_choice.h"
#include "kernel/from_schedule/from_schedule.h"
#include "run/file.h"
#include "support/check.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <set>

namespace kawara::corpus {
namespace {

namespace fs = std::filesystem;

const std::string kRoot = KAWARA_SOURCE;
const std::string kGpu = "cuda:sm_90a";

std::string read(const std::string& path) {
  auto text = run::read_file(path);
  KAWARA_CHECK(static_cast<bool>(text), path);
  return *std::move(text);
}

std::vector<std::string> files_in(const std::string& folder, const std::string& ending) {
  std::vector<std::string> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(kRoot + "/" + folder))
    if (entry.path().extension() == ending)
      found.push_back(entry.path().stem().string());
  std::sort(found.begin(), found.end());
  return found;
}

/// Small sizes that no tile divides, by position.
std::map<std::string, int64_t> odd_sizes(const std::string& text) {
  const auto program = program::parse(make_source("sizes.kw", text));
  KAWARA_CHECK(static_cast<bool>(program), text);
  const std::vector<int64_t> few = {19, 35, 21}, many = {2, 5, 7, 9, 5, 3, 2, 3};
  std::map<std::string, int64_t> sizes;
  for (size_t p = 0; p < program->params.size(); ++p)
    sizes[program->params[p].name] =
        program->params.size() <= few.size() ? few[p] : many[p % many.size()];
  return sizes;
}

/// Words of a command line in a story; quotes group.
std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words(1);
  char quote = 0;
  for (const char c : line) {
    if (quote != 0 ? c == quote : c == '\'' || c == '"')
      quote = quote != 0 ? 0 : c;
    else if (c == ' ' && quote == 0)
      words.emplace_back();
    else
      words.back() += c;
  }
  return words;
}

struct StoryFile {
  std::map<std::string, std::string> inputs;
  std::string first;
  std::vector<std::string> commands;
};

StoryFile story_of(const std::string& text) {
  StoryFile story;
  std::string* input = nullptr;
  bool is_output = false;
  size_t begin = 0;
  while (begin < text.size()) {
    size_t end = text.find('\n', begin);
    end = end == std::string::npos ? text.size() : end;
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    if (line.rfind("--- ", 0) == 0) {
      const std::vector<std::string> words = words_of(line);
      if (story.first.empty())
        story.first = words[1];
      input = &story.inputs[words[1]];
      is_output = false;
      if (words.size() > 3)
        *input = read(kRoot + "/" + words[3]);
    } else if (line.rfind("$ ", 0) == 0) {
      story.commands.push_back(line.substr(2));
      input = nullptr;
    } else if (line == "-----") {
      is_output = true;
      input = nullptr;
    } else if (input != nullptr && !is_output)
      *input += line + "\n";
  }
  return story;
}

/// What a command compiles; nothing where it compiles nothing.
std::optional<Subject> subject_of(const StoryFile& story, const std::string& command) {
  const std::vector<std::string> words = words_of(command);
  if (words.size() < 3 || words[0] != "kawara")
    return std::nullopt;
  Subject subject;
  subject.target = "cpu:neoverse-n1";
  for (size_t w = 2; w < words.size(); ++w) {
    const std::string& file = words[w] == "{file}" ? story.first : words[w];
    const bool has_value = w + 1 < words.size();
    if (const auto found = story.inputs.find(file);
        found != story.inputs.end() && file.ends_with(".kw") && subject.text.empty())
      subject.text = found->second;
    else if (words[w] == "-s" && has_value) {
      const std::string& given = words[++w];
      const auto in_file = story.inputs.find(given.substr(given.rfind('@', 0) == 0 ? 1 : 0));
      subject.directives = in_file != story.inputs.end() ? in_file->second : given;
    } else if (words[w] == "--target" && has_value)
      subject.target = words[++w];
    else if (words[w] == "-p" && has_value) {
      const std::string& given = words[++w];
      for (size_t at = 0; at < given.size();) {
        const size_t equals = given.find('=', at),
                     end = std::min(given.find(',', at), given.size());
        if (equals == std::string::npos)
          return std::nullopt;
        subject.sizes[given.substr(at, equals - at)] = std::atoll(given.c_str() + equals + 1);
        at = end + 1;
      }
    }
  }
  if (subject.text.empty() || subject.target.find(':') == std::string::npos)
    return std::nullopt;
  return subject;
}

} // namespace

std::vector<Subject> examples() {
  std::vector<Subject> subjects;
  for (const std::string folder : {"examples", "examples/polybench"})
    for (const std::string& stem : files_in(folder, ".kw")) {
      const std::string name = folder + "/" + stem;
      const std::string text = read(kRoot + "/" + name + ".kw");
      subjects.push_back({name, text, "", "cpu:neoverse-n1"});
      for (const char* cpu : {"cpu:neoverse-v1", "cpu:sapphirerapids", "cpu:haswell"})
        subjects.push_back({name + " auto " + cpu, text, "auto", cpu});
      const auto sizes = odd_sizes(text);
      subjects.push_back({name + " auto fixed", text, "auto", "cpu:neoverse-v1", sizes});
      subjects.push_back({name + " auto " + kGpu, text, "auto", kGpu, sizes});
    }
  return subjects;
}

std::vector<Subject> schedules() {
  std::vector<Subject> subjects;
  const std::vector<std::string> programs = files_in("examples", ".kw");
  for (const std::string& stem : files_in("examples/schedules", ".sched")) {
    std::string program; // the longest name that the schedule's begins with
    for (const std::string& name : programs)
      if ((stem == name || stem.rfind(name + "_", 0) == 0) && name.size() > program.size())
        program = name;
    const std::string text = read(kRoot + "/examples/" + program + ".kw");
    const std::string directives = read(kRoot + "/examples/schedules/" + stem + ".sched");
    for (const char* cpu : {"cpu:neoverse-v1", "cpu:sapphirerapids"})
      subjects.push_back({"schedules/" + stem + " " + cpu, text, directives, cpu});
    subjects.push_back(
        {"schedules/" + stem + " fixed", text, directives, "cpu:neoverse-v1", odd_sizes(text)});
  }
  return subjects;
}

std::vector<Subject> stories() {
  std::vector<Subject> subjects;
  std::set<std::vector<std::string>> seen;
  for (const char* folder : {"directives", "emit", "kernel", "poly", "program", "run", "schedule"})
    for (const std::string& stem : files_in(std::string("tests/golden/") + folder, ".kwt")) {
      const std::string name = std::string(folder) + "/" + stem;
      const StoryFile story = story_of(read(kRoot + "/tests/golden/" + name + ".kwt"));
      for (size_t c = 0; c < story.commands.size(); ++c) {
        auto subject = subject_of(story, story.commands[c]);
        if (!subject)
          continue;
        std::vector<std::string> key = {subject->text, subject->directives, subject->target};
        for (const auto& [size, value] : subject->sizes)
          key.push_back(size + "=" + std::to_string(value));
        if (!seen.insert(key).second)
          continue;
        subject->name = name + " command " + std::to_string(c + 1);
        subjects.push_back(*std::move(subject));
      }
    }
  return subjects;
}

std::vector<Subject> all() {
  std::vector<Subject> subjects = examples();
  for (auto* part : {&schedules, &stories, &suites, &nets})
    for (Subject& subject : part())
      subjects.push_back(std::move(subject));
  return subjects;
}

std::optional<Made> made(const Subject& subject) {
  auto environment = driver::environment_for(subject.target);
  KAWARA_CHECK(static_cast<bool>(environment), subject.target);
  driver::Request request;
  request.text = make_source("subject.kw", subject.text);
  if (!subject.directives.empty())
    request.directives = make_source("subject.sched", subject.directives);
  request.sizes = subject.sizes;
  Trace trace;
  auto front = driver::schedule(request, *environment, trace);
  if (!front)
    return std::nullopt;
  kernel::Kernel loops = driver::kernel_of(*front, *environment, trace);
  return Made{std::move(front->program), *std::move(environment), std::move(front->schedule),
              std::move(loops)};
}

kernel::Kernel finished(const Made& made, const kernel::PassOptions& options) {
  return made.environment.gpu ? kernel::optimise_for_gpu(made.loops, *made.environment.gpu, options)
                              : kernel::optimise(made.loops, made.environment.cpu, options);
}

} // namespace kawara::corpus
