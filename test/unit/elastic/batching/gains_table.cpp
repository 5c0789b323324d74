// What integral and derivative parts of the batch controller would bring: prints a table of
// simulated jobs, each cell the mean of 20 seeds. The reason for the gains' defaults
// (docs/results/dynamic_batching.md): gains_table [SEEDS].
#include <fmt/format.h>

#include <cstdlib>

#include "test/unit/elastic/batching/simulated_workers.h"

namespace scavenger::elastic {
namespace {

constexpr std::uint32_t kBatch = 768;
constexpr double kOverhead = 10.0;
constexpr double kBalanced = 1.10;       // longest time over shortest
constexpr double kChangeSeconds = 0.03;  // without training, for an adjustment

using Speeds = std::vector<double>;
using SpeedsAt = std::function<Speeds(std::uint64_t iteration)>;

struct Outcome {
  double adjustments = 0.0;
  double unbalanced = 0.0;    // iterations
  double misplaced = 0.0;     // samples with another worker than by the true speeds
  double seconds = 0.0;       // of the slowest worker
  double best_seconds = 0.0;  // with the shares that the true speeds ask for
};

ShareRule true_rule(const Speeds& speeds) {
  ShareRule rule;
  rule.overhead_samples = kOverhead;
  for (std::uint32_t worker = 0; worker < speeds.size(); ++worker)
    rule.speeds[worker] = speeds[worker];
  return rule;
}

Outcome run_until(SimulatedWorkers& workers, const SpeedsAt& speeds, std::uint64_t end) {
  Outcome outcome;
  const std::uint32_t adjustments = workers.adjustments();
  while (workers.iteration() < end) {
    const ShareRule rule = true_rule(speeds(workers.iteration()));
    const auto best = shares_of(rule, kBatch, std::vector<std::uint32_t>{0, 1, 2});
    double best_seconds = 0.0;
    for (std::uint32_t worker = 0; worker < best.size(); ++worker) {
      const double difference = 1.0 * workers.shares()[worker] - best[worker];
      outcome.misplaced += 0.5 * std::abs(difference);
      best_seconds = std::max(best_seconds, rule.seconds_of(worker, best[worker]));
    }
    outcome.best_seconds += best_seconds;
    outcome.seconds += workers.slowest();
    if (workers.spread() > kBalanced) ++outcome.unbalanced;
    workers.run(1);
  }
  outcome.adjustments = workers.adjustments() - adjustments;
  return outcome;
}

class Scenario {
 public:
  Scenario(PaceGains gains, int seeds) : gains_(gains), seeds_(seeds) {}

  // By part of the job, which end at these iterations; the mean of the seeds.
  std::vector<Outcome> run(const SpeedsAt& speeds, const std::vector<std::uint64_t>& ends,
                           double noise = 1.0) const {
    std::vector<Outcome> mean(ends.size());
    for (int seed = 1; seed <= seeds_; ++seed) {
      BatchingSettings settings;
      settings.gains = gains_;
      const auto law = [&speeds](std::uint32_t worker, double share, std::uint64_t iteration) {
        return (kOverhead + share) / speeds(iteration).at(worker);
      };
      SimulatedWorkers workers(3, kBatch, law, settings, static_cast<std::uint64_t>(seed));
      workers.noise = 0.03 * noise;
      workers.slow_noise = 0.03 * noise;
      workers.held_up = 0.02 * noise;
      for (std::size_t part = 0; part < ends.size(); ++part) {
        const Outcome outcome = run_until(workers, speeds, ends[part]);
        mean[part].unbalanced += outcome.unbalanced / seeds_;
        mean[part].adjustments += outcome.adjustments / seeds_;
        mean[part].misplaced += outcome.misplaced / seeds_;
        mean[part].seconds += outcome.seconds / seeds_;
        mean[part].best_seconds += outcome.best_seconds / seeds_;
      }
    }
    return mean;
  }

 private:
  PaceGains gains_;
  int seeds_;
};

std::string text_of(const Outcome& outcome) {
  return fmt::format("{:.1f} / {:.0f} / {:.1f}k", outcome.adjustments, outcome.unbalanced,
                     1e-3 * outcome.misplaced);
}

// Per cent by which these parts took longer than with the best shares and no adjustment.
double loss_of(const std::vector<Outcome>& parts) {
  double seconds = 0.0, best_seconds = 0.0;
  for (const Outcome& part : parts) {
    seconds += part.seconds + kChangeSeconds * part.adjustments;
    best_seconds += part.best_seconds;
  }
  return 100.0 * (seconds / best_seconds - 1.0);
}

void print_row(const Scenario& scenario, const std::string& gains, int level, Speeds speeds) {
  for (double& speed : speeds) speed *= 100.0;
  const SpeedsAt steady = [&](std::uint64_t) { return speeds; };
  const auto start = scenario.run(steady, {500, 3000});
  const auto noisy = scenario.run(steady, {500, 3000}, 3.0);
  // One of them is throttled to a quarter at once, and freed; or gets four times slower gradually.
  const SpeedsAt throttled = [&](std::uint64_t iteration) {
    Speeds now = speeds;
    if (iteration >= 500 && iteration < 1100) now[1] /= 4.0;
    return now;
  };
  const auto step = scenario.run(throttled, {500, 1100, 1700});
  const SpeedsAt fading = [&](std::uint64_t iteration) {
    Speeds now = speeds;
    const double done = (static_cast<double>(iteration) - 500.0) / 400.0;
    now[1] *= std::pow(4.0, -std::clamp(done, 0.0, 1.0));
    return now;
  };
  const auto ramp = scenario.run(fading, {500, 1200});
  fmt::print("| {} | {} | {} | {} | {} | {} | {} | {} | {:.1f}, {:.1f}, {:.1f}, {:.1f} |\n", level,
             gains, text_of(start[0]), text_of(start[1]), text_of(noisy[1]), text_of(step[1]),
             text_of(step[2]), text_of(ramp[1]), loss_of(start), loss_of(noisy),
             loss_of({step[1], step[2]}), loss_of({ramp[1]}));
}

}  // namespace
}  // namespace scavenger::elastic

int main(int count, char** words) {
  using namespace scavenger::elastic;
  const int seeds = count > 1 ? std::atoi(words[1]) : 20;
  fmt::print(
      "adjustments / iterations out of balance / samples misplaced, and per cent lost; means of {} "
      "seeds\n\n"
      "| level | I, D | from even shares, 500 | the 2500 after | the same with 3 times the noise | "
      "throttled, 600 | freed, 600 | slower by and by, 700 | "
      "lost: steady, noisy, throttled and freed, slower |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
      seeds);
  const std::vector<std::pair<int, Speeds>> mixes = {{1, {13.0, 13.0, 13.0}},
                                                     {2, {9.0, 12.0, 18.0}},
                                                     {6, {3.5, 14.5, 21.0}},
                                                     {10, {2.0, 17.0, 20.0}}};
  const std::vector<PaceGains> gains = {{0.0, 0.0},  {0.05, 0.0}, {0.2, 0.0}, {0.0, 0.1},
                                        {0.0, 0.25}, {0.0, 0.5},  {0.0, 1.0}, {0.05, 0.25}};
  for (const auto& [level, speeds] : mixes)
    for (const PaceGains& gain : gains)
      print_row(Scenario(gain, seeds), fmt::format("{:g}, {:g}", gain.integral, gain.derivative),
                level, speeds);
  return 0;
}
