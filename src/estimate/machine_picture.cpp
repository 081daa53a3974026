#include "estimate/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace kawara::estimate {
namespace {

constexpr double kPictureWidth = 760, kPictureHeight = 480, kMargin = 70;

/// Both axes logarithmic; ends are powers of ten.
struct Frame {
  double x_low, x_high, y_low, y_high; ///< exponents of ten
  double x(double intensity) const {
    return kMargin +
           (std::log10(intensity) - x_low) / (x_high - x_low) * (kPictureWidth - 2 * kMargin);
  }
  double y(double flops) const {
    return kPictureHeight - kMargin -
           (std::log10(flops) - y_low) / (y_high - y_low) * (kPictureHeight - 2 * kMargin);
  }
};

double highest_peak(const Machine& machine) {
  double highest = 0;
  for (const Peak& peak : machine.peaks)
    highest = std::max(highest, peak.flops.all);
  return highest;
}

Frame frame_of(const Machine& machine) {
  double slowest = machine.levels.front().triad.all, fastest = 0;
  for (const Level& level : machine.levels) {
    slowest = std::min(slowest, level.triad.all);
    fastest = std::max(fastest, level.triad.all);
  }
  const double peak = highest_peak(machine);
  const double lowest = find_peak(machine, scalar::Elem::F64)->flops.all;
  return {std::floor(std::log10(lowest / fastest)) - 1, std::ceil(std::log10(peak / slowest)),
          std::floor(std::log10(lowest)) - 1, std::ceil(std::log10(peak))};
}

std::string frame_lines(const Frame& frame) {
  std::string svg;
  for (double e = frame.x_low; e <= frame.x_high; ++e)
    svg += fmt::format("<line class='grid' x1='{0:.1f}' y1='{1}' x2='{0:.1f}' y2='{2}'/>"
                       "<text x='{0:.1f}' y='{3}' text-anchor='middle'>{4:g}</text>\n",
                       frame.x(std::pow(10, e)), kMargin, kPictureHeight - kMargin,
                       kPictureHeight - kMargin + 18, std::pow(10, e));
  for (double e = frame.y_low; e <= frame.y_high; ++e)
    svg += fmt::format("<line class='grid' x1='{1}' y1='{0:.1f}' x2='{2}' y2='{0:.1f}'/>"
                       "<text x='{3}' y='{4:.1f}' text-anchor='end'>{5:g}</text>\n",
                       frame.y(std::pow(10, e)), kMargin, kPictureWidth - kMargin, kMargin - 6,
                       frame.y(std::pow(10, e)) + 4, std::pow(10, e - 9));
  return svg;
}

/// The slope of a level, from where it enters the frame to the highest peak.
std::string slope(const Frame& frame, const Level& level, double peak) {
  const double start =
      std::max(std::pow(10, frame.x_low), std::pow(10, frame.y_low) / level.triad.all);
  const double ridge = peak / level.triad.all;
  return fmt::format("<line class='slope' x1='{:.1f}' y1='{:.1f}' x2='{:.1f}' y2='{:.1f}'/>"
                     "<text x='{:.1f}' y='{:.1f}' class='level'>{} {:.0f} GB/s</text>\n",
                     frame.x(start), frame.y(start * level.triad.all), frame.x(ridge),
                     frame.y(peak), frame.x(start) + 6, frame.y(start * level.triad.all) - 4,
                     level.name, level.triad.all * 1e-9);
}

/// A ceiling, from the steepest slope to the right edge.
std::string ceiling(const Frame& frame, const Peak& peak, double fastest) {
  return fmt::format("<line class='peak' x1='{0:.1f}' y1='{1:.1f}' x2='{2}' y2='{1:.1f}'/>"
                     "<text x='{2}' y='{3:.1f}' text-anchor='end'>{4} {5:.0f} G{6}/s</text>\n",
                     frame.x(peak.flops.all / fastest), frame.y(peak.flops.all),
                     kPictureWidth - kMargin, frame.y(peak.flops.all) - 4,
                     scalar::name_of(peak.elem), peak.flops.all * 1e-9,
                     scalar::is_float(peak.elem) ? "FLOP" : "OP");
}

} // namespace

std::string roofs_svg(const Machine& machine) {
  const Frame frame = frame_of(machine);
  double fastest = 0;
  for (const Level& level : machine.levels)
    fastest = std::max(fastest, level.triad.all);
  std::string svg = fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' width='{0}' height='{1}' viewBox='0 0 {0} {1}' "
      "font-family='sans-serif' font-size='12'>\n"
      "<style>.grid{{stroke:#ddd}}.slope{{stroke:#204a87;stroke-width:2}}"
      ".peak{{stroke:#a40000;stroke-width:2}}.level{{fill:#204a87}}</style>\n"
      "<rect width='{0}' height='{1}' fill='white'/>\n",
      kPictureWidth, kPictureHeight);
  svg += frame_lines(frame);
  for (const Level& level : machine.levels)
    svg += slope(frame, level, highest_peak(machine));
  for (const Peak& peak : machine.peaks)
    svg += ceiling(frame, peak, fastest);
  return svg + fmt::format(
                   "<text x='{0}' y='{1}' text-anchor='middle'>operations per byte</text>\n"
                   "<text x='16' y='{2}' text-anchor='middle' transform='rotate(-90 16 {2})'>"
                   "Goperations/s, {3}</text>\n</svg>\n",
                   kPictureWidth / 2, kPictureHeight - 20, kPictureHeight / 2,
                   machine.threads == 1 ? "1 thread" : fmt::format("{} threads", machine.threads));
}

} // namespace kawara::estimate
