// A plan of machine types as a page that needs nothing beside itself: cost against time.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "elastic/vms/vm_plan.h"
#include "elastic/vms/vm_words.h"
#include "runtime/http/html.h"

namespace scavenger::elastic {
namespace {

constexpr double kWidth = 900.0, kHeight = 480.0, kLeft = 80.0, kRight = 20.0, kTop = 20.0,
                 kBottom = 50.0;
constexpr std::size_t kDrawnRows = 40;

// A logarithmic axis, since types differ by factors.
class Axis final {
 public:
  Axis(double from, double to, double low, double high)
      : from_(from), to_(to), log_low_(std::log(low)), log_high_(std::log(high)) {
    const double room = std::max(0.05, 0.05 * (log_high_ - log_low_));
    log_low_ -= room;
    log_high_ += room;
  }
  double at(double value) const {
    return from_ + (to_ - from_) * (std::log(value) - log_low_) / (log_high_ - log_low_);
  }
  bool shows(double value) const {
    return value > 0.0 && std::log(value) >= log_low_ && std::log(value) <= log_high_;
  }
  // 1, 2 and 5 times powers of ten.
  std::vector<double> ticks() const {
    std::vector<double> ticks;
    for (double power = std::pow(10.0, std::floor(log_low_ / std::log(10.0)));
         std::log(power) <= log_high_; power *= 10.0)
      for (const double factor : {1.0, 2.0, 5.0})
        if (shows(factor * power)) ticks.push_back(factor * power);
    return ticks;
  }

 private:
  double from_, to_, log_low_, log_high_;
};

class Chart final {
 public:
  explicit Chart(const VmPlan& plan)
      : plan_(plan),
        rows_(plan.rows.begin(), plan.rows.begin() + static_cast<std::ptrdiff_t>(
                                                         std::min(plan.rows.size(), kDrawnRows))),
        x_(kLeft, kWidth - kRight, least(true), most(true)),
        y_(kHeight - kBottom, kTop, least(false), most(false)) {}

  std::string svg() const {
    std::string out = fmt::format(
        "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"cost against time of each plan, with "
        "bars from the 10 to the 90 percent quantile\">\n",
        kWidth, kHeight);
    out += axes() + limits();
    for (std::size_t i = rows_.size(); i-- > 0;) out += mark(i);
    return out + "</svg>\n";
  }

 private:
  static const perfmodel::Quantiles& of(const VmRow& row, bool is_time) {
    return is_time ? row.outcome.seconds : row.outcome.cost;
  }
  // Limits are drawn, too, unless they are far from all plans.
  double with_limit(double value, bool is_time) const {
    constexpr double kFar = 5.0;
    const auto& limit = is_time ? plan_.limits.max_seconds : plan_.limits.max_cost;
    return limit && *limit < kFar * value && *limit > value / kFar ? *limit : value;
  }
  double least(bool is_time) const {
    double value = of(rows_.front(), is_time).q10;
    for (const VmRow& row : rows_) value = std::min(value, of(row, is_time).q10);
    return std::max(std::min(value, with_limit(value, is_time)), 1e-9);
  }
  double most(bool is_time) const {
    double value = of(rows_.front(), is_time).q90;
    for (const VmRow& row : rows_) value = std::max(value, of(row, is_time).q90);
    return std::max(std::max(value, with_limit(value, is_time)), 1e-9);
  }

  std::string axes() const {
    std::string out;
    for (const double tick : x_.ticks())
      out += fmt::format(
          "<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"/>"
          "<text x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\">{4:.3g}</text>\n",
          x_.at(tick), kTop, kHeight - kBottom, kHeight - kBottom + 18, tick);
    for (const double tick : y_.ticks())
      out += fmt::format(
          "<line class=\"grid\" x1=\"{1}\" x2=\"{2}\" y1=\"{0:.1f}\" y2=\"{0:.1f}\"/>"
          "<text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{5:.3g}</text>\n",
          y_.at(tick), kLeft, kWidth - kRight, kLeft - 6, y_.at(tick) + 4, tick);
    return out +
           fmt::format(
               "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">time, {}</text>\n"
               "<text transform=\"translate(16 {}) rotate(-90)\" text-anchor=\"middle\">cost, "
               "dollars</text>\n",
               (kLeft + kWidth - kRight) / 2, kHeight - 8,
               perfmodel::unit_text(plan_.basis, "seconds", plan_.reference_batch),
               (kTop + kHeight - kBottom) / 2);
  }

  std::string limits() const {
    std::string out;
    if (plan_.limits.max_seconds && x_.shows(*plan_.limits.max_seconds))
      out += fmt::format(
          "<line class=\"limit\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"/>\n",
          x_.at(*plan_.limits.max_seconds), kTop, kHeight - kBottom);
    if (plan_.limits.max_cost && y_.shows(*plan_.limits.max_cost))
      out += fmt::format(
          "<line class=\"limit\" x1=\"{1}\" x2=\"{2}\" y1=\"{0:.1f}\" y2=\"{0:.1f}\"/>\n",
          y_.at(*plan_.limits.max_cost), kLeft, kWidth - kRight);
    return out;
  }

