// Two hundred jobs lease and return Pods of clusters in which nothing can be relied on.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>

#include "runtime/base/file.h"
#include "runtime/base/log.h"
#include "test/unit/kubernetes/fake_cluster.h"
#include "test/unit/kubernetes/provider/pod_job.h"

namespace scavenger::kubernetes {
namespace {

constexpr int kClusters = 4;
constexpr int kJobsPerCluster = 50;
constexpr int kAtOnce = 10;
constexpr int kJobsPerTrouble = 10;

json unreliable_cluster(int seed) {
  json cluster = small_cluster();
  for (auto& [name, node] : cluster["nodes"].items()) node["cpu"] = 200;
  cluster["seed"] = seed;
  cluster["lives"] = {{"mean_seconds", 2.0}, {"notice_share", 0.5}};
  cluster["notice_seconds"] = 1;
  cluster["page_size"] = 7;
  cluster["keep"] = 40;  // a slow watch has expired before it begins
  cluster["retry_after"] = 0;
  cluster["slow_seconds"] = 0.05;
  cluster["faults"] = {{"cut", 0.03},          {"reply_lost", 0.06}, {"error_before", 0.04},
                       {"error_after", 0.05},  {"rate_limit", 0.03}, {"slow", 0.03},
                       {"token_expiry", 0.02}, {"watch_cut", 0.03},  {"list_expired", 0.1}};
  return cluster;
}

struct Tally {
  int leased = 0;
  int lost = 0;
  int notices = 0;
  int refused = 0;
};

// What happens to the API server while jobs run: it is restarted, and forgets what watches ask for;
// and every other time all tokens that it knew are replaced.
class ServerTrouble final {
 public:
  ServerTrouble(FakeCluster& fake, const std::filesystem::path& folder)
      : fake_(fake), token_(folder / "token"), kubeconfig_(folder / "kubeconfig") {
    json config = json::parse(read_file(fake.kubeconfig()));
    std::ofstream(token_) << config["users"][0]["user"]["token"].get<std::string>();
    config["users"][0]["user"] = {{"tokenFile", token_.string()}};
    std::ofstream(kubeconfig_) << config.dump();
  }

  const std::filesystem::path& kubeconfig() const { return kubeconfig_; }
  void strike() {
    fake_.ask("restart");
    if (++strikes_ % 2 == 1) return;
    const std::string next = "token-" + std::to_string(strikes_);
    std::ofstream(token_) << next;
    fake_.ask("token?new=" + next);
  }
  int strikes() const { return strikes_; }

 private:
  FakeCluster& fake_;
  const std::filesystem::path token_;
  const std::filesystem::path kubeconfig_;
  int strikes_ = 0;
};

void run_jobs(int seed, Tally& tally) {
  asio::io_context io;
  FakeCluster fake(io, unreliable_cluster(seed));
  TemporaryFolder folder;
  ServerTrouble trouble(fake, folder.path());
  std::vector<std::unique_ptr<PodJob>> jobs;
  std::map<std::string, unsigned> workers;  // by the job's name
  int begun = 0, ended = 0;
  const std::function<void()> next = [&] {
    if (begun == kJobsPerCluster) return;
    RandomStream stream(static_cast<std::uint64_t>(seed), "job",
                        {static_cast<std::uint64_t>(begun)});
    const PodJobPlan plan{.name = "job-" + std::to_string(begun++),
                          .workers = 1 + static_cast<unsigned>(stream.below(3)),
                          .spot = stream.uniform() < 0.8,
                          .seconds = 0.5 + stream.uniform()};
    workers[plan.name] = plan.workers;
    jobs.push_back(std::make_unique<PodJob>(io, quick_settings(trouble.kubeconfig()), plan,
                                            folder.path() / plan.name));
    jobs.back()->start([&] {
      ++ended;
      next();
    });
  };
  for (int i = 0; i < kAtOnce; ++i) next();
  io.restart();
  while (ended < kJobsPerCluster && io.run_one() > 0) {
    if (ended < (trouble.strikes() + 1) * kJobsPerTrouble) continue;
    trouble.strike();
    io.restart();
  }
  CHECK(trouble.strikes() >= kJobsPerCluster / kJobsPerTrouble - 1);
  for (const auto& job : jobs) {
    tally.leased += job->leased();
    tally.lost += job->lost();
    tally.notices += job->notices();
    tally.refused += job->was_refused() ? 1 : 0;
    CHECK(job->left() == std::vector<std::string>{});
    CHECK(job->breaches() == std::vector<std::string>{});
    if (job->was_refused()) CHECK_THAT(job->message(), Catch::Contains("remedy"));
  }
  const json ledger = fake.ledger();
  for (const json& pod : ledger["pods"]) {
    INFO(pod.dump());
    CHECK_FALSE(pod["gone"].is_null());
  }
  for (const auto& [job, most] : ledger["peaks"].items()) {
    INFO(job);
    CHECK(most <= workers.at(job.substr(0, job.rfind('-'))));
  }
  CHECK(ledger["violations"] == json::array());
  for (const char* const fault : {"cut", "reply_lost", "error_after", "watch_cut"})
    CHECK(ledger["faults"].value(fault, 0) > 0);
}

}  // namespace

TEST_CASE("Two hundred jobs in unreliable clusters leave no Pod, and make none twice") {
  start_log("test", LogLevel::kError);
  Tally tally;
  for (int seed = 1; seed <= kClusters; ++seed) {
    INFO("seed " << seed);
    run_jobs(seed, tally);
  }
  CHECK(tally.leased > 200);
  CHECK(tally.lost > 0);
  CHECK(tally.notices > 0);
  WARN(tally.leased << " Pods leased, " << tally.lost << " lost, " << tally.notices << " notices, "
                    << tally.refused << " jobs refused");
}

}  // namespace scavenger::kubernetes
