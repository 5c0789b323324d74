#include "campaign/report/report_page.h"

#include <fmt/format.h>

#include "campaign/report/machine_report.h"
#include "campaign/report/profile_drawing.h"
#include "runtime/base/text.h"
#include "runtime/http/html.h"

namespace scavenger::campaign {
namespace {

constexpr const char* kStyle = R"(
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 62rem; padding: 0 1rem;
       color: #222; background: #fff; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; } td, th { padding: .15rem .8rem .15rem 0; text-align: right; }
td:first-child, th:first-child, td.text { text-align: left; } th { border-bottom: 1px solid #888; }
.bar { display: flex; height: 1.6rem; border-radius: 3px; overflow: hidden; margin: .6rem 0; }
.bar span { min-width: 0; } .key { display: inline-block; width: .8rem; height: .8rem; margin-right: .4rem; }
.profiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(18rem, 1fr)); gap: 1rem; }
figure { margin: 0; } figcaption { font-size: .85rem; } svg { width: 100%; height: auto; }
svg text { font-size: 11px; fill: #555; } pre { background: #f4f4f4; padding: .6rem; overflow-x: auto; }
@media (prefers-color-scheme: dark) { body { color: #ddd; background: #1b1b1b; }
  pre { background: #2a2a2a; } svg text { fill: #aaa; } }
)";

struct Kind {
  const char* name;
  const char* colour;
  const char* meaning;
};
constexpr Kind kKinds[] = {
    {"useful", "#3c8a3c", "computed and kept"},
    {"redone", "#c8501e", "computed and lost with a machine, or by a failure"},
    {"discarded", "#8250a8", "of simulations that diverged or failed"},
    {"checkpoint", "#d4a020", "from the end of a segment until the next one begins"},
    {"start", "#1f6fb4", "from a machine, or a simulation on it, to its first step"},
    {"idle", "#9a9a9a", "nothing to do, and time that is charged at the least"},
};

std::string headline(const Json& document) {
  std::string text = fmt::format(
      "<h1>{}</h1><p>{} of {} points were simulated in {}, {} were skipped: {} done, {} diverged, "
      "{} failed. {} machines were lost. The campaign is <b>{}</b>",
      escaped_html(document.at("name").get<std::string>()),
      document.at("simulated").get<std::uint64_t>(), document.at("points").get<std::uint64_t>(),
      format_duration(document.at("seconds").get<double>()),
      document.at("skipped").get<std::uint64_t>(), document.at("done").get<std::uint64_t>(),
      document.at("diverged").get<std::uint64_t>(), document.at("failed").get<std::uint64_t>(),
      document.at("machines_lost").get<std::uint64_t>(),
      escaped_html(document.at("status").get<std::string>()));
  const std::string reason = document.at("reason");
  return text + (reason.empty() ? "" : ": " + escaped_html(reason)) + ".</p>";
}

std::string spent_table(const Json& spent) {
  const double all = spent.at("all").at("seconds");
  std::string bar = "<div class=\"bar\">";
  std::string rows;
  for (const Kind& kind : kKinds) {
    const double seconds = spent.at(kind.name).at("seconds");
    const double share = all > 0.0 ? 100.0 * seconds / all : 0.0;
    bar += fmt::format("<span style=\"width:{:.2f}%;background:{}\" title=\"{} {:.1f} %\"></span>",
                       share, kind.colour, kind.name, share);
    rows += fmt::format(
        "<tr><td><span class=\"key\" style=\"background:{}\"></span>{}</td><td>{}</td>"
        "<td>{:.1f} %</td><td>${:.4f}</td><td class=\"text\">{}</td></tr>",
        kind.colour, kind.name, format_duration(seconds), share,
        spent.at(kind.name).at("dollars").get<double>(), kind.meaning);
  }
  const double dollars = spent.at("all").at("dollars");
  const double on_demand = spent.at("useful").at("on_demand_dollars");
  rows += fmt::format("<tr><td>all</td><td>{}</td><td></td><td>${:.4f}</td><td></td></tr>",
                      format_duration(all), dollars);
  std::string text = "<h2>Where the time and the money went</h2>" + bar +
                     "</div><table><tr><th></th><th>time</th><th>share</th><th>cost</th>"
                     "<th></th></tr>" +
                     rows + "</table>";
  if (on_demand > 0.0)
    text += fmt::format(
        "<p>The useful part alone costs ${:.4f} on machines that are not spot; all of this cost "
        "${:.4f}.</p>",
        on_demand, dollars);
  return text;
}

std::string values_text(const Json& simulation) {
  std::string text;
  for (const auto& [name, value] : simulation.at("values").items())
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, number_text(value));
  return text;
}

std::string trouble(const Json& document) {
  std::string text;
  for (const Json& simulation : document.at("simulations")) {
    const std::string state = simulation.at("state");
    if (state != "diverged" && state != "failed") continue;
    text += fmt::format("<h3>{}: {}</h3><p>{}</p>", escaped_html(values_text(simulation)), state,
                        escaped_html(simulation.value("reason", "")));
    const std::string tail = simulation.value("log_tail", "");
    if (!tail.empty()) text += "<pre>" + escaped_html(tail) + "</pre>";
  }
  return text.empty() ? text : "<h2>Simulations without a result</h2>" + text;
}

std::string lengthened_text(const Json& simulation) {
  const auto multiple = simulation.at("multiple").get<std::uint32_t>();
  return multiple > 1 ? fmt::format(", {} times the steps", multiple) : std::string();
}

std::string simulations_table(const Json& document) {
  std::string text =
      "<h2>Simulations</h2><table><tr><th>point</th><th>state</th><th>computed</th>"
      "<th>segments</th><th>cost</th><th>failures</th></tr>";
  for (const Json& simulation : document.at("simulations"))
    text += fmt::format(
        "<tr><td>{}{}</td><td>{}{}</td><td>{}</td><td>{}</td><td>${:.4f}</td><td>{}</td></tr>",
        escaped_html(values_text(simulation)),
        simulation.at("is_holdout").get<bool>() ? " (holdout)" : "",
        simulation.at("state").get<std::string>(), lengthened_text(simulation),
        format_duration(simulation.at("seconds").get<double>()),
        simulation.at("segments").get<std::uint64_t>(), simulation.at("dollars").get<double>(),
        simulation.at("failures").get<std::uint64_t>());
  return text + "</table>";
}

std::string key_of(std::size_t curve, const std::string& meaning) {
  return fmt::format("<span class=\"key\" style=\"background:{}\"></span>{} ",
                     kCurveColours[curve % std::size(kCurveColours)], escaped_html(meaning));
}

std::string trainings_section(const Json& surrogate) {
  std::string text =
      fmt::format("<h2>Surrogate</h2><p>It was trained {} times in {}; {} trainings failed.",
                  surrogate.at("trainings").size(),
                  format_duration(surrogate.at("training_seconds").get<double>()),
                  surrogate.at("failed_trainings").get<std::uint64_t>());
  if (surrogate.contains("speed_up")) {
    const double speed_up = surrogate.at("speed_up");
    text += fmt::format(
        " To predict each point of the space takes, with all that was simulated and trained for "
        "it, {} the time of simulating each point (one slot each).",
        speed_up < 1.0 ? fmt::format("{:.3g} times", 1.0 / speed_up)
                       : fmt::format("1 / {:.3g} of", speed_up));
  }
  text += "</p>";
  Profile errors{{}, {{}, {}}, {}};
  std::string rows;
  for (const Json& training : surrogate.at("trainings")) {
    if (training.at("profiles").get<std::uint64_t>() < 2) continue;
    errors.x.push_back(training.at("results").get<double>());
    errors.y[0].push_back(training.at("rmse").get<double>());
    errors.y[1].push_back(training.at("most_rmse").get<double>());
    rows += fmt::format(
        "<tr><td>{}</td><td>{:.4g}</td><td>{:.4g}</td><td>{:.1f} %</td><td>{}</td></tr>",
        training.at("results").get<std::uint64_t>(), errors.y[0].back(), errors.y[1].back(),
        100.0 * training.at("covered").get<double>(),
        format_duration(training.at("seconds").get<double>()));
  }
  if (rows.empty()) return text;
  return text + "<p>Error on the holdout over the number of simulations that were learned from: " +
         key_of(0, "root of the mean square") + key_of(1, "its bound with 95 % confidence") +
         "</p><div class=\"profiles\"><figure>" + profile_svg(errors) +
         "</figure></div><table><tr><th>simulations</th><th>error</th><th>at most</th>"
         "<th>within 2 sigma</th><th>training</th></tr>" +
         rows + "</table>";
}

// The predicted curves after the simulated ones.
Profile both(const Profile& simulated, const Profile& predicted) {
  Profile all = simulated;
  const std::vector<double> none(simulated.x.size(), 0.0);
  if (all.errors.empty()) all.errors.assign(all.y.size(), none);
  all.y.insert(all.y.end(), predicted.y.begin(), predicted.y.end());
  all.errors.insert(all.errors.end(), predicted.errors.begin(), predicted.errors.end());
  return all;
}

std::string holdout_section(const ProfileColumns& columns,
                            const std::vector<DrawnProfile>& profiles) {
  std::string figures;
  for (const DrawnProfile& profile : profiles)
    if (profile.predicted)
      figures += "<figure>" + profile_svg(both(profile.simulated, *profile.predicted)) +
                 "<figcaption>" + escaped_html(profile.title) + "</figcaption></figure>";
  if (figures.empty()) return figures;
  std::string text = fmt::format("<h2>The holdout, which was not learned from</h2><p>Over {}: ",
                                 escaped_html(columns.x));
  for (std::size_t i = 0; i < columns.y.size(); ++i) text += key_of(i, columns.y[i] + " simulated");
  for (std::size_t i = 0; i < columns.y.size(); ++i)
    text += key_of(columns.y.size() + i, columns.y[i] + " predicted");
  return text + "with bands of one standard error or deviation.</p><div class=\"profiles\">" +
         figures + "</div>";
}

std::string profiles_section(const ProfileColumns& columns,
                             const std::vector<DrawnProfile>& profiles) {
  std::string text = fmt::format("<h2>Profiles</h2><p>Over {}: ", escaped_html(columns.x));
  for (std::size_t i = 0; i < columns.y.size(); ++i) text += key_of(i, columns.y[i]);
  text += columns.errors.empty() ? "</p>" : "with a band of one standard error.</p>";
  text += "<div class=\"profiles\">";
  for (const DrawnProfile& profile : profiles)
    text += "<figure>" + profile_svg(profile.simulated) + "<figcaption>" +
            escaped_html(profile.title) + "</figcaption></figure>";
  return text + "</div>";
}

}  // namespace

std::string report_page(const Json& document, const ProfileColumns* columns,
                        const std::vector<DrawnProfile>& profiles) {
  std::string text = fmt::format(
      "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\"><title>{}</title><style>{}</style></head><body>",
      escaped_html(document.at("name").get<std::string>()), kStyle);
  text += headline(document) + spent_table(document.at("spent"));
  text += types_section(document.at("types")) + lives_section(document.at("lives"));
  if (document.contains("surrogate")) text += trainings_section(document.at("surrogate"));
  if (columns != nullptr) text += holdout_section(*columns, profiles);
  if (columns != nullptr && !profiles.empty()) text += profiles_section(*columns, profiles);
  return text + trouble(document) + simulations_table(document) + "</body></html>\n";
}

}  // namespace scavenger::campaign
