#include "elastic/history/iteration_condenser.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <random>

#include "elastic/events/event_log.h"
#include "elastic/history/run_summary.h"
#include "elastic/report/json_report.h"
#include "runtime/base/file.h"
#include "test/support/manual_clock.h"
#include "test/support/temporary_folder.h"
#include "test/unit/elastic/events/sample_events.h"
#include "test/unit/noise/known_gradients.h"

namespace scavenger::elastic {
namespace {

constexpr double kTick = 0.2;  // seconds

// Iterations with noise, pauses and unequal workers.
class Measurements final {
 public:
  explicit Measurements(std::uint32_t workers)
      : membership_(sample_membership(1, std::vector<std::uint32_t>(workers, 16))) {}

  const fact::Membership& membership() const { return membership_; }
  fact::Iterations next(std::uint32_t count) {
    fact::Iterations made = sample_iterations(1, next_, count, membership_.workers);
    for (std::uint32_t i = 0; i < count; ++i) {
      problem_.draw(std::vector<double>(membership_.shares.begin(), membership_.shares.end()));
      made.global_sqr_norm[i] = problem_.batch_sqr_norm;
      made.loss[i] = 2.0 + noise_(random_);
      double slowest = 0.0;
      for (std::uint32_t k = 0; k < membership_.workers; ++k) {
        fact::WorkerSeries& worker = made.workers[k];
        worker.forward[i] = 0.001 * (1.0 + 0.2 * k) * std::exp(noise_(random_));
        worker.backward[i] = 2.0 * worker.forward[i];
        worker.data_wait[i] = 1e-5;
        worker.local_sqr_norm[i] = problem_.parts[k].sqr_norm;
        slowest = std::max(slowest, 3.0 * worker.forward[i]);
      }
      const double pause = (next_ + i) % 997 == 0 ? 0.1 : 0.0;
      for (fact::WorkerSeries& worker : made.workers)
        worker.sync_wait[i] = 1e-4 + slowest - 3.0 * worker.forward[i] + pause;
      made.seconds[i] = 1.1e-4 + slowest + pause;
    }
    next_ += count;
    return made;
  }

 private:
  fact::Membership membership_;
  noise::KnownGradients problem_{11, 16, 1.0, 50.0};
  std::mt19937_64 random_{5};
  std::normal_distribution<double> noise_{0.0, 0.2};
  std::uint64_t next_ = 0;
};

// As the coordinator logs them.
class LoggedRun final {
 public:
  explicit LoggedRun(LogBudget budget) : budget_(budget) { log(sample_start()); }
  void begin(const fact::Membership& membership) {
    condenser_.begin();
    log(membership);
  }
  void add(fact::Iterations series) {
    time_ += kTick;
    for (RunEvent& event : condenser_.add(std::move(series), summary_.numbers(), time_))
      log(std::move(event));
  }
  void close() {
    for (RunEvent& event : condenser_.close(time_)) log(std::move(event));
  }
  void log(RunEvent event) {
    const std::string line = to_json_line({time_, std::move(event)});
    budget_.spend(static_cast<double>(line.size() + 1), time_);
    bytes_ += static_cast<double>(line.size() + 1);
    lines_.push_back(keeps_ ? line : std::string());
    const LoggedEvent logged = from_json_line(line, "a run");
    blocks_ += std::holds_alternative<fact::IterationBlock>(logged.event) ? 1 : 0;
    summary_.apply(logged);
  }
  void keep_no_lines() { keeps_ = false; }

