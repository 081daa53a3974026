#include "estimate/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace kawara::estimate {
namespace {

std::string rate(double per_second, const std::string& unit) {
  const auto [scale, prefix] = per_second >= 1e12  ? std::pair(1e-12, "T")
                               : per_second >= 1e9 ? std::pair(1e-9, "G")
                                                   : std::pair(1e-6, "M");
  return fmt::format("{:.3g} {}{}", per_second * scale, prefix, unit);
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text)
    result += c == '<'   ? std::string("&lt;")
              : c == '>' ? std::string("&gt;")
              : c == '&' ? std::string("&amp;")
                         : std::string(1, c);
  return result;
}

constexpr double kWidth = 720, kHeight = 460, kLeft = 80, kRight = 30, kTop = 40, kBottom = 60;

/// From numbers to places in the picture; both axes are logarithmic and end at powers of ten.
struct Axes {
  double x_low, x_high, y_low, y_high; ///< exponents of ten

  double x(double value) const {
    const double at = (std::log10(value) - x_low) / (x_high - x_low);
    return kLeft + std::clamp(at, 0.0, 1.0) * (kWidth - kLeft - kRight);
  }
  double y(double value) const {
    const double at = (std::log10(value) - y_low) / (y_high - y_low);
    return kHeight - kBottom - std::clamp(at, 0.0, 1.0) * (kHeight - kTop - kBottom);
  }
};

Axes axes_for(const Roof& roof, const std::vector<RooflinePoint>& points) {
  const double ridge = roof.peak_flops / roof.bandwidth_bytes;
  double x_min = ridge / 10, x_max = ridge * 10, y_min = roof.peak_flops / 100;
  for (const RooflinePoint& point : points) {
    const RooflinePlace at = place(roof, point);
    if (!(at.intensity > 0) || !std::isfinite(at.intensity) || !(at.achieved > 0))
      continue;
    x_min = std::min(x_min, at.intensity);
    x_max = std::max(x_max, at.intensity);
    y_min = std::min(y_min, at.achieved);
  }
  return {std::floor(std::log10(x_min)), std::ceil(std::log10(x_max)),
          std::floor(std::log10(y_min)), std::ceil(std::log10(roof.peak_flops * 1.5))};
}

std::string grid(const Axes& axes) {
  std::string svg;
  for (double e = axes.x_low; e <= axes.x_high; ++e) {
    const double x = axes.x(std::pow(10, e));
    svg += fmt::format("<line class='grid' x1='{0:.1f}' y1='{1}' x2='{0:.1f}' y2='{2}'/>"
                       "<text x='{0:.1f}' y='{3}' text-anchor='middle'>{4:g}</text>\n",
                       x, kTop, kHeight - kBottom, kHeight - kBottom + 18, std::pow(10, e));
  }
  for (double e = axes.y_low; e <= axes.y_high; ++e) {
    const double y = axes.y(std::pow(10, e));
    svg += fmt::format("<line class='grid' x1='{1}' y1='{0:.1f}' x2='{2}' y2='{0:.1f}'/>"
                       "<text x='{3}' y='{4:.1f}' text-anchor='end'>{5:g}</text>\n",
                       y, kLeft, kWidth - kRight, kLeft - 6, y + 4, std::pow(10, e - 9));
  }
  return svg;
}

std::string drawn(const Axes& axes, const Roof& roof, const RooflinePoint& point) {
  const RooflinePlace at = place(roof, point);
  if (!(at.intensity > 0) || !(at.achieved > 0))
    return "";
  const double x = axes.x(std::isfinite(at.intensity) ? at.intensity : 1e300);
  const double y = axes.y(at.achieved);
  const bool is_right = x > kWidth * 0.65;
  return fmt::format("<line class='gap' x1='{0:.1f}' y1='{1:.1f}' x2='{0:.1f}' y2='{2:.1f}'/>"
                     "<circle cx='{0:.1f}' cy='{1:.1f}' r='5'/>"
                     "<text x='{3:.1f}' y='{4:.1f}' text-anchor='{5}'>{6}: {7}, {8:.0f} %</text>\n",
                     x, y, axes.y(at.attainable), is_right ? x - 9 : x + 9, y + 4,
                     is_right ? "end" : "start", escaped(point.label),
                     rate(at.achieved, std::string(roof.unit) + "/s"), at.share * 100);
}

} // namespace

Roof roof_over(const Work& work, const Machine& machine, int64_t threads) {
  const auto used = static_cast<double>(threads);
  double seconds = 0;
  for (const auto& [elem, count] : work.types)
    seconds += count / rate_with(peak_for(machine, elem).flops, used);
  const double peak = seconds > 0 ? operations_of(work) / seconds
                                  : rate_with(peak_for(machine, scalar::Elem::F32).flops, used);
  const auto level =
      std::find_if(machine.levels.begin(), machine.levels.end() - 1, [&](const Level& each) {
        return static_cast<double>(each.bytes) >= work.compulsory_bytes;
      });
  return {peak, rate_with(level->triad, used), unit_of(work), level->name};
}

