// What the event log costs a fast job; hidden from the normal run: report_test "[benchmark]".
// Asserts nothing about time. docs/events.md quotes its numbers.
#include <fmt/core.h>

#include <catch2/catch.hpp>
#include <ctime>
#include <random>

#include "elastic/events/event.h"
#include "elastic/events/event_log.h"
#include "elastic/history/run_summary.h"
#include "elastic/report/json_report.h"
#include "test/support/temporary_folder.h"
#include "test/unit/elastic/events/sample_events.h"

namespace scavenger::elastic {
namespace {

constexpr std::uint32_t kWorkers = 2;
constexpr std::uint32_t kPerEvent = 100;
constexpr std::uint64_t kIterations = 1000000;

// Numbers with all their digits, as measurements have them.
fact::Iterations measured_iterations(std::uint64_t first, std::mt19937_64& random) {
  fact::Iterations iterations = sample_iterations(1, first, kPerEvent, kWorkers);
  std::lognormal_distribution<double> factor(0.0, 0.3);
  const auto scatter = [&](std::vector<double>& series) {
    for (double& value : series) value *= factor(random);
  };
  scatter(iterations.loss);
  scatter(iterations.seconds);
  scatter(iterations.global_sqr_norm);
  for (fact::WorkerSeries& worker : iterations.workers)
    for (auto* series : {&worker.data_wait, &worker.forward, &worker.backward, &worker.sync_wait,
                         &worker.local_sqr_norm})
      scatter(*series);
  return iterations;
}

// Of this process, so that its neighbours on the machine do not count.
double cpu_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

class Stopwatch final {
 public:
  double seconds() const { return cpu_seconds() - begin_; }

 private:
  double begin_ = cpu_seconds();
};

void print(const char* what, double seconds) {
  fmt::print("{:28} {:8.3f} CPU s  {:6.3f} us per worker and iteration\n", what, seconds,
             seconds * 1e6 / static_cast<double>(kIterations * kWorkers));
}

}  // namespace

TEST_CASE("A log of a million iterations", "[.][benchmark]") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "events.jsonl";
  const SteadyClock clock;
  std::mt19937_64 random(1);
  std::vector<RunEvent> events;
  for (std::uint64_t i = 0; i < 64; ++i) events.emplace_back(measured_iterations(0, random));
  EventLogWriter writer(path, clock);
  writer.append(sample_start());
  writer.append(sample_membership(1, {32, 32}));

  const Stopwatch writing;
  for (std::uint64_t i = 0; i < kIterations / kPerEvent; ++i) {
    RunEvent& event = events[i % events.size()];
    std::get<fact::Iterations>(event).first = i * kPerEvent;
    writer.append(event);
  }
  print("encode and append", writing.seconds());
  const auto bytes = static_cast<double>(std::filesystem::file_size(path));
  fmt::print("{:28} {:8.1f} MB {:6.1f} bytes per worker and iteration\n", "size of the log",
             bytes / 1e6, bytes / static_cast<double>(kIterations * kWorkers));

  const Stopwatch reading;
  EventLogReader reader(path);
  while (reader.next()) {
  }
  print("read and decode", reading.seconds());

  RunSummary summary;
  summary.apply({.time = 0.0, .event = sample_start()});
  summary.apply({.time = 0.0, .event = sample_membership(1, {32, 32})});
  const Stopwatch adding;
  for (std::uint64_t i = 0; i < kIterations / kPerEvent; ++i) {
    RunEvent& event = events[i % events.size()];
    std::get<fact::Iterations>(event).first = i * kPerEvent;
    summary.apply({.time = 0.0, .event = event});
  }
  print("add up", adding.seconds());

  const Stopwatch reporting;
  const std::string report = to_json_report(summary.numbers());
  fmt::print("{:28} {:8.3f} CPU s  {} bytes\n", "report.json", reporting.seconds(), report.size());
  CHECK(summary.numbers().iterations == kIterations);
}

}  // namespace scavenger::elastic