  const RunNumbers& numbers() const { return summary_.numbers(); }
  const PhaseNumbers& phase() const { return numbers().phases.back(); }
  double bytes() const { return bytes_; }
  double time() const { return time_; }
  int blocks() const { return blocks_; }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  LogBudget budget_;
  IterationCondenser condenser_{budget_};
  RunSummary summary_;
  double time_ = 0.0;
  double bytes_ = 0.0;
  int blocks_ = 0;
  bool keeps_ = true;
  std::vector<std::string> lines_;
};

// The first iterations one by one, and then blocks.
const LogBudget kHalfBudget(0.0, 0.5 * LogBudget::kBurstBytes);

}  // namespace

TEST_CASE("However many iterations a second, the log grows by 20 MB an hour at most") {
  struct Job {
    std::uint32_t workers;
    std::uint32_t iterations_per_second;
    double seconds;
  };
  const auto job = GENERATE(Job{2, 1000, 3600.0}, Job{2, 10000, 240.0}, Job{64, 1000, 120.0},
                            Job{64, 10000, 24.0}, Job{1000, 5, 1200.0});
  CAPTURE(job.workers, job.iterations_per_second);
  Measurements measured(job.workers);
  // The same again and again: what is drawn takes longer than what is tested.
  const auto count = static_cast<std::uint32_t>(job.iterations_per_second * kTick);
  fact::Iterations series = measured.next(count);
  LoggedRun run{LogBudget()};
  run.keep_no_lines();
  run.begin(measured.membership());
  double bytes_then = 0.0, time_then = 0.0;
  bool is_bounded = true;
  while (run.time() < job.seconds) {
    run.add(series);
    series.first += count;
    is_bounded &= run.bytes() <= LogBudget::kBurstBytes + LogBudget::kBytesPerSecond * run.time();
    if (run.time() < 0.5 * job.seconds) {
      bytes_then = run.bytes();
      time_then = run.time();
    }
  }
  const double per_hour = 3600.0 * (run.bytes() - bytes_then) / (run.time() - time_then);
  WARN(fmt::format("K = {}, {} iterations/s: {:.1f} MB an hour, {} blocks in {:.0f} s", job.workers,
                   job.iterations_per_second, per_hour / 1e6, run.blocks(), run.time()));
  CHECK(is_bounded);
  CHECK(per_hour <= LogBudget::kBytesPerHour);
  CHECK(run.blocks() > 0);
  run.close();
  CHECK(run.phase().iterations == series.first);
  CHECK(run.numbers().iterations == series.first);
}

TEST_CASE("Blocks say what the iterations by themselves say") {
  Measurements measured(3);
  LoggedRun single{LogBudget()}, blocks{kHalfBudget};
  single.begin(measured.membership());
  blocks.begin(measured.membership());
  for (int i = 0; i < 400; ++i) {
    const fact::Iterations series = measured.next(50);
    single.log(series);
    blocks.add(series);
  }
  blocks.close();
  REQUIRE(blocks.blocks() > 10);

  const PhaseNumbers &one = single.phase(), &other = blocks.phase();
  CHECK(other.iterations == one.iterations);
  CHECK(other.discarded_iterations == one.discarded_iterations);
  for (const auto timer : {&IterationTimers::iteration_seconds, &IterationTimers::data_wait_seconds,
                           &IterationTimers::forward_seconds, &IterationTimers::backward_seconds,
                           &IterationTimers::compute_seconds, &IterationTimers::sync_wait_seconds,
                           &IterationTimers::transfer_seconds}) {
    const SeriesStatistics &a = one.*timer, &b = other.*timer;
    CHECK(b.moments().count() == a.moments().count());
    CHECK(b.moments().mean() == Approx(a.moments().mean()).epsilon(1e-4));
    CHECK(b.moments().standard_error() ==
          Approx(a.moments().standard_error()).epsilon(1e-4).margin(1e-12));
    CHECK(b.minimum() == Approx(a.minimum()).epsilon(1e-4));
    CHECK(b.maximum() == Approx(a.maximum()).epsilon(1e-4));
    for (const double q : {0.05, 0.5, 0.95})
      CHECK(b.quantile(q) == Approx(a.quantile(q)).epsilon(0.025));
  }
  const SeriesStatistics &a = one.iteration_seconds, &b = other.iteration_seconds;
  for (const double q : {0.05, 0.5, 0.95}) CHECK(b.quantile(q) == a.quantile(q));
  CHECK(b.robust_mean().outliers == a.robust_mean().outliers);
  CHECK(b.robust_mean().mean == Approx(a.robust_mean().mean).epsilon(1e-4));
  CHECK(b.robust_mean().standard_error == Approx(a.robust_mean().standard_error).epsilon(1e-3));
  CHECK(other.straggler_skew.mean() == Approx(one.straggler_skew.mean()).epsilon(1e-4));
  CHECK(other.waiting_share() == Approx(one.waiting_share()).epsilon(1e-4));
  for (std::size_t k = 0; k < 3; ++k) {
    const SeriesStatistics &x = one.workers[k].compute_seconds,
                           &y = other.workers[k].compute_seconds;
    CHECK(y.moments().count() == x.moments().count());
    CHECK(y.moments().mean() == Approx(x.moments().mean()).epsilon(1e-4));
    CHECK(y.quantile(0.5) == Approx(x.quantile(0.5)).epsilon(0.05));
  }

  for (const bool of_job : {true, false}) {
    const auto x = of_job ? single.numbers().noise.numbers() : one.noise.numbers();
    const auto y = of_job ? blocks.numbers().noise.numbers() : other.noise.numbers();
    REQUIRE((x && y));
    CHECK(y->last_iteration == x->last_iteration);
    CHECK(y->estimate.iterations == x->estimate.iterations);
    CHECK(y->estimate.stable == x->estimate.stable);
    CHECK(y->estimate.noise_scale.value == Approx(x->estimate.noise_scale.value).epsilon(1e-4));
    CHECK(y->estimate.noise_scale.interval.low ==
          Approx(x->estimate.noise_scale.interval.low).epsilon(1e-3));
    CHECK(noise::gamma_at(y->estimate, 3, 48).value ==
          Approx(noise::gamma_at(x->estimate, 3, 48).value).epsilon(1e-4));
  }

  double sums[2] = {0.0, 0.0};
  std::uint64_t counts[2] = {0, 0};
  for (const int i : {0, 1})
    for (const CurvePoint& point : (i == 0 ? single : blocks).numbers().training_loss.points()) {
      sums[i] += point.mean * static_cast<double>(point.count);
      counts[i] += point.count;
    }
  CHECK(counts[1] == counts[0]);
  CHECK(sums[1] == Approx(sums[0]).epsilon(1e-5));
}

TEST_CASE("Whoever reads blocks knows what was known when they were written") {
  Measurements measured(2);
  LoggedRun run{LogBudget(0.0, 1.8e6)};
  run.begin(measured.membership());
  for (int i = 0; i < 100; ++i) run.add(measured.next(100));
  run.close();
  REQUIRE(run.blocks() > 5);

  RunSummary read;
  for (const std::string& line : run.lines()) read.apply(from_json_line(line, "a log"));
  const TemporaryFolder folder;
  write_json_report(folder.path() / "written.json", run.numbers());
  write_json_report(folder.path() / "read.json", read.numbers());
  CHECK(read_file(folder.path() / "written.json") == read_file(folder.path() / "read.json"));
}

TEST_CASE("A log with room has iterations one by one, and a membership's first ones longest") {
  Measurements measured(2);
  LoggedRun slow{LogBudget()};
  slow.begin(measured.membership());
  for (int i = 0; i < 1000; ++i) slow.add(measured.next(5));
  CHECK(slow.blocks() == 0);

  Measurements again(2);
  LoggedRun fast{LogBudget(0.0, 1.2e6)};
  fast.begin(again.membership());
  fast.add(again.next(1000));
  const auto first = std::get<fact::Iterations>(from_json_line(fast.lines().back(), "").event);
  CHECK(first.first == 0);
  CHECK(first.count == IterationCondenser::kSingleIterations);
  fast.close();
  const auto rest = std::get<fact::IterationBlock>(from_json_line(fast.lines().back(), "").event);
  CHECK(rest.first == IterationCondenser::kSingleIterations);
  CHECK(rest.count == 1000 - IterationCondenser::kSingleIterations);
  CHECK(rest.discarded == 0);
}

TEST_CASE("Half batches are thinned out, and what they say of the noise is not") {
  const fact::Membership membership = sample_membership(1, {64});
  noise::KnownGradients problem(31, 64, 1.0, 50.0);
  LoggedRun single{LogBudget()}, blocks{kHalfBudget};
  single.begin(membership);
  blocks.begin(membership);
  for (std::uint64_t first = 0; first < 50000; first += 500) {
    fact::Iterations made = sample_iterations(1, first, 500, 1);
    for (std::uint64_t i = 0; i < 500; i += 10) {
      problem.draw({32.0, 32.0});
      made.half_batches.push_back({first + i,
                                   32,
                                   32,
                                   0.001,
                                   {problem.parts[0].sqr_norm},
                                   {problem.parts[1].sqr_norm},
                                   {problem.batch_sqr_norm}});
    }
    single.log(made);
    blocks.add(made);
  }
  blocks.close();
  CHECK(blocks.bytes() < 0.2 * single.bytes());
  const auto x = single.numbers().noise.numbers(), y = blocks.numbers().noise.numbers();
  REQUIRE((x && y));
  CHECK(y->estimate.noise_scale.value == Approx(x->estimate.noise_scale.value).epsilon(1e-3));
  CHECK(blocks.numbers().noise.half_batch_seconds() ==
        Approx(single.numbers().noise.half_batch_seconds()));
}

TEST_CASE("A damaged block is refused") {
  const std::string whole = to_json_line({1.0, sample_block(1, 0)});
  const auto with = [&](const std::string& old, const std::string& now) {
    std::string line = whole;
    const std::size_t place = line.find(old);
    REQUIRE(place != std::string::npos);
    return line.replace(place, old.size(), now);
  };
  CHECK_NOTHROW(from_json_line(whole, "there"));
  CHECK_THROWS_WITH(from_json_line(with("[1,4,-300,1]", "[1,4,-300]"), "there"),
                    Catch::Contains("quantiles"));
  CHECK_THROWS_WITH(from_json_line(with("[1,4,-300,1]", "[1,4,-300,-9000000000]"), "there"),
                    Catch::Contains("quantiles"));
  CHECK_THROWS_WITH(
      from_json_line(with("\"moments\":[0.25,0.125,0,0.5]", "\"moments\":[0.25]"), "there"),
      Catch::Contains("moments"));
  CHECK_THROWS_WITH(from_json_line(with("\"job_noise\":[", "\"job_noise\":[1,"), "there"),
                    Catch::Contains("noise estimator"));
}

}  // namespace scavenger::elastic
