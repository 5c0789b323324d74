#include "elastic/coordinator/job/host.h"

#include <catch2/catch.hpp>

using namespace scavenger;
using namespace scavenger::elastic;

TEST_CASE("workers share the host's cores, and each has at least one") {
  ClusterConfig cluster;
  cluster.workers = 3;

  CHECK(threads_of(cluster, 0, 12) == 4);
  CHECK(threads_of(cluster, 1, 8) == 2);
  CHECK(threads_of(cluster, 2, 2) == 1);
}

TEST_CASE("workers on hosts share the cores of their own host only") {
  ClusterConfig cluster;
  cluster.workers = 3;
  cluster.hosts = {{"a", "10.0.0.1", {"ssh", "a"}, 2}, {"b", "10.0.0.2", {"ssh", "b"}, 2}};

  CHECK(threads_of(cluster, 0, 8) == 4);
  CHECK(threads_of(cluster, 1, 8) == 4);
  CHECK(threads_of(cluster, 2, 8) == 8);
}

TEST_CASE("threads that the user has configured are the user's choice") {
  ClusterConfig cluster;
  cluster.workers = 4;
  cluster.threads_per_worker = 9;

  CHECK(threads_of(cluster, 3, 2) == 9);
}

TEST_CASE("the host has a core, a name and memory") {
  const fact::Host host = describe_host(usable_cores());

  CHECK(host.cores >= 1);
  CHECK_FALSE(host.name.empty());
  CHECK(host.memory_bytes > 0);
}
