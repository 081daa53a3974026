#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace kawara {

/// What the driver wants to see of a run.
struct TraceOptions {
  std::set<std::string, std::less<>>
      print_after;     ///< stages whose artefact is shown; "all" for every one
  bool verify = false; ///< run the artefact specs
  /// Programs that are compiled together with this one, itself included: what every compilation may
  /// take for checks, they share.
  size_t together = 1;
  /// Receives the text of a shown artefact. Nothing is shown when empty.
  std::function<void(std::string_view stage, const std::string& text)> show;
  /// Receives what a check under `verify` says about itself: how far it went. Not said when empty.
  std::function<void(const std::string& text)> note;
  /// Seconds since any fixed moment; the steady clock when empty.
  std::function<double()> now;
};

/// Time spent in one stage. `depth` counts the stages around it; `seconds` includes inner ones.
struct StageTime {
  std::string name;
  uint32_t depth = 0;
  uint32_t runs = 0;
  double seconds = 0;
};

/// Watches the line at work: times each stage, checks and prints what it made. Made by the driver
/// and passed in, so that two compilations in one process do not meet.
///
///   auto scop = trace.stage("poly", [&] { return scop_from_program(program); });
///   trace.after("poly", [&] { return spec(scop); }, [&] { return print(scop); });
class Trace {
public:
  Trace();
  explicit Trace(TraceOptions options);

  /// Runs `work`, adds its time to stage `name`, returns its result. May be nested.
  template <class Work> auto stage(std::string_view name, Work&& work) {
    const Running running(*this, name);
    return work();
  }

  /// `spec` returns what is broken in the artefact; under `verify`, anything is an InternalError.
  /// `print` gives its text and is called only when this stage is to be shown.
  void after(std::string_view name, const std::function<std::vector<std::string>()>& spec,
             const std::function<std::string()>& print);

  bool is_shown(std::string_view name) const;
  bool is_verifying() const { return options_.verify; }
  size_t together() const { return options_.together; }
  /// What a check says about itself; kept, and passed on.
  void note(const std::string& text);
  const std::vector<std::string>& notes() const { return notes_; }

  /// One more artefact of which a check said this: "proved", "not finished".
  void count(const std::string& outcome) { ++outcomes_[outcome]; }
  const std::map<std::string, size_t>& outcomes() const { return outcomes_; }

  /// Adds the times and outcomes of another run.
  void add(const Trace& other);

  /// In the order in which the stages first began.
  const std::vector<StageTime>& times() const { return times_; }

  /// The table of `--time-passes`: one line per stage, share of the whole, and the sum; then what
  /// checks said, where there were some.
  std::string time_table() const;

private:
  class Running {
  public:
    Running(Trace& trace, std::string_view name);
    ~Running();
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

  private:
    Trace& trace_;
    size_t at_;
    double begin_;
  };

  TraceOptions options_;
  std::vector<StageTime> times_;
  std::vector<std::string> notes_;
  std::map<std::string, size_t> outcomes_;
  uint32_t depth_ = 0;
};

} // namespace kawara
