#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>
#include <vector>

#include "elastic/plan/plan_notes.h"
#include "elastic/plan/plan_output.h"
#include "runtime/http/html.h"

namespace scavenger::elastic {
namespace {

using perfmodel::Plan;
using perfmodel::PlanRow;

constexpr double kWidth = 860.0, kHeight = 460.0, kLeft = 70.0, kRight = 130.0, kTop = 20.0,
                 kBottom = 50.0;
// Tell eight kinds apart, also for most colour-blind people (Okabe and Ito 2008).
constexpr std::array<std::string_view, 8> kColours = {
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "currentColor", "#8a8a00"};

// A round step that makes about five ticks.
double tick_step(double span) {
  const double rough = span / 5.0;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (rough <= factor * power) return factor * power;
  return 10.0 * power;
}

class Chart final {
 public:
  explicit Chart(const Plan& plan) : unit_(plan.relative ? 1.0 : time_unit(plan)), plan_(plan) {
    for (const PlanRow& row : plan.rows) {
      most_time_ = std::max(most_time_, time_of(row));
      most_cost_ = std::max(most_cost_, row.prediction.cost.value);
    }
    if (!(most_cost_ > 0.0)) most_cost_ = 1.0;
    if (!(most_time_ > 0.0)) most_time_ = 1.0;
  }

  std::string svg() const {
    std::string out =
        fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"cost over time\">\n",
                    kWidth, kHeight);
    out += axes();
    std::map<double, std::vector<const PlanRow*>> curves;
    for (const PlanRow& row : plan_.rows)
      curves[row.prediction.configuration.global_batch].push_back(&row);
    std::size_t index = 0;
    for (const auto& [batch, rows] : curves) out += curve(batch, rows, index++);
    return out + "</svg>\n";
  }

 private:
  static double time_unit(const Plan& plan) {
    double most = 0.0;
    for (const PlanRow& row : plan.rows) most = std::max(most, row.prediction.seconds.value);
    return most > 2.0 * 3600.0 ? 3600.0 : most > 120.0 ? 60.0 : 1.0;
  }
  double time_of(const PlanRow& row) const { return row.prediction.seconds.value / unit_; }
  double x(double time) const {
    return kLeft + (kWidth - kLeft - kRight) * time / (1.05 * most_time_);
  }
  double y(double cost) const {
    return kHeight - kBottom - (kHeight - kTop - kBottom) * cost / (1.05 * most_cost_);
  }

  std::string axes() const {
    std::string out;
    const double x_step = tick_step(most_time_), y_step = tick_step(most_cost_);
    for (int i = 0; i * x_step <= 1.05 * most_time_; ++i)
      out += fmt::format(
          "<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"/>"
          "<text x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\">{4:.4g}</text>\n",
          x(i * x_step), kTop, kHeight - kBottom, kHeight - kBottom + 18, i * x_step);
    for (int i = 0; i * y_step <= 1.05 * most_cost_; ++i)
      out += fmt::format(
          "<line class=\"grid\" x1=\"{1}\" x2=\"{2}\" y1=\"{0:.1f}\" y2=\"{0:.1f}\"/>"
          "<text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{5:.4g}</text>\n",
          y(i * y_step), kLeft, kWidth - kRight, kLeft - 6, y(i * y_step) + 4, i * y_step);
    const char* unit = unit_ == 3600.0 ? "hours" : unit_ == 60.0 ? "minutes" : "seconds";
    out += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">time, {}</text>\n",
                       (kLeft + kWidth - kRight) / 2, kHeight - 8,
                       perfmodel::unit_text(plan_.basis, unit, plan_.reference_batch));
    return out + fmt::format(
                     "<text transform=\"translate(16 {}) rotate(-90)\" "
                     "text-anchor=\"middle\">cost, {}</text>\n",
                     (kTop + kHeight - kBottom) / 2, cost_unit_text(plan_));
  }

  std::string curve(double batch, const std::vector<const PlanRow*>& rows,
                    std::size_t index) const {
    const std::string_view colour = kColours[index % kColours.size()];
    std::string points, marks;
    for (const PlanRow* row : rows) {
      const perfmodel::JobPrediction& p = row->prediction;
      const double cx = x(time_of(*row)), cy = y(p.cost.value);
      points += fmt::format("{:.1f},{:.1f} ", cx, cy);
      marks += fmt::format(
          "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" fill=\"{}\" stroke=\"{}\"{}><title>K = {}, "
          "B = {}: time {:.4g} ({:.4g} to {:.4g}), cost {:.4g}{}{}</title></circle>\n",
          cx, cy,
          row->is_chosen   ? 8
          : row->is_pareto ? 5
                           : 3.5,
          p.extrapolated ? "var(--ground)" : colour, colour,
          row->is_chosen ? " stroke-width=\"3\"" : "", p.configuration.workers,
          p.configuration.global_batch, p.seconds.value / unit_, p.seconds.low / unit_,
          p.seconds.high / unit_, p.cost.value, row->is_pareto ? ", Pareto" : "",
          p.extrapolated ? ", extrapolated" : "");
    }
    return fmt::format(
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\"/>\n{}<text x=\"{}\" "
        "y=\"{}\" style=\"fill: {}\">B = {:.0f}</text>\n",
        points, colour, marks, kWidth - kRight + 20, kTop + 20.0 * static_cast<double>(index + 1),
        colour, batch);
  }

  double unit_;
  const Plan& plan_;
  double most_time_ = 0.0;
  double most_cost_ = 0.0;
};

}  // namespace

namespace {

// Beside the choice, where they are seen before the table.
std::string warnings_html(const Plan& plan) {
  std::string text;
  for (const std::string& warning : choice_warnings(plan))
    text += fmt::format("<p class=\"warning\">Warning: {}.</p>\n", escaped_html(warning));
  return text;
}

}  // namespace

std::string plan_html(const Plan& plan, const PlanSource& source) {
  return fmt::format(
      R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Plan: {0}</title>
<style>
:root {{ color-scheme: light dark; --ground: #fff; --ink: #1b1f24; --line: #ddd; --card: #f6f6f6; --bad: #b3261e }}
@media (prefers-color-scheme: dark) {{
  :root {{ --ground: #11151b; --ink: #e7ebf1; --line: #2c3440; --card: #1a2029; --bad: #ff9a8c }}
}}
body {{ background: var(--ground); color: var(--ink) }}
body {{ font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 72em; padding: 0 1em }}
svg {{ width: 100%; height: auto }} svg text {{ font-size: 12px; fill: currentColor }}
.grid {{ stroke: var(--line) }} .warning {{ color: var(--bad); font-weight: 600 }}
pre {{ overflow-x: auto; font-size: 12px; background: var(--card); padding: 1em }}
</style></head><body>
<h1>{0}</h1>
<p>Each curve is one global batch B; along it K grows. Large: chosen. Middle: Pareto set. Hollow: extrapolated.
Point at one for its numbers.</p>
{3}{1}<pre>{2}</pre>
</body></html>
)",
      escaped_html(source.title), Chart(plan).svg(), escaped_html(plan_text(plan, source)),
      warnings_html(plan));
}

}  // namespace scavenger::elastic
