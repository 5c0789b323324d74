#include "test/unit/runtime/provider/conformance.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "kubernetes/provider/kubernetes_provider.h"
#include "runtime/base/clock.h"
#include "test/unit/kubernetes/fake_cluster.h"

namespace scavenger::kubernetes {
namespace {

ProviderTrial::Make make_provider(const KubernetesSettings& settings,
                                  const std::filesystem::path& folder, const Clock& clock) {
  return [&settings, folder, &clock](asio::io_context& io) {
    return std::make_unique<KubernetesProvider>(io, settings, "job", folder, clock);
  };
}

}  // namespace

TEST_CASE("kubernetes: the contract of providers") {
  asio::io_context fake_io;
  FakeCluster fake(fake_io, small_cluster());
  TemporaryFolder folder;
  const SteadyClock clock;
  const KubernetesSettings settings = quick_settings(fake.kubeconfig());
  check_conformance(make_provider(settings, folder.path(), clock));
  const json ledger = fake.ledger();
  CHECK(ledger["pods"].size() >= 2);
  for (const json& pod : ledger["pods"]) CHECK_FALSE(pod["gone"].is_null());
  CHECK(ledger["violations"] == json::array());
}

TEST_CASE("kubernetes: the contract on a cluster that SCAVENGER_TEST_KUBECONFIG names") {
  const char* const kubeconfig = std::getenv("SCAVENGER_TEST_KUBECONFIG");
  const char* const image = std::getenv("SCAVENGER_TEST_IMAGE");
  if (kubeconfig == nullptr || image == nullptr) {
    WARN(
        "skipped: set SCAVENGER_TEST_KUBECONFIG, and SCAVENGER_TEST_IMAGE to an image whose "
        "scavenger-worker goes on without a controller");
    return;
  }
  TemporaryFolder folder;
  const SteadyClock clock;
  KubernetesSettings settings = quick_settings(kubeconfig);
  settings.image = image;
  check_conformance(make_provider(settings, folder.path(), clock));
}

TEST_CASE("kubernetes: over TLS, with a certificate of the client") {
  asio::io_context fake_io;
  TemporaryFolder certificates;
  FakeCluster fake(fake_io, small_cluster(), {"--tls", certificates.path().string()});
  CHECK(fake.endpoint().starts_with("https://"));
  TemporaryFolder folder;
  const SteadyClock clock;
  const KubernetesSettings settings = quick_settings(fake.kubeconfig());
  ProviderTrial trial(make_provider(settings, folder.path(), clock));
  const Machine machine = trial.ready(1, 5, true);
  CHECK(machine.starts_worker);
  CHECK(machine.spot);
  CHECK(machine.type == "small");
  CHECK(machine.price.per_hour == Approx(0.03));
  CHECK(machine.price.on_demand_per_hour == Approx(0.1));
  CHECK_THAT(machine.name, Catch::Contains("-worker-5-"));
  CHECK(trial.provider().controller_address() == "127.0.0.1");
}

TEST_CASE("kubernetes: a drained node gives notice, then its Pod is lost") {
  asio::io_context fake_io;
  FakeCluster fake(fake_io, small_cluster());
  TemporaryFolder folder;
  const SteadyClock clock;
  const KubernetesSettings settings = quick_settings(fake.kubeconfig());
  ProviderTrial trial(make_provider(settings, folder.path(), clock));
  const Machine machine = trial.ready(1, 0, true);
  SECTION("by its node's taint alone") {
    fake.ask("taint?node=node-spot&key=ToBeDeletedByClusterAutoscaler");
    trial.run_until([&] { return trial.words(1) == Words{"ready", "notice"}; });
  }
  SECTION("drained") {
    fake.ask("drain?node=node-spot");
    trial.run_until([&] { return trial.words(1).back() == "lost"; });
    CHECK(trial.words(1)[1] == "notice");
  }
  SECTION("taken away without notice") {
    fake.ask("preempt?node=node-spot&notice=false");
    trial.run_until([&] { return trial.words(1).back() == "lost"; });
  }
  trial.end();
}

TEST_CASE("kubernetes: a Pod has a longest life, whatever becomes of its job") {
  asio::io_context fake_io;
  FakeCluster fake(fake_io, small_cluster());
  TemporaryFolder folder;
  const SteadyClock clock;
  KubernetesSettings settings = quick_settings(fake.kubeconfig());
  settings.max_run_seconds = 1.0;
  ProviderTrial trial(make_provider(settings, folder.path(), clock));
  trial.ready(1);
  trial.run_until([&] { return trial.words(1).back() == "lost"; });
  CHECK(trial.diary().losses.at(1).was_taken);
  CHECK_THAT(trial.diary().losses.at(1).how, Catch::Contains("provider.max_run_seconds"));
}

TEST_CASE("kubernetes: what became of a Pod whose worker was lost") {
  asio::io_context fake_io;
  FakeCluster fake(fake_io, small_cluster());
  TemporaryFolder folder;
  const SteadyClock clock;
  KubernetesSettings settings = quick_settings(fake.kubeconfig());
  settings.judge_seconds = 0.5;
  settings.dead_node_seconds = 1.0;
  ProviderTrial trial(make_provider(settings, folder.path(), clock));
  const Machine machine = trial.ready(1, 0, true);
  const auto loss_of_abandoned = [&]() -> MachineLoss {
    trial.abandon(1);
    trial.run_until([&] { return trial.words(1).size() > 1; });
    REQUIRE(trial.words(1) == Words{"ready", "lost"});
    return trial.diary().losses.at(1);
  };
  SECTION("its node was taken away, which the provider has not heard yet") {
    fake.ask("preempt?node=node-spot&notice=false");
    CHECK(loss_of_abandoned().was_taken);
  }
  SECTION("its container ended by itself") {
    fake.ask("end?pod=" + machine.name + "&code=137&reason=OOMKilled");
    const MachineLoss loss = loss_of_abandoned();
    CHECK_FALSE(loss.was_taken);
    CHECK_THAT(loss.how, Catch::Contains("raise memory_gib"));
  }
  SECTION("its node is silent until the cluster sees that it is gone") {
    fake.ask("silence?node=node-spot&seconds=3");
    const MachineLoss loss = loss_of_abandoned();
    CHECK(loss.was_taken);
    CHECK_THAT(loss.how, Catch::Contains("DeletionByPodGC"));
  }
  SECTION("its node is silent, and the Pod is removed by hand after a while") {
    fake.ask("silence?node=node-spot&seconds=1000");
    trial.abandon(1);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(8);
    trial.run_until([&] { return std::chrono::steady_clock::now() > end; });
    CHECK(trial.words(1) == Words{"ready"});
    fake.ask("remove?pod=" + machine.name);
    const MachineLoss loss = loss_of_abandoned();
    CHECK(loss.was_taken);
    CHECK_THAT(loss.how, Catch::Contains("its node node-spot has not ended its Pod"));
  }
  trial.end();
}

TEST_CASE("kubernetes: the API server is restarted, and forgets what a watch asks for") {
  asio::io_context fake_io;
  FakeCluster fake(fake_io, small_cluster());
  TemporaryFolder folder;
  const SteadyClock clock;
  const KubernetesSettings settings = quick_settings(fake.kubeconfig());
  ProviderTrial trial(make_provider(settings, folder.path(), clock));
  trial.ready(1, 0, true);
  fake.ask("restart");
  trial.run_on();
  fake.ask("preempt?node=node-spot&notice=false");
  trial.run_until([&] { return trial.words(1).back() == "lost"; });
  CHECK_FALSE(trial.ready(2, 1, false).name.empty());
}

}  // namespace scavenger::kubernetes