  std::string mark(std::size_t index) const {
    const VmRow& row = rows_[index];
    const bool chosen = plan_.choice == index || plan_.nearest == index;
    const auto& time = row.outcome.seconds;
    const auto& cost = row.outcome.cost;
    const bool has_limits = plan_.limits.max_seconds || plan_.limits.max_cost;
    const auto positive = [](double value) { return std::max(value, 1e-9); };
    const double cx = x_.at(positive(time.q50)), cy = y_.at(positive(cost.q50));
    std::string out = fmt::format(
        "<g class=\"{} {}\"><title>{}: {} to {}, ${:.3g} to ${:.3g}; {}{}</title>",
        name_of(row.evidence), chosen ? "chosen" : "other", escaped_html(name_text(row)),
        vm_duration_text(time.q10), vm_duration_text(time.q90), cost.q10, cost.q90,
        has_limits ? fmt::format("limits hold with {:.0f} %; ", 100.0 * row.outcome.within_both)
                   : "",
        name_of(row.evidence));
    out += fmt::format("<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>",
                       x_.at(positive(time.q10)), x_.at(positive(time.q90)), cy, cy);
    out += fmt::format("<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>", cx, cx,
                       y_.at(positive(cost.q10)), y_.at(positive(cost.q90)));
    out += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"/>", cx, cy, chosen ? 8 : 4.5);
    if (chosen || std::ranges::count(plan_.fallbacks, index) > 0)
      out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", cx + 11, cy - 6,
                         escaped_html(name_text(row)));
    return out + "</g>\n";
  }

  const VmPlan& plan_;
  const std::vector<VmRow> rows_;
  const Axis x_, y_;
};

std::string table_html(const VmPlan& plan) {
  std::string out =
      "<table><tr><th>plan</th><th>spot</th><th>time, 10 / 50 / 90 %</th><th>cost, $, 10 / 50 / "
      "90 %</th><th>P(time)</th><th>P(cost)</th><th>evidence</th></tr>\n";
  for (std::size_t i = 0; i < plan.rows.size(); ++i) {
    const VmRow& row = plan.rows[i];
    const auto& time = row.outcome.seconds;
    const auto& cost = row.outcome.cost;
    out += fmt::format(
        "<tr{}><td>{}</td><td>{:.0f} %</td><td>{} / {} / {}</td><td>{:.3g} / {:.3g} / {:.3g}</td>"
        "<td>{}</td><td>{}</td><td>{}</td></tr>\n",
        plan.choice == i ? " class=\"choice\"" : "", escaped_html(name_text(row)),
        100.0 * row.spot_share(), vm_duration_text(time.q10), vm_duration_text(time.q50),
        vm_duration_text(time.q90), cost.q10, cost.q50, cost.q90,
        vm_probability_text(row.outcome.within_time, plan.limits.max_seconds),
        vm_probability_text(row.outcome.within_cost, plan.limits.max_cost), name_of(row.evidence));
  }
  return out + "</table>\n";
}

std::string lines_html(const VmPlan& plan) {
  std::string out;
  for (const std::string& line : vm_decision_lines(plan))
    out += fmt::format("<p>{}</p>\n", escaped_html(line));
  for (const std::string& note : plan.notes)
    out += fmt::format("<p>Note: {}</p>\n", escaped_html(note));
  for (const PrunedType& one : plan.pruned)
    out += fmt::format("<p class=\"small\">Left out: {}: {}</p>\n", escaped_html(one.type),
                       escaped_html(one.why));
  return out;
}

}  // namespace

std::string vm_plan_page(const VmPlan& plan, const std::string& title) {
  return fmt::format(
      R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Machines: {0}</title>
<style>
:root {{ color-scheme: light dark; --ground: #fff; --ink: #1b1f24; --line: #ddd; --card: #f6f6f6 }}
@media (prefers-color-scheme: dark) {{
  :root {{ --ground: #11151b; --ink: #e7ebf1; --line: #2c3440; --card: #1a2029 }}
}}
body {{ background: var(--ground); color: var(--ink) }}
body {{ font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 76em; padding: 0 1em }}
svg {{ width: 100%; height: auto }} svg text {{ font-size: 12px; fill: currentColor }}
.grid {{ stroke: var(--line) }} .limit {{ stroke: #d55e00; stroke-width: 2; stroke-dasharray: 6 4 }}
.catalogue {{ color: #8a8a00 }} .calibrated {{ color: #b2568f }} .profiled {{ color: #0072b2 }} .measured {{ color: #009e73 }}
g line {{ stroke: currentColor; opacity: 0.5 }} g circle {{ fill: currentColor }}
.chosen circle {{ stroke: var(--ink); stroke-width: 3 }} .choice {{ font-weight: 600 }}
table {{ border-collapse: collapse }} td, th {{ padding: 0.2em 0.8em; text-align: left }}
tr {{ border-bottom: 1px solid var(--line) }} .small {{ font-size: 12px; margin: 0.2em 0 }}
</style></head><body>
<h1>{0}</h1>
{1}<p>Each point is the best plan of one machine type, at its medians; its bars go from the 10 to the 90 %
quantile. Large: the choice. <span class="measured">Green</span>: measured,
<span class="profiled">blue</span>: profiled, <span class="calibrated">purple</span>: calibrated,
<span class="catalogue">olive</span>: from the catalogue alone.
Dashed: limits. Point at one for its numbers.</p>
{2}{3}</body></html>
)",
      escaped_html(title), lines_html(plan), Chart(plan).svg(), table_html(plan));
}

}  // namespace scavenger::elastic
