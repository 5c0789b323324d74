// What the controller and the coordinator cost as the number K of workers grows: K workers that are
// simulated (test/simulation) train on a virtual clock, with messages that are encoded and decoded
// as on a wire. docs/results/coordinator.md has the table.
#include <fmt/core.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "test/simulation/simulated_job.h"

namespace scavenger::elastic {
namespace {

constexpr double kWarmUpSeconds = 60.0;  // of the job, from its first iteration on

double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

struct Costs {
  std::uint32_t workers = 0;
  double start = 0.0;               // processor seconds until the first iteration
  double per_second = 0.0;          // processor seconds per job-second
  double messages = 0.0;            // per job-second
  double events_per_hour = 0.0;     // bytes of events.jsonl
  double decisions_per_hour = 0.0;  // bytes of decisions.jsonl
  double reshape = 0.0;             // processor seconds from a loss to the next iteration
};

JobScenario steady_job(std::uint32_t workers) {
  JobScenario scenario;
  scenario.config = simulated_config(workers, 4096);
  scenario.config.stop = {};
  scenario.config.stop.max_epochs = 1e9;
  scenario.config.evaluation.every_epochs = 1e6;
  scenario.config.checkpoint.every_epochs = 1e6;
  scenario.market.refusal_share = 0.0;
  scenario.market.shortest_start_seconds = scenario.market.longest_start_seconds = 20.0;
  // An iteration takes a tenth of a second for each K.
  scenario.model.truth.seconds_per_sample = scenario.model.truth.seconds_per_worker = 0.0;
  scenario.model.truth.fixed_seconds = 0.1;
  scenario.encodes = true;
  return scenario;
}

class Measurement final {
 public:
  Measurement(std::uint32_t workers, double seconds)
      : workers_(workers), seconds_(seconds), job_(steady_job(workers)) {}

  Costs run() {
    begin_ = processor_seconds();
    await_first_iteration();
    job_.run();
    costs_.workers = workers_;
    return costs_;
  }

 private:
  std::uint64_t done() { return job_.coordinator().controller().iterations_done(); }
  double size_of(const char* file) const {
    return static_cast<double>(std::filesystem::file_size(job_.folder() / file));
  }

  void await_first_iteration() {
    job_.loop().after(0.1, [this] {
      if (done() == 0) return await_first_iteration();
      costs_.start = processor_seconds() - begin_;
      job_.loop().after(kWarmUpSeconds, [this] { measure(); });
    });
  }

  void measure() {
    const double begin = processor_seconds();
    const double events = size_of("events.jsonl"), decisions = size_of("decisions.jsonl");
    const auto messages = static_cast<double>(job_.counts().messages);
    job_.loop().after(seconds_, [=, this] {
      const double per_hour = 3600.0 / seconds_;
      costs_.per_second = (processor_seconds() - begin) / seconds_;
      costs_.events_per_hour = (size_of("events.jsonl") - events) * per_hour;
      costs_.decisions_per_hour = (size_of("decisions.jsonl") - decisions) * per_hour;
      costs_.messages = (static_cast<double>(job_.counts().messages) - messages) / seconds_;
      lose_a_worker();
    });
  }

  // A single worker has nobody to go on with: then it is the shard's turn.
  void lose_a_worker() {
    reshape_begin_ = processor_seconds();
    reshape_time_ = job_.loop().now();
    const std::uint32_t epoch = job_.coordinator().controller().membership().epoch;
    job_.cluster().kill({Role::kWorker, workers_ - 1}, "for the measurement");
    await_recovery(epoch);
  }

  void await_recovery(std::uint32_t epoch) {
    job_.loop().after(0.005, [this, epoch] {
      const Controller& controller = job_.coordinator().controller();
      const Membership& membership = controller.membership();
      if (membership.epoch == epoch || done() <= membership.first_iteration)
        return await_recovery(epoch);
      costs_.reshape = processor_seconds() - reshape_begin_ -
                       costs_.per_second * (job_.loop().now() - reshape_time_);
      job_.coordinator().interrupt(true);
      job_.coordinator().interrupt(true);
    });
  }

  const std::uint32_t workers_;
  const double seconds_;
  SimulatedJob job_;
  Costs costs_;
  double begin_ = 0.0;
  double reshape_begin_ = 0.0;
  double reshape_time_ = 0.0;
};

}  // namespace
}  // namespace scavenger::elastic

int main(int argc, char** argv) {
  using namespace scavenger::elastic;
  CLI::App app("What controller and coordinator cost as a function of K.", "coordinator_bench");
  std::vector<std::uint32_t> workers = {1, 10, 100, 1000};
  double seconds = 60.0;
  app.add_option("--workers", workers, "K, one after the other")->capture_default_str();
  app.add_option("--seconds", seconds, "Of the job that are measured")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  fmt::print(
      "| K | start, CPU s | CPU s per job-second | messages per job-second | "
      "events.jsonl, MB/h | decisions.jsonl, MB/h | reshape, CPU s |\n"
      "| --- | --- | --- | --- | --- | --- | --- |\n");
  for (const std::uint32_t count : workers) {
    const Costs costs = Measurement(count, seconds).run();
    fmt::print("| {} | {:.3f} | {:.5f} | {:.0f} | {:.2f} | {:.2f} | {:.4f} |\n", costs.workers,
               costs.start, costs.per_second, costs.messages, costs.events_per_hour / 1e6,
               costs.decisions_per_hour / 1e6, costs.reshape);
    std::fflush(stdout);
  }
}
