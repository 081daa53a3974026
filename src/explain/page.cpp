#include "explain/page.h"

#include "explain/page_frame.h"
#include "explain/roofline_picture.h"
#include "explain/words.h"
#include "support/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace kawara::explain {
namespace {

using estimate::operations_of;

std::string section(const std::string& id, const std::string& title, const std::string& inside) {
  return fmt::format("<section aria-labelledby=\"{0}\">\n<h2 id=\"{0}\">{1}</h2>\n{2}</section>\n",
                     id, title, inside);
}

/// Rows of elements; a first line of names where they are given. Numbers are set apart by `n`.
class Table {
public:
  explicit Table(const std::string& caption)
      : text_("<table>\n<caption hidden>" + caption + "</caption>\n") {}

  void names(const std::vector<std::string>& all) {
    text_ += "<thead><tr>";
    for (size_t k = 0; k < all.size(); ++k)
      text_ += fmt::format("<th scope=\"col\"{}>{}</th>", k == 0 ? "" : " class=\"n\"", all[k]);
    text_ += "</tr></thead>\n";
  }
  /// The first is what the row is about; all are HTML.
  void row(const std::vector<std::string>& all, const std::string& mark = "") {
    text_ += fmt::format("<tr{}><th scope=\"row\">{}</th>", mark, all.front());
    for (size_t k = 1; k < all.size(); ++k)
      text_ += fmt::format("<td class=\"n\">{}</td>", all[k]);
  }
  void bar(double share) {
    text_ += fmt::format("<td class=\"b\"><span class=\"bar\" style=\"width:{:.1f}%\"></span></td>",
                         std::clamp(share, 0.0, 1.0) * 100);
  }
  void end_row() { text_ += "</tr>\n"; }
  std::string end() { return text_ + "</table>\n"; }

private:
  std::string text_;
};

std::string numbers_table(const std::vector<std::pair<std::string, std::string>>& rows) {
  Table table("The numbers that decide");
  for (const auto& [name, value] : rows) {
    table.row({name, html_text(value)});
    table.end_row();
  }
  return table.end();
}

std::string limits_section(const Report& report) {
  const estimate::Prediction& p = report.prediction;
  std::vector<std::pair<std::string, double>> rows{{"arithmetic", p.arithmetic_seconds}};
  for (const LevelReport& level : report.levels)
    rows.emplace_back(level.name, level.seconds);
  if (p.fork_seconds > 0)
    rows.emplace_back("starting threads", p.fork_seconds);
  double longest = 0;
  for (const auto& [name, seconds] : rows)
    longest = std::max(longest, seconds);
  Table table("Predicted time of each part");
  for (const auto& [name, seconds] : rows) {
    table.row({html_text(name), duration(seconds)});
    table.bar(longest > 0 ? seconds / longest : 0);
    table.end_row();
  }
  return section("limits", "What limits it",
                 roofline_picture(report) + table.end() +
                     "<p class=\"note\">Predicted. The longest of arithmetic and levels sets the "
                     "pace of each part of the program.</p>\n");
}

std::string bytes_section(const Report& report) {
  Table table("Bytes that come from each level");
  table.names(
      {"from", "predicted",
       report.simulated_label.empty() ? "simulated" : "simulated, " + report.simulated_label,
       "least of any order", "ratio"});
  const auto bytes = [](const std::optional<double>& value) {
    return value ? amount(*value, "B") : std::string("–");
  };
  for (const LevelReport& level : report.levels) {
    const double moved = level.simulated.value_or(level.predicted);
    table.row(
        {html_text(level.name), amount(level.predicted, "B"), bytes(level.simulated),
         bytes(level.least),
         level.least && *level.least > 0 ? fmt::format("{:.2f}", moved / *level.least) : "–"});
    table.end_row();
  }
  std::string text = table.end();
  for (const estimate::Duplicates& each : report.duplicates)
    text += fmt::format("<p>{} reads each element of <code>{}</code> {:.3f} times; as a matrix its "
                        "windows would have {:.0f} elements for {:.0f}.</p>\n",
                        html_text(each.statement), html_text(each.tensor), each.loads.factor(),
                        each.loads.loads, each.loads.elements);
  return section("bytes", "Where the bytes come from", text);
}

std::string why_section(const Report& report) {
  std::string text;
  for (const Considered& nest : report.nests) {
    Table table("Plans for " + html_text(nest.statements));
    table.names({"plan", "predicted", "bound by"});
    for (const Candidate& c : nest.candidates) {
      table.row({html_text(c.rule) + (c.is_chosen ? " (taken)" : "") +
                     (c.refusal.empty() ? "" : "<br>refused: " + html_text(c.refusal)),
                 c.seconds ? duration(*c.seconds) : "", html_text(c.bound)},
                c.is_chosen ? " class=\"taken\"" : "");
      table.end_row();
    }
    text += fmt::format("<h3>{}: <code>{}</code></h3>\n", html_text(nest.statements),
                        html_text(nest.text)) +
            table.end();
  }
  return section("why", "Why this schedule", text);
}

std::string energy_section(const estimate::Energy& energy) {
  Table table("Energy of a call by kind of work");
  table.names({"work", "low", "value", "high"});
  const auto row = [&](const std::string& name, const estimate::Band& joules) {
    table.row({html_text(name), amount(joules.low, "J"), amount(joules.value, "J"),
               amount(joules.high, "J")});
    table.bar(joules.value / std::max(energy.joules().value, 1e-30));
    table.end_row();
  };
  for (const estimate::EnergyPart& part : energy.parts)
    row(part.name, part.joules);
  row("together", energy.joules());
  return section("energy", "Energy",
                 table.end() + "<p class=\"note\">Predicted from published figures; the band is "
                               "the range of those. Nothing was measured.</p>\n");
}

std::string missing_section(const std::vector<std::string>& missing) {
  std::string text = "<ul>\n";
  for (const std::string& each : missing)
    text += "<li>" + html_text(each) + "</li>\n";
  return section("missing", "What is missing, and why", text + "</ul>\n");
}

std::string provenance(const std::string& machine, const std::string& figures,
                       const std::string& version_note) {
  return section("machine", "Machine and provenance",
                 fmt::format("<p>Figures of {}, {}. {}</p>\n", html_text(machine),
                             html_text(figures), version_note));
}

std::string tables(const Report& report) {
  const estimate::Prediction& p = report.prediction;
  const double operations = operations_of(p.work);
  const std::string unit = estimate::unit_of(p.work);
  const LevelReport& memory = report.levels.back();
  const double moved = memory.simulated.value_or(memory.predicted);
  std::string text = "<h1>" + html_text(verdict(report)) + "</h1>\n";
  text += numbers_table(
      {{report.is_limit ? "time, at best" : "time, predicted", duration(p.seconds)},
       {"speed", amount(operations / std::max(p.seconds, 1e-30), unit.c_str()) + "/s, " +
                     percent(report.roof_seconds / std::max(p.seconds, 1e-30)) + " of the roof"},
       {"bytes from memory", amount(moved, "B")},
       {"bytes per " + unit, operations > 0 ? fmt::format("{:.4g}", moved / operations) : "–"},
       {"energy", report.energy
                      ? fmt::format("{} ({} to {})", amount(report.energy->joules().value, "J"),
                                    amount(report.energy->joules().low, "J"),
                                    amount(report.energy->joules().high, "J"))
                      : "not known"}});
  text += limits_section(report) + bytes_section(report);
  if (!report.nests.empty())
    text += why_section(report);
  if (report.energy)
    text += energy_section(*report.energy);
  if (!report.missing.empty())
    text += missing_section(report.missing);
  return text +
         provenance(report.machine, report.figures,
                    fmt::format("{} {}. Nothing was run: figures are predicted, or counted by "
                                "simulated caches where the table says so.",
                                p.threads, p.threads == 1 ? "thread" : "threads"));
}

std::string tables(const ModelReport& report) {
  std::string text = "<h1>" + html_text(verdict(report)) + "</h1>\n";
  const auto seconds = [](const KernelReport& kernel) {
    return kernel.seconds.value_or(kernel.least_seconds) * static_cast<double>(kernel.times);
  };
  double all = 0;
  for (const KernelReport& kernel : report.kernels)
    all += seconds(kernel);
  Table table("Kernels, those that take longest first");
  table.names({"kernel", "calls", "time", "bound by", "operations per byte", "energy"});
  for (const KernelReport& kernel : report.kernels) {
    const auto times = static_cast<double>(kernel.times);
    table.row({html_text(kernel.name), std::to_string(kernel.times),
               (kernel.seconds ? "" : "&gt; ") + duration(seconds(kernel)), html_text(kernel.bound),
               fmt::format("{:.3g}", kernel.operations / std::max(kernel.bytes, 1.0)),
               kernel.joules ? amount(kernel.joules->value * times, "J") : "–"});
    table.bar(seconds(kernel) / std::max(all, 1e-30));
    table.end_row();
  }
  text += section("kernels", "Kernels", table.end());
  if (!report.missing.empty())
    text += missing_section(report.missing);
  return text + provenance(report.machine, report.figures,
                           "Times are predictions of default schedules; &gt;: of the roof alone.");
}

} // namespace

std::string page(const Report& report) {
  return page_frame(report.title, tables(report), to_json(report));
}

std::string page(const ModelReport& report) {
  return page_frame(report.title, tables(report), to_json(report));
}

std::string page(const AnyReport& a, const AnyReport& b) {
  const auto title = [](const AnyReport& any) {
    return std::visit([](const auto& report) { return report.title; }, any);
  };
  const auto both = [](const AnyReport& any) {
    return std::visit([](const auto& report) { return tables(report); }, any);
  };
  return page_frame(title(a) + " | " + title(b), both(a) + both(b), to_json(a, b));
}

} // namespace kawara::explain
