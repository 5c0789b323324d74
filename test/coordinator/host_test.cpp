#include "elastic/coordinator/host.h"

#include <catch2/catch.hpp>

using namespace scavenger;
using namespace scavenger::elastic;

TEST_CASE("workers share the host's cores, and each has at least one") {
  ClusterConfig cluster;
  cluster.workers = 3;

  CHECK(threads_per_worker(cluster, 12) == 4);
  CHECK(threads_per_worker(cluster, 8) == 2);
  CHECK(threads_per_worker(cluster, 2) == 1);
}

TEST_CASE("threads that the user has configured are the user's choice") {
  ClusterConfig cluster;
  cluster.workers = 4;
  cluster.threads_per_worker = 9;

  CHECK(threads_per_worker(cluster, 2) == 9);
}

TEST_CASE("the host has a core, a name and memory") {
  const fact::Host host = describe_host(usable_cores());

  CHECK(host.cores >= 1);
  CHECK_FALSE(host.name.empty());
  CHECK(host.memory_bytes > 0);
}
