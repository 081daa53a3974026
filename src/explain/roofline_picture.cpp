#include "explain/roofline_picture.h"

#include "explain/page_frame.h"
#include "explain/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace kawara::explain {
namespace {

constexpr double kWide = 640, kHigh = 340, kEdge = 54;

/// Both axes end at powers of ten.
struct Axes {
  double x_low, x_high, y_low, y_high;

  double x(double value) const {
    const double at = (std::log10(value) - x_low) / (x_high - x_low);
    return kEdge + std::clamp(at, 0.0, 1.0) * (kWide - 2 * kEdge);
  }
  double y(double value) const {
    const double at = (std::log10(value) - y_low) / (y_high - y_low);
    return kHigh - kEdge - std::clamp(at, 0.0, 1.0) * (kHigh - 2 * kEdge);
  }
};

std::string grid(const Axes& axes) {
  std::string svg;
  for (double e = axes.x_low; e <= axes.x_high; ++e)
    svg += fmt::format("<line class=\"grid\" x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\"/>"
                       "<text x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\">{4:g}</text>\n",
                       axes.x(std::pow(10, e)), kEdge, kHigh - kEdge, kHigh - kEdge + 16,
                       std::pow(10, e));
  for (double e = axes.y_low; e <= axes.y_high; ++e)
    svg += fmt::format("<line class=\"grid\" x1=\"{1}\" y1=\"{0:.1f}\" x2=\"{2}\" y2=\"{0:.1f}\"/>"
                       "<text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{5}</text>\n",
                       axes.y(std::pow(10, e)), kEdge, kWide - kEdge, kEdge - 5,
                       axes.y(std::pow(10, e)) + 4, amount(std::pow(10, e), ""));
  return svg;
}

std::string line(const Axes& axes, const char* kind, double x1, double y1, double x2, double y2) {
  return fmt::format(
      "<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n", kind,
      axes.x(x1), axes.y(y1), axes.x(x2), axes.y(y2));
}

std::string label(double x, double y, const char* anchor, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     html_text(text));
}

} // namespace

std::string roofline_picture(const Report& report) {
  const double operations = estimate::operations_of(report.prediction.work);
  const LevelReport& memory = report.levels.back();
  const double moved = memory.simulated.value_or(memory.predicted);
  if (operations <= 0 || report.peak <= 0)
    return "";
  const double intensity = operations / std::max(moved, operations * 1e-6);
  const double achieved = operations / std::max(report.prediction.seconds, 1e-30);
  double slowest = memory.bandwidth, fastest = memory.bandwidth;
  for (const LevelReport& level : report.levels) {
    slowest = std::min(slowest, level.bandwidth);
    fastest = std::max(fastest, level.bandwidth);
  }
  const double left = std::min(intensity, report.peak / fastest) / 3;
  const double right = std::max(intensity, report.peak / slowest) * 3;
  const Axes axes{std::floor(std::log10(left)), std::ceil(std::log10(right)),
                  std::floor(std::log10(std::min(achieved, report.peak / 10))),
                  std::ceil(std::log10(report.peak * 1.2))};
  const double end = std::pow(10, axes.x_high);
  std::string svg = fmt::format(
      "<svg role=\"img\" viewBox=\"0 0 {} {}\" width=\"{}\" aria-label=\"{}\">\n", kWide, kHigh,
      kWide,
      html_text(fmt::format("Roofline: {} operations per byte from memory, {} a second of {}",
                            amount(intensity, ""), amount(achieved, ""), amount(report.peak, ""))));
  svg += grid(axes);
  for (const LevelReport& level : report.levels) {
    const double ridge = report.peak / level.bandwidth;
    const double start =
        std::max(std::pow(10, axes.x_low), std::pow(10, axes.y_low) / level.bandwidth);
    svg += line(axes, "roof", start, start * level.bandwidth, ridge, report.peak);
    svg += label(axes.x(start) + 6, axes.y(start * level.bandwidth) - 8, "start",
                 fmt::format("{} {}/s", level.name, amount(level.bandwidth, "B")));
  }
  svg += line(axes, "roof", report.peak / fastest, report.peak, end, report.peak);
  svg += label(kWide - kEdge, axes.y(report.peak) - 6, "end",
               fmt::format("peak {}/s", amount(report.peak, "OP")));
  if (memory.least && *memory.least > 0) {
    // No order comes to the right of this line.
    const double most = operations / *memory.least;
    svg += line(axes, "least", most, std::pow(10, axes.y_low), most, report.peak);
    svg += label(axes.x(most) - 4, axes.y(std::pow(10, axes.y_low)) - 6, "end", "least traffic");
  }
  svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\"/>\n", axes.x(intensity),
                     axes.y(achieved));
  svg += label(kWide / 2, kHigh - 14, "middle", "operations per byte from memory");
  svg += label(kEdge, kEdge - 18, "start", "operations per second");
  return svg + "</svg>\n";
}

} // namespace kawara::explain
