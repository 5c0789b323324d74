// Two hundred jobs rent and return VMs of a cloud in which nothing can be relied on.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>

#include "runtime/base/file.h"
#include "runtime/base/log.h"
#include "test/unit/cloud_gcp/fake_cloud.h"
#include "test/unit/cloud_gcp/provider/rented_job.h"

namespace scavenger::gcp {
namespace {

constexpr double kTimeScale = 600.0;  // a minute of the cloud is a tenth of a second
constexpr int kClouds = 8;
constexpr int kJobsPerCloud = 25;

json unreliable_cloud(int seed) {
  json cloud = small_cloud();
  cloud["seed"] = seed;
  cloud["time_scale"] = kTimeScale;
  cloud["zones"] = {{"us-central1-a", {{"*", 30}}}, {"us-central1-b", {{"*", 30}}}};
  const int cpus = seed % 2 == 0 ? 200 : 75;
  cloud["quotas"] = {{"us-central1", {{"CPUS", cpus}, {"N2D_CPUS", cpus}, {"INSTANCES", 200}}}};
  cloud["page_size"] = 7;
  cloud["spot_lives"] = {{"early_share", 0.3}, {"early_hours", 0.1}, {"mean_hours", 1.0}};
  cloud["faults"] = {{"reply_lost", 0.05},   {"late", 0.03},
                     {"duplicate", 0.05},    {"error_before", 0.05},
                     {"error_after", 0.03},  {"rate_limit", 0.02},
                     {"stock_out", 0.1},     {"operation_error", 0.05},
                     {"slow_wait", 0.2},     {"lost_operation", 0.03},
                     {"token_expiry", 0.02}, {"no_notice", 0.5}};
  return cloud;
}

struct Tally {
  std::map<RentedJob::End, int> ends;
  int rented = 0;
  int lost = 0;
  int together = 0;  // VMs of requests for several
};

// How long jobs of this process had to wait for a processor: meanwhile machines cost money, of
// which the provider knows nothing. On a machine that does nothing else it is nearly nothing.
class Lateness final {
 public:
  explicit Lateness(asio::io_context& io) : timer_(io) { wait(); }
  double seconds() const { return seconds_; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kTick{10};
  static constexpr double kUsualSeconds = 0.005;

  void wait() {
    due_ = Clock::now() + kTick;
    timer_.expires_at(due_);
    timer_.async_wait([this](const boost::system::error_code& error) {
      if (error) return;  // it is destroyed
      const double late = std::chrono::duration<double>(Clock::now() - due_).count();
      seconds_ += std::max(0.0, late - kUsualSeconds);
      wait();
    });
  }

  asio::steady_timer timer_;
  Clock::time_point due_;
  double seconds_ = 0.0;
};

struct CostLimit {
  double dollars = 0.0;
  unsigned workers = 0;
};

// What the cloud knows, against what the jobs say. `late_seconds` are ours.
void check_ledger(const json& ledger, const std::map<std::string, CostLimit>& limits,
                  double late_seconds, Tally& tally) {
  const PriceCatalog& prices = PriceCatalog::built_in();
  std::map<std::string, int> names;
  std::map<std::string, int> requests;
  std::map<std::string, double> costs;  // by job
  double highest_per_hour = 0.0;
  for (const json& vm : ledger["vms"]) {
    const std::string name = vm["name"];
    INFO(name);
    CHECK_FALSE(vm["gone"].is_null());  // leaked
    ++names[name];
    ++requests[vm["request_id"]];
    if (vm["running"].is_null() || vm["gone"].is_null()) continue;
    const double per_hour =
        prices.per_hour(vm["machine_type"], "us-central1",
                        vm["spot"] ? Provisioning::kSpot : Provisioning::kOnDemand);
    highest_per_hour = std::max(highest_per_hour, per_hour);
    const std::string job = vm["labels"]["scavenger-job"];
    costs[job.substr(0, job.rfind('-'))] +=
        vm_cost(per_hour, vm["gone"].get<double>() - vm["running"].get<double>());
  }
  for (const auto& [name, count] : names) CHECK(count == 1);
  for (const auto& [request, count] : requests) CHECK(count <= ledger["asked"][request]);
  for (const auto& [request, count] : requests) tally.together += count > 1 ? count : 0;
  const double late_dollars = late_seconds * kTimeScale / 3600.0 * highest_per_hour;
  for (const auto& [job, limit] : limits) {
    INFO(job << ", late by " << late_seconds << " s");
    CHECK(costs[job] <= limit.dollars + limit.workers * late_dollars);
  }
  CHECK(ledger["violations"] == json::array());
}

void run_jobs(int seed, Tally& tally) {
  asio::io_context io;
  FakeCloud fake(io, unreliable_cloud(seed));
  TemporaryFolder folder;
  std::vector<std::unique_ptr<RentedJob>> jobs;
  std::map<std::string, CostLimit> limits;
  int running = kJobsPerCloud;
  for (int i = 0; i < kJobsPerCloud; ++i) {
    RandomStream stream(static_cast<std::uint64_t>(seed), "job", {static_cast<std::uint64_t>(i)});
    RentedJobPlan plan;
    plan.name = "job-" + std::to_string(i);
    plan.workers = 1 + static_cast<unsigned>(stream.below(4));
    plan.spot = stream.uniform() < 0.8;
    plan.seconds = 1.0 + 2.0 * stream.uniform();
    plan.time_scale = kTimeScale;
    plan.max_cost = stream.uniform() < 0.3 ? 0.022 * plan.workers : 10.0;
    limits[plan.name] = {plan.max_cost, plan.workers};
    jobs.push_back(std::make_unique<RentedJob>(io, quick_settings(fake.endpoint(), kTimeScale),
                                               plan, folder.path() / plan.name));
    jobs.back()->start([&running] { --running; });
  }
  const Lateness lateness(io);
  io.restart();
  while (running > 0 && io.run_one() > 0) {
  }
  for (const auto& job : jobs) {
    ++tally.ends[job->end()];
    tally.rented += job->rented();
    tally.lost += job->lost();
    CHECK(job->left() == std::vector<std::string>{});
    CHECK(job->breaches() == std::vector<std::string>{});
    if (job->end() == RentedJob::End::kRefused)
      CHECK_THAT(job->message(),
                 Catch::Contains("no VM is to be had") && Catch::Contains("name more zones"));
  }
  check_ledger(fake.ledger(), limits, lateness.seconds(), tally);
}

}  // namespace

TEST_CASE("Two hundred jobs in an unreliable cloud leave no VM, and rent none twice") {
  start_log("test", LogLevel::kError);
  ::setenv("SCAVENGER_GCP_TOKEN", "dev", 1);
  Tally tally;
  for (int seed = 1; seed <= kClouds; ++seed) {
    INFO("seed " << seed);
    run_jobs(seed, tally);
  }
  CHECK(tally.ends[RentedJob::End::kTarget] > 0);
  CHECK(tally.ends[RentedJob::End::kCostLimit] > 0);
  CHECK(tally.lost > 0);
  CHECK(tally.together > 0);
  WARN(tally.ends[RentedJob::End::kTarget]
       << " ended in time, " << tally.ends[RentedJob::End::kCostLimit] << " at their cost limit, "
       << tally.ends[RentedJob::End::kRefused] << " without capacity; " << tally.rented
       << " VMs rented, " << tally.together << " of them with others, " << tally.lost << " lost");
}

TEST_CASE("Where there is no capacity at all, the job ends and says which zones were asked") {
  ::setenv("SCAVENGER_GCP_TOKEN", "dev", 1);
  asio::io_context io;
  json cloud = small_cloud();
  cloud["zones"] = {{"us-central1-a", {{"*", 0}}}, {"us-central1-b", {{"*", 0}}}};
  cloud["time_scale"] = kTimeScale;
  FakeCloud fake(io, cloud);
  TemporaryFolder folder;
  RentedJobPlan plan;
  plan.name = "job";
  plan.time_scale = kTimeScale;
  plan.seconds = 60.0;
  RentedJob job(io, quick_settings(fake.endpoint(), kTimeScale), plan, folder.path());
  run_to_end(io, job);
  CHECK(job.end() == RentedJob::End::kRefused);
  CHECK_THAT(job.message(), Catch::Contains("us-central1-a e2-standard-2: stock-out") &&
                                Catch::Contains("us-central1-b n2d-standard-2: stock-out"));
  CHECK(fake.ledger()["vms"].empty());
}

TEST_CASE("The secret of a job is in no file of it, and not to be read in its VMs' metadata") {
  ::setenv("SCAVENGER_GCP_TOKEN", "a-token-that-must-not-be-seen", 1);
  asio::io_context io;
  json cloud = small_cloud();
  cloud["accounts"]["developer@demo"]["token"] = "a-token-that-must-not-be-seen";
  FakeCloud fake(io, cloud);
  TemporaryFolder folder;
  RentedJobPlan plan;
  plan.name = "job";
  plan.workers = 2;
  plan.seconds = 0.5;
  RentedJob job(io, quick_settings(fake.endpoint(), 200.0), plan, folder.path());
  run_to_end(io, job);
  REQUIRE(job.rented() == 2);
  CHECK_THAT(fake.ledger().dump(), !Catch::Contains("must-not-be-seen"));
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    const std::string text = read_file(entry.path());
    CHECK_THAT(text, !Catch::Contains("must-not-be-seen"));
  }
  ::setenv("SCAVENGER_GCP_TOKEN", "dev", 1);
}

}  // namespace scavenger::gcp
