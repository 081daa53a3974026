#include "tune/tuner/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace kawara::tune {
namespace {

constexpr double kWidth = 860, kHeight = 460, kLeft = 70, kRight = 190, kTop = 50, kBottom = 60;
constexpr std::array<std::string_view, 8> kColours{"#3b6fb6", "#c2571a", "#3c8d4f", "#8a4fa3",
                                                   "#a8862b", "#2f9d9d", "#b23a6b", "#6b6b6b"};

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text)
    out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

/// "levels 2" and "levels" have one colour.
std::string family_of(const Trial& trial) {
  std::string name = trial.strategy.substr(trial.strategy.find(": ") + 2);
  while (!name.empty() &&
         (std::isdigit(static_cast<unsigned char>(name.back())) != 0 || name.back() == ' '))
    name.pop_back();
  return name;
}

class Picture {
public:
  Picture(const TuneReport& report, const std::string& title) : report_(report), title_(title) {
    for (const Trial& trial : report.trials) {
      if (trial.outcome == Outcome::Measured) {
        lowest_ = std::min(lowest_, trial.ratio);
        highest_ = std::max(highest_, std::min(trial.ratio, 8.0));
      }
      if (std::find(families_.begin(), families_.end(), family_of(trial)) == families_.end())
        families_.push_back(family_of(trial));
    }
    lowest_ *= 0.95;
    highest_ *= 1.05;
  }

  std::string svg() {
    text_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} "
        "{1}\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"{0}\" "
        "height=\"{1}\" fill=\"white\"/>\n<text x=\"{2}\" y=\"24\" font-size=\"15\">{3}</text>\n",
        kWidth, kHeight, kLeft, escaped(title_));
    axes();
    dots();
    curve();
    legend();
    return std::move(text_) + "</svg>\n";
  }

private:
  double x(size_t trial) const {
    const double last = std::max<double>(1, static_cast<double>(report_.trials.size()));
    return kLeft + (static_cast<double>(trial) + 0.5) / last * (kWidth - kLeft - kRight);
  }
  double y(double ratio) const {
    const double at = (std::log(std::clamp(ratio, lowest_, highest_)) - std::log(lowest_)) /
                      (std::log(highest_) - std::log(lowest_));
    return kTop + (1 - at) * (kHeight - kTop - kBottom);
  }

  void axes() {
    for (const double tick : {0.1, 0.2, 0.3, 0.5, 0.7, 0.85, 1.0, 1.2, 1.5, 2.0, 3.0, 5.0, 8.0})
      if (tick >= lowest_ && tick <= highest_)
        text_ +=
            fmt::format("<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"{3}\"/>"
                        "<text x=\"{4}\" y=\"{5:.1f}\" text-anchor=\"end\">{6:g}</text>\n",
                        kLeft, kWidth - kRight, y(tick), tick == 1.0 ? "#444" : "#ddd", kLeft - 6,
                        y(tick) + 4, tick);
    text_ += fmt::format(
        "<text x=\"{}\" y=\"{}\">candidates, in the order they were tried ({})</text>\n"
        "<text x=\"16\" y=\"{}\" transform=\"rotate(-90 16 {})\">time / time of the "
        "default</text>\n",
        kLeft, kHeight - 20, report_.trials.size(), kHeight - kBottom - 60, kHeight - kBottom - 60);
  }

  void dots() {
    for (size_t k = 0; k < report_.trials.size(); ++k) {
      const Trial& trial = report_.trials[k];
      const std::string colour = colour_of(family_of(trial));
      if (trial.outcome == Outcome::Measured)
        text_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\" "
                             "fill-opacity=\"0.7\"><title>{:.3f}: {}</title></circle>\n",
                             x(k), y(trial.ratio), colour, trial.ratio, escaped(trial.directives));
      else
        text_ += fmt::format("<text x=\"{:.1f}\" y=\"{}\" fill=\"{}\" text-anchor=\"middle\">x"
                             "<title>{} {}: {}</title></text>\n",
                             x(k), kTop + 2, colour, name_of(trial.outcome), escaped(trial.reason),
                             escaped(trial.directives));
    }
  }

  void curve() {
    double best = 1;
    std::string path = fmt::format("M{:.1f} {:.1f}", x(0), y(best));
    for (size_t k = 0; k < report_.trials.size(); ++k) {
      path += fmt::format(" H{:.1f}", x(k));
      if (report_.trials[k].outcome == Outcome::Measured && report_.trials[k].ratio < best) {
        best = report_.trials[k].ratio;
        path += fmt::format(" V{:.1f}", y(best));
      }
    }
    text_ += "<path d=\"" + path + "\" fill=\"none\" stroke=\"#111\" stroke-width=\"1.5\"/>\n";
  }

  void legend() {
    double at = kTop + 10;
    for (const std::string& family : families_) {
      text_ += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"4\" fill=\"{}\"/>"
                           "<text x=\"{}\" y=\"{}\">{}</text>\n",
                           kWidth - kRight + 20, at - 4, colour_of(family), kWidth - kRight + 30,
                           at, escaped(family));
      at += 18;
    }
    text_ += fmt::format("<text x=\"{0}\" y=\"{1}\">line: fastest so far</text>"
                         "<text x=\"{0}\" y=\"{2}\">x: lost</text>\n",
                         kWidth - kRight + 14, at + 8, at + 26);
  }

  std::string colour_of(const std::string& family) const {
    const auto at = std::find(families_.begin(), families_.end(), family) - families_.begin();
    return std::string(kColours[static_cast<size_t>(at) % kColours.size()]);
  }

  const TuneReport& report_;
  const std::string& title_;
  double lowest_ = 0.95, highest_ = 1.05;
  std::vector<std::string> families_;
  std::string text_;
};

} // namespace

std::string search_svg(const TuneReport& report, const std::string& title) {
  return Picture(report, title).svg();
}

} // namespace kawara::tune
