#include "test/unit/runtime/provider/conformance.h"

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
