#include "campaign/run/plan_question.h"

#include <fmt/format.h>

#include <memory>
#include <utility>
#include <vector>

#include "campaign/core/point_times.h"
#include "campaign/run/campaign_folder.h"
#include "perfmodel/survival/early_hazard.h"
#include "runtime/base/error.h"

namespace scavenger::campaign {
namespace {

// Before one was measured: a process here, or a machine that boots.
constexpr double kProcessStartSeconds = 1.0;
constexpr double kMachineStartSeconds = 60.0;
// Below this many points the mean of a type may be that of its points.
constexpr std::size_t kPointsToCompare = 3;

double first_start_seconds(ProviderType type) {
  const bool is_here = type == ProviderType::kLocal || type == ProviderType::kEmulated;
  return is_here ? kProcessStartSeconds : kMachineStartSeconds;
}

std::vector<TimedPoint> timed_points(const Campaign& campaign) {
  std::vector<TimedPoint> timed;
  for (const auto& [point, simulation] : campaign.simulations())
    if (simulation.has_result())
      timed.push_back({campaign.space().values_at(point),
                       simulation.cost().seconds / simulation.kept_multiple});
  return timed;
}

// A campaign of other parameters tells their mean only.
void forget_values(std::vector<TimedPoint>& timed, std::size_t parameters) {
  double sum = 0.0;
  for (const TimedPoint& point : timed) sum += point.seconds;
  timed = {{std::vector<double>(parameters), sum / static_cast<double>(timed.size())}};
}

// How much longer than on all a simulation takes on this type.
double factor_of(const MachineChoice& choice, const std::string& type, double mean_seconds) {
  const auto seconds = choice.mean_seconds(type);
  return seconds && choice.points(type) >= kPointsToCompare ? *seconds / mean_seconds : 1.0;
}

}  // namespace

PlanQuestion question_of_seconds(const CampaignConfig& config, double simulation_seconds) {
  PlanQuestion question;
  question.mean_seconds = simulation_seconds;
  question.world.simulation_seconds = [simulation_seconds](PointIndex, const std::string&) {
    return simulation_seconds;
  };
  question.world.start_seconds = first_start_seconds(config.provider.type);
  question.world.lives = std::make_shared<perfmodel::EarlyHazard>(perfmodel::constant_hazard(
      {}, config.simulation.checkpoint.mean_life_hours * perfmodel::kHourSeconds));
  return question;
}

PlanQuestion question_like(const CampaignConfig& config, const std::filesystem::path& run) {
  const auto log = std::make_shared<const ReplayedLog>(replay(open_campaign_folder(run)));
  const Campaign& like = log->campaign;
  std::vector<TimedPoint> timed = timed_points(like);
  if (timed.empty())
    throw InputError({.what = "no simulation of it is done",
                      .where = run.string(),
                      .remedy = "wait for one, or use --seconds-per-simulation"});
  const Space space(config.space);
  const std::size_t measured = timed.size();
  if (like.space().names() != space.names()) forget_values(timed, space.names().size());
  double measured_mean = 0.0;
  for (const TimedPoint& point : timed)
    measured_mean += point.seconds / static_cast<double>(timed.size());
  // Steps are what a simulation's time is in proportion to.
  const double steps = static_cast<double>(config.simulation.steps) /
                       static_cast<double>(like.config().simulation.steps);
  const auto times = std::make_shared<const PointTimes>(space, timed);
  PlanQuestion question;
  question.mean_seconds = steps * times->sum_seconds() / static_cast<double>(space.size());
  question.source =
      fmt::format("as {} simulations of {} took; the fit is {:.0f} % off at their points", measured,
                  run.string(), 100.0 * times->relative_error());
  question.world.simulation_seconds = [log, times, steps, measured_mean](PointIndex point,
                                                                         const std::string& type) {
    return steps * times->seconds(point) *
           factor_of(log->campaign.machine_choice(), type, measured_mean);
  };
  question.world.checkpoint_seconds = like.checkpoint_seconds();
  question.world.start_seconds = like.machine_choice().start_seconds();
  question.world.lives = std::shared_ptr<const perfmodel::Survival>(log, &like.lives().survival());
  return question;
}

}  // namespace scavenger::campaign
