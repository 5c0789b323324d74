#include "elastic/vms/race/deadline_guard.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace scavenger::elastic {
namespace {

constexpr std::size_t kDraws = 400;
// By how much more likely the limit has to hold: a draw or two more are no reason to pay more.
constexpr double kLeastHelp = 0.05;
constexpr double kPaceError = 0.03;  // of ln(seconds per iteration) that was measured

perfmodel::JobOutlook outlook_of(const GuardQuestion& question, double iteration_seconds,
                                 double price) {
  perfmodel::JobOutlook outlook;
  outlook.vms = question.workers;
  outlook.log_iteration_seconds = std::log(iteration_seconds);
  outlook.errors = {{perfmodel::type_stream("pace"), kPaceError}};
  outlook.iterations = question.iterations;
  outlook.log_epochs_spread = question.log_iterations_spread;
  outlook.price.worker_per_hour = price;
  outlook.sharing = question.sharing;
  return outlook;
}

}  // namespace

double expected_loss_rate(double usual, double losses, double vm_hours) {
  constexpr int kPoints = 121;
  constexpr double kReach = 14.0;   // of ln(rate), to each side
  constexpr double kFreedom = 3.0;  // Student's t
  std::vector<double> logs, densities;
  double top = -1e300;
  for (int i = 0; i < kPoints; ++i) {
    const double x = kReach * (2.0 * i / (kPoints - 1) - 1.0);
    const double rate = usual * std::exp(x);
    const double log_density = -0.5 * (kFreedom + 1.0) * std::log1p(x * x / kFreedom) +
                               losses * std::log(rate) - rate * vm_hours;
    logs.push_back(std::log(rate));
    densities.push_back(log_density);
    top = std::max(top, log_density);
  }
  // Without losses the mean of a prior with such tails would be theirs alone: the median counts.
  double total = 0.0;
  for (double& density : densities) total += density = std::exp(density - top);
  double below = 0.0;
  for (std::size_t i = 0; i < densities.size(); ++i) {
    const double next = below + densities[i] / total;
    if (next >= 0.5) {
      const double width = logs[1] - logs[0];
      return std::exp(logs[i] + ((0.5 - below) / (next - below) - 0.5) * width);
    }
    below = next;
  }
  return usual;
}

GuardAnswer ask_deadline_guard(const GuardQuestion& question) {
  // Machines that are there have shown how fast they are.
  perfmodel::SpeedVariance known;
  known.between_vms = known.lemon_probability = 0.0;
  const perfmodel::OutcomeLimits limits{question.seconds_left, question.dollars_left};
  perfmodel::JobOutlook spot =
      outlook_of(question, question.iteration_seconds, question.spot_price);
  spot.spot = perfmodel::SpotRisk{.losses_per_vm_hour = question.losses_per_vm_hour,
                                  .replacement_seconds = question.start_seconds,
                                  .standstill_seconds = question.standstill_seconds,
                                  .price_per_hour = question.spot_price};
  GuardAnswer answer;
  answer.spot = perfmodel::OutcomeDraws(known, 1, kDraws).of(spot, limits);
  perfmodel::OutcomeLimits others = limits;
  if (others.max_cost)
    *others.max_cost -= question.workers * question.spot_price * question.start_seconds / 3600.0;
  const perfmodel::JobOutlook on_demand =
      outlook_of(question, question.full_iteration_seconds, question.on_demand_price);
  answer.on_demand = perfmodel::OutcomeDraws({}, 1, kDraws).of(on_demand, others);
  answer.must_move = answer.spot.within_time < question.confidence &&
                     answer.on_demand.within_time >= answer.spot.within_time + kLeastHelp &&
                     answer.on_demand.within_cost >= question.confidence;
  return answer;
}

}  // namespace scavenger::elastic
