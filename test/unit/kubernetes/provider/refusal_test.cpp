// What a cluster refuses is told in the user's words.
#include <catch2/catch.hpp>
#include <fstream>

#include "runtime/base/file.h"
#include "test/unit/kubernetes/fake_cluster.h"
#include "test/unit/kubernetes/provider/pod_job.h"

namespace scavenger::kubernetes {
namespace {

struct Ended {
  std::string message;
  json ledger;
  std::string journal;
};

Ended run_job(const json& cluster, const std::function<void(KubernetesSettings&)>& change = {}) {
  asio::io_context io;
  FakeCluster fake(io, cluster);
  TemporaryFolder folder;
  KubernetesSettings settings = quick_settings(fake.kubeconfig());
  settings.wait_seconds = 1.0;
  if (change) change(settings);
  PodJob job(io, settings, {.seconds = 60.0}, folder.path());
  run_to_end(io, job);
  CHECK(job.left() == std::vector<std::string>{});
  CHECK(job.breaches() == std::vector<std::string>{});
  return {job.message(), fake.ledger(), read_file(PodJournal::file_in(folder.path()))};
}

json changed(const json& part) {
  json cluster = small_cluster();
  cluster.merge_patch(part);
  return cluster;
}

}  // namespace

TEST_CASE("kubernetes: no node has room") {
  const Ended ended = run_job(
      small_cluster(), [](KubernetesSettings& settings) { settings.machines[0].cores = 8.0; });
  CHECK_THAT(ended.message, Catch::Contains("no node takes it") &&
                                Catch::Contains("Insufficient cpu") &&
                                Catch::Contains("provider.wait_seconds"));
  for (const json& pod : ended.ledger["pods"]) CHECK_FALSE(pod["gone"].is_null());
}

TEST_CASE("kubernetes: the image cannot be pulled") {
  const Ended ended = run_job(changed({{"images", {{"other:1", json::object()}}}}),
                              [](KubernetesSettings& s) { s.wait_seconds = 60.0; });
  CHECK_THAT(ended.message, Catch::Contains("its image cannot be pulled") &&
                                Catch::Contains("scavenger:test") &&
                                Catch::Contains("check provider.image"));
  CHECK(ended.ledger["pods"].size() == 1);
}

TEST_CASE("kubernetes: the quota is used up") {
  const Ended ended = run_job(changed({{"quota", {{"pods", 0}}}}));
  CHECK_THAT(ended.message, Catch::Contains("exceeded quota") && Catch::Contains("ResourceQuota"));
  CHECK(ended.ledger["pods"].empty());
}

TEST_CASE("kubernetes: what the account may not do is told before anything is asked for") {
  const json rules = {{{"verbs", {"get", "list", "watch"}}, {"resources", {"pods"}}}};
  const Ended ended = run_job(changed({{"accounts", {{"dev", {{"rules", rules}}}}}}));
  CHECK_THAT(ended.message, Catch::Contains("cannot create pods, delete pods, create secrets") &&
                                Catch::Contains("docs/kubernetes.md"));
  CHECK(ended.ledger["pods"].empty());
}

TEST_CASE("kubernetes: nodes need not be readable") {
  const json rules = {{{"verbs", {"create", "delete", "get", "list", "watch"}},
                       {"resources", {"pods", "secrets"}}}};
  asio::io_context io;
  FakeCluster fake(io, changed({{"accounts", {{"dev", {{"rules", rules}}}}}}));
  TemporaryFolder folder;
  PodJob job(io, quick_settings(fake.kubeconfig()), {.workers = 2, .seconds = 2.0}, folder.path());
  run_to_end(io, job);
  CHECK(job.message().empty());
  CHECK(job.leased() >= 2);
}

TEST_CASE("kubernetes: a token that is replaced is read again") {
  asio::io_context io;
  FakeCluster fake(io, small_cluster());
  TemporaryFolder folder;
  const std::filesystem::path token = folder.path() / "token";
  std::ofstream(token) << "dev\n";
  json config = json::parse(read_file(fake.kubeconfig()));
  config["users"][0]["user"] = {{"tokenFile", token.string()}};
  std::ofstream(folder.path() / "config") << config.dump();
  PodJob job(io, quick_settings(folder.path() / "config"), {.workers = 1, .seconds = 1.0},
             folder.path() / "run");
  bool has_ended = false;
  job.start([&] { has_ended = true; });
  io.restart();
  while (job.leased() == 0 && io.run_one() > 0) {
  }
  std::ofstream(token) << "new\n";
  fake.ask("token?new=new");
  io.restart();
  while (!has_ended && io.run_one() > 0) {
  }
  CHECK(job.message().empty());
  CHECK(job.left() == std::vector<std::string>{});
}

TEST_CASE("kubernetes: the ticket is in no file of the job, and its Secret goes with its Pod") {
  asio::io_context io;
  FakeCluster fake(io, small_cluster());
  TemporaryFolder folder;
  PodJob job(io, quick_settings(fake.kubeconfig()), {.workers = 2, .seconds = 1.0}, folder.path());
  run_to_end(io, job);
  REQUIRE(job.leased() >= 1);
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    CHECK_THAT(read_file(entry.path()), !Catch::Contains("must-not-be-seen"));
  for (int i = 0; i < 200 && !fake.ledger()["secrets"].empty(); ++i) {
    asio::steady_timer(io, std::chrono::milliseconds(50)).wait();
  }
  CHECK(fake.ledger()["secrets"].empty());
}

}  // namespace scavenger::kubernetes
