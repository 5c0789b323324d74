#include "runtime/config/placement.h"

#include <catch2/catch.hpp>
#include <string>

namespace scavenger {
namespace {

JobConfig config_with_hosts(std::uint32_t workers, std::vector<HostConfig> hosts) {
  JobConfig config;
  config.cluster.workers = workers;
  config.cluster.hosts = std::move(hosts);
  return config;
}

HostConfig host(const std::string& name, std::uint32_t workers) {
  return {name, "10.0.0.1", {"ssh", name}, workers};
}

std::string hosts_of_workers(const JobConfig& config) {
  std::string names;
  for (std::uint32_t i = 0; i < config.cluster.workers; ++i)
    names += host_of_worker(config.cluster, i)->name;
  return names;
}

std::string hosts_of_shards(const JobConfig& config) {
  std::string names;
  for (std::uint32_t i = 0; i < shard_count(config); ++i) {
    const HostConfig* const found = host_of_shard(config, i);
    names += found != nullptr ? found->name : "-";
  }
  return names;
}

}  // namespace

TEST_CASE("Without hosts everything runs beside the controller, with one shard") {
  JobConfig config;
  config.cluster.workers = 3;

  for (const auto placement :
       {ShardPlacement::kAutomatic, ShardPlacement::kController, ShardPlacement::kSpread}) {
    config.ps.placement = placement;
    CHECK(host_of_worker(config.cluster, 2) == nullptr);
    CHECK(hosts_of_shards(config) == "-");
    CHECK(workers_beside(config.cluster, 0) == 3);
  }
}

TEST_CASE("Hosts are filled in their order") {
  const std::vector<HostConfig> hosts = {host("a", 2), host("b", 1), host("c", 4)};

  CHECK(hosts_of_workers(config_with_hosts(2, hosts)) == "aa");
  CHECK(hosts_of_workers(config_with_hosts(4, hosts)) == "aabc");
  CHECK(hosts_of_workers(config_with_hosts(7, hosts)) == "aabcccc");
  CHECK(hosts_of_workers(config_with_hosts(9, hosts)) == "aabccccaa");  // as replacements may be
  CHECK(places(config_with_hosts(1, hosts).cluster) == 7);
}

TEST_CASE("Workers of one host know how many they are") {
  const JobConfig config = config_with_hosts(4, {host("a", 2), host("b", 1), host("c", 4)});

  CHECK(workers_beside(config.cluster, 0) == 2);
  CHECK(workers_beside(config.cluster, 1) == 2);
  CHECK(workers_beside(config.cluster, 2) == 1);
  CHECK(workers_beside(config.cluster, 3) == 1);
}

TEST_CASE("Shards are spread over the hosts that have workers, unless told otherwise") {
  JobConfig config = config_with_hosts(3, {host("a", 2), host("b", 1), host("c", 4)});

  CHECK(hosts_of_shards(config) == "ab");
  config.ps.shards = 5;
  CHECK(hosts_of_shards(config) == "ababa");
  config.ps.placement = ShardPlacement::kController;
  CHECK(hosts_of_shards(config) == "-----");
  config.ps.shards = 0;
  CHECK(hosts_of_shards(config) == "-");
}

TEST_CASE("A shard works in the memory of its host's workers, unless that is not wanted") {
  JobConfig config = config_with_hosts(3, {host("a", 2), host("b", 1)});

  CHECK(is_near(config, 1, 0));
  CHECK(is_near(config, 2, 1));
  CHECK_FALSE(is_near(config, 2, 0));
  config.sync.wire_precision = WirePrecision::kBfloat16;
  CHECK_FALSE(is_near(config, 1, 0));
  config.sync.wire_precision = WirePrecision::kFloat32;
  config.sync.transport = SyncTransport::kTcp;
  CHECK_FALSE(is_near(config, 1, 0));
  config.sync.transport = SyncTransport::kAutomatic;
  config.ps.placement = ShardPlacement::kController;
  CHECK_FALSE(is_near(config, 1, 0));
  config.cluster.hosts.clear();
  CHECK_FALSE(is_near(config, 1, 0));
}

}  // namespace scavenger
