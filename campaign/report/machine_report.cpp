#include "campaign/report/machine_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "campaign/report/profile_drawing.h"
#include "perfmodel/survival/kaplan_meier.h"
#include "runtime/base/text.h"
#include "runtime/http/html.h"

namespace scavenger::campaign {
namespace {

using perfmodel::Lifetime;
using perfmodel::Survival;

// Of the longest life: losses of young machines are looked at more closely.
constexpr double kAgeShares[] = {0.0, 1.0 / 32, 1.0 / 8, 1.0 / 4, 1.0 / 2, 1.0};
constexpr int kCurvePoints = 60;
constexpr double kBeforeWall = 1.0 - 1e-9;

std::vector<Lifetime> lives_until_now(const Campaign& campaign, double seconds) {
  const auto ended = campaign.lives().lives();
  std::vector<Lifetime> lives(ended.begin(), ended.end());
  for (const auto& [id, machine] : campaign.machines())
    if (campaign.ledger().is_open(id) && seconds > machine.ready_seconds)
      lives.push_back({seconds - machine.ready_seconds, false});
  return lives;
}

// The integral of the hazard from 0. What ends at a wall was not lost there.
double cumulative_hazard(const Survival& model, double age) {
  const double before_wall = std::min(age, kBeforeWall * model.wall_seconds());
  return -std::log(std::max(model.survival(before_wall), 1e-300));
}

Json bin_json(std::span<const Lifetime> lives, const Survival& model, double from, double until,
              bool is_last) {
  double lived = 0.0, expected = 0.0;
  int losses = 0;
  for (const Lifetime& life : lives) {
    if (life.seconds < from) continue;
    const double end = std::min(life.seconds, until);
    lived += end - from;
    expected += cumulative_hazard(model, end) - cumulative_hazard(model, from);
    if (life.lost && (life.seconds < until || is_last)) ++losses;
  }
  return {{"from_seconds", from},
          {"until_seconds", until},
          {"machine_seconds", lived},
          {"losses", losses},
          {"expected_losses", expected}};
}

Json curve_json(std::span<const Lifetime> lives, const Survival& model, double longest) {
  const perfmodel::KaplanMeier seen(lives);
  Json ages = Json::array(), shares = Json::array(), expected = Json::array();
  for (int i = 0; i <= kCurvePoints; ++i) {
    const double age = longest * i / kCurvePoints;
    ages.push_back(age);
    shares.push_back(seen.survival(age));
    expected.push_back(model.survival(age));
  }
  return {{"age_seconds", ages}, {"seen", shares}, {"model", expected}};
}

}  // namespace

Json lives_json(const Campaign& campaign, double seconds) {
  const std::vector<Lifetime> lives = lives_until_now(campaign, seconds);
  const Survival& model = campaign.lives().survival();
  double longest = 0.0;
  for (const Lifetime& life : lives) longest = std::max(longest, life.seconds);
  Json bins = Json::array();
  constexpr std::size_t kBins = std::size(kAgeShares) - 1;
  for (std::size_t i = 0; longest > 0.0 && i < kBins; ++i)
    bins.push_back(bin_json(lives, model, longest * kAgeShares[i], longest * kAgeShares[i + 1],
                            i + 1 == kBins));
  const auto losses = std::ranges::count_if(lives, &Lifetime::lost);
  Json json = {{"machines", lives.size()}, {"losses", losses}, {"ages", std::move(bins)}};
  if (losses > 0) json["curve"] = curve_json(lives, model, longest);
  return json;
}

Json types_json(const Campaign& campaign) {
  Json types = Json::array();
  for (const MachineChoice::Measured& type : campaign.measured_types())
    types.push_back({{"type", type.type},
                     {"points", type.points},
                     {"seconds_per_simulation", type.value.task_seconds},
                     {"dollars_per_simulation", type.value.dollars_per_task}});
  return types;
}

std::string lives_section(const Json& lives) {
  if (lives.at("losses").get<int>() == 0) return {};
  std::string text = fmt::format(
      "<h2>Losses by a machine's age</h2><p>Of {} machines {} were taken away.</p>"
      "<table><tr><th>age</th><th>lived there</th><th>lost</th><th>expected</th></tr>",
      lives.at("machines").get<std::uint64_t>(), lives.at("losses").get<std::uint64_t>());
  for (const Json& bin : lives.at("ages"))
    text += fmt::format("<tr><td>{} to {}</td><td>{}</td><td>{}</td><td>{:.1f}</td></tr>",
                        format_duration(bin.at("from_seconds").get<double>()),
                        format_duration(bin.at("until_seconds").get<double>()),
                        format_duration(bin.at("machine_seconds").get<double>()),
                        bin.at("losses").get<int>(), bin.at("expected_losses").get<double>());
  const Json& curve = lives.at("curve");
  const Profile shares{
      curve.at("age_seconds").get<std::vector<double>>(),
      {curve.at("seen").get<std::vector<double>>(), curve.at("model").get<std::vector<double>>()},
      {}};
  const auto key = [](std::size_t index, const char* meaning) {
    return fmt::format("<span class=\"key\" style=\"background:{}\"></span>{} ",
                       kCurveColours[index], meaning);
  };
  return text + "</table><p>Share of machines that live longer, over their age in seconds: " +
         key(0, "seen (Kaplan-Meier)") + key(1, "the model") +
         "</p><div class=\"profiles\"><figure>" + profile_svg(shares) + "</figure></div>";
}

std::string types_section(const Json& types) {
  if (types.size() < 2) return {};
  std::string text =
      "<h2>Machine types</h2><p>What a simulation takes on each, with losses and starts.</p>"
      "<table><tr><th>type</th><th>points measured</th><th>time</th><th>cost</th></tr>";
  for (const Json& type : types)
    text += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>${:.5f}</td></tr>",
                        escaped_html(type.at("type").get<std::string>()),
                        type.at("points").get<std::uint64_t>(),
                        format_duration(type.at("seconds_per_simulation").get<double>()),
                        type.at("dollars_per_simulation").get<double>());
  return text + "</table>";
}

}  // namespace scavenger::campaign