RooflinePlace place(const Roof& roof, const RooflinePoint& point) {
  RooflinePlace at;
  at.intensity =
      point.bytes > 0 ? point.flops / point.bytes : std::numeric_limits<double>::infinity();
  at.achieved = point.seconds > 0 ? point.flops / point.seconds : 0;
  at.attainable = std::min(roof.peak_flops, roof.bandwidth_bytes * at.intensity);
  const double compute = roof.peak_flops > 0 ? point.flops / roof.peak_flops : 0;
  const double memory = roof.bandwidth_bytes > 0 ? point.bytes / roof.bandwidth_bytes : 0;
  at.is_memory_bound = memory > compute;
  at.share = point.seconds > 0 ? std::max(compute, memory) / point.seconds : 0;
  return at;
}

namespace {

/// A little is not nothing.
std::string percent(double share) {
  return share > 0 && share < 0.01 ? fmt::format("{:.1g}", share * 100)
                                   : fmt::format("{:.0f}", share * 100);
}

} // namespace

std::string describe(const Roof& roof, const RooflinePoint& point) {
  const RooflinePlace at = place(roof, point);
  const std::string unit = std::string(roof.unit) + "/s";
  const std::string intensity = std::isfinite(at.intensity)
                                    ? fmt::format("{:.3g} {}/byte", at.intensity, roof.unit)
                                    : std::string("no compulsory traffic");
  return fmt::format(
      "{}: {} of {} attainable ({} %), {}\n{}\n", point.label, rate(at.achieved, unit),
      rate(at.attainable, unit), percent(at.share), intensity,
      at.is_memory_bound
          ? fmt::format("bound by {}: {} of bandwidth; arithmetic could be {}", roof.level,
                        rate(roof.bandwidth_bytes, "B/s"), rate(roof.peak_flops, unit))
          : fmt::format("bound by arithmetic: peak {}; {} could feed {}",
                        rate(roof.peak_flops, unit), roof.level,
                        rate(roof.bandwidth_bytes, "B/s")));
}

std::string roofline_svg(const Roof& roof, const std::vector<RooflinePoint>& points) {
  const Axes axes = axes_for(roof, points);
  const double ridge = roof.peak_flops / roof.bandwidth_bytes;
  // The sloping part starts where it enters the picture: at the left edge or at the bottom.
  const double start =
      std::max(std::pow(10, axes.x_low), std::pow(10, axes.y_low) / roof.bandwidth_bytes);
  std::string svg = fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' width='{0}' height='{1}' viewBox='0 0 {0} {1}' "
      "font-family='sans-serif' font-size='12'>\n"
      "<style>.grid{{stroke:#ddd}}.roof{{stroke:#204a87;stroke-width:2.5;fill:none}}"
      ".gap{{stroke:#cc0000;stroke-dasharray:3 3}}circle{{fill:#cc0000}}</style>\n"
      "<rect width='{0}' height='{1}' fill='white'/>\n",
      kWidth, kHeight);
  svg += grid(axes);
  svg +=
      fmt::format("<polyline class='roof' points='{:.1f},{:.1f} {:.1f},{:.1f} {:.1f},{:.1f}'/>\n",
                  axes.x(start), axes.y(start * roof.bandwidth_bytes), axes.x(ridge),
                  axes.y(roof.peak_flops), kWidth - kRight, axes.y(roof.peak_flops));
  svg += fmt::format("<text x='{}' y='{:.1f}' text-anchor='end'>peak {}</text>\n", kWidth - kRight,
                     axes.y(roof.peak_flops) - 6,
                     rate(roof.peak_flops, std::string(roof.unit) + "/s"));
  svg += fmt::format("<text x='{:.1f}' y='{:.1f}'>{} {}</text>\n", axes.x(start) + 8,
                     axes.y(start * roof.bandwidth_bytes) - 10, roof.level,
                     rate(roof.bandwidth_bytes, "B/s"));
  for (const RooflinePoint& point : points)
    svg += drawn(axes, roof, point);
  svg +=
      fmt::format("<text x='{0}' y='{1}' text-anchor='middle'>{4} per byte</text>\n"
                  "<text x='16' y='{2}' text-anchor='middle' transform='rotate(-90 16 {3})'>"
                  "G{4}/s</text>\n</svg>\n",
                  (kLeft + kWidth - kRight) / 2, kHeight - 16, kHeight / 2, kHeight / 2, roof.unit);
  return svg;
}

} // namespace kawara::estimate
