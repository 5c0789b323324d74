#include <catch2/catch.hpp>

#include "ps/host/device_host_synchroniser.h"

using namespace scavenger;
using namespace scavenger::ps;

TEST_CASE("the workers of one host are a group of their own, in the order of their ranks") {
  SyncGroup group;
  group.membership.epoch = 5;
  group.membership.first_iteration = 40;
  group.membership.batch_size = 60;
  group.membership.shares = {10, 20, 30};
  group.hosts = {7, 2, 7};
  group.host_meeting = {"10.0.0.7", 700, false};

  group.rank = 2;
  const SyncGroup two = group_of_host(group);
  CHECK(two.rank == 1);
  CHECK(two.membership.epoch == 5);
  CHECK(two.membership.first_iteration == 40);
  CHECK(two.membership.shares == std::vector<std::uint32_t>{10, 30});
  CHECK(two.membership.batch_size == 40);
  CHECK(two.shards == std::vector<ShardAddress>{group.host_meeting});
  CHECK(two.source_rank == 0);

  group.rank = 1;
  CHECK(group_of_host(group).membership.shares == std::vector<std::uint32_t>{20});
  group.hosts.clear();  // each by itself
  group.rank = 2;
  CHECK(group_of_host(group).rank == 0);
  CHECK(group_of_host(group).membership.shares == std::vector<std::uint32_t>{30});
}
