#include "runtime/provider/local/local_provider.h"

#include "test/unit/runtime/provider/conformance.h"

using namespace scavenger;

TEST_CASE("local: the contract of providers") {
  ClusterConfig cluster;
  cluster.price_per_worker_hour = 0.5;
  check_conformance(
      [&](asio::io_context& io) { return std::make_unique<LocalProvider>(io, cluster, 4); });
}

TEST_CASE("local: a worker's machine is the host that the configuration gives it") {
  ClusterConfig cluster;
  cluster.workers = 3;
  cluster.hosts = {{"a", "10.0.0.1", {}, 1}, {"b", "10.0.0.2", {"ssh", "b"}, 2}};
  ProviderTrial trial(
      [&](asio::io_context& io) { return std::make_unique<LocalProvider>(io, cluster, 4); });

  CHECK(trial.ready(1, 0).address == "10.0.0.1");
  CHECK(trial.ready(2, 2).launch == Words{"ssh", "b"});
  CHECK(trial.provider().controller_address().empty());
}
