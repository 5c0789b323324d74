#include "runtime/provider/machine_catalogue.h"

#include <catch2/catch.hpp>

#include "runtime/config/job_config.h"
#include "runtime/provider/emulated/emulated_provider.h"
#include "runtime/provider/local/local_provider.h"
#include "runtime/provider/slurm/slurm_provider.h"
#include "runtime/provider/ssh/ssh_provider.h"

using namespace scavenger;

namespace {

MachinePrice dollars(double per_hour) {
  return {.per_hour = per_hour, .source = {}};
}

}  // namespace

TEST_CASE("the price of a machine is that of the first, or of the cheapest, which there is") {
  MachineCatalogue catalogue{
      {{.type = "a", .zone = "x", .on_demand = dollars(3.0), .spot = dollars(2.0)},
       {.type = "b", .zone = "x", .on_demand = dollars(1.0)},
       {.type = "a", .zone = "y", .on_demand = dollars(2.5), .spot = dollars(2.2)}}};
  CHECK(price_of(catalogue, "", false)->per_hour == 3.0);
  CHECK(price_of(catalogue, "", true)->per_hour == 2.0);
  catalogue.order = MachineCatalogue::Order::kCheapestFirst;
  CHECK(price_of(catalogue, "", false)->per_hour == 1.0);
  CHECK(price_of(catalogue, "", true)->per_hour == 1.0);  // b is never spot
  CHECK(price_of(catalogue, "a", false)->per_hour == 2.5);
  CHECK(price_of(catalogue, "a", true)->per_hour == 2.0);
  CHECK_FALSE(price_of(catalogue, "c", false));
  CHECK_FALSE(price_of({}, "", false));
}

TEST_CASE("machines are counted if all of them are known") {
  MachineCatalogue catalogue{{{.type = "a", .count = 2}, {.type = "b", .count = 3}}};
  CHECK(count_of(catalogue) == 5U);
  catalogue.entries[0].count = std::nullopt;
  CHECK_FALSE(count_of(catalogue));
}

TEST_CASE("speeds are compared by cores, or among GPUs of one type") {
  MachineCatalogue catalogue{{{.type = "a", .cores = 2.0}, {.type = "b", .cores = 8.0}}};
  CHECK(expected_speeds(catalogue) == std::vector{2.0, 8.0});
  CHECK(expected_speeds(catalogue, 4.0) == std::vector{2.0, 4.0});
  for (CatalogueEntry& entry : catalogue.entries) entry.gpus = entry.cores;
  CHECK(expected_speeds(catalogue).empty());  // of GPUs that nobody has named
  for (CatalogueEntry& entry : catalogue.entries) entry.gpu_type = "a100";
  CHECK(expected_speeds(catalogue) == std::vector{1.0, 1.0});
  catalogue.entries[1].gpu_type = "h100";
  CHECK(expected_speeds(catalogue).empty());
  catalogue.entries[1] = {.type = "b", .cores = 8.0};
  CHECK(expected_speeds(catalogue).empty());
  CHECK(expected_speeds({}).empty());
}

TEST_CASE("local: room for a worker on each core, or for those that the hosts take") {
  ClusterConfig cluster;
  cluster.price_per_worker_hour = 0.5;
  const MachineCatalogue here = local_catalogue(cluster, 12);
  REQUIRE(here.entries.size() == 1);
  CHECK(count_of(here) == 12U);
  CHECK(here.entries[0].cores == 12.0);
  CHECK(price_of(here, "", true)->per_hour == 0.5);
  cluster.hosts = {{"a", "10.0.0.1", {}, 1}, {"b", "10.0.0.2", {"ssh", "b"}, 2}};
  CHECK(count_of(local_catalogue(cluster, 12)) == 3U);
}

TEST_CASE("emulated: its types in their order, with their links and two prices") {
  EmulatedSettings settings;
  settings.types = {{.name = "small",
                     .cores = 0.25,
                     .link_megabits = 400.0,
                     .price_per_hour = 0.2,
                     .spot_price_per_hour = 0.05,
                     .count = 2}};
  const MachineCatalogue catalogue = emulated_catalogue(settings);
  REQUIRE(catalogue.entries.size() == 1);
  CHECK(catalogue.entries[0].type == "small");
  CHECK(catalogue.entries[0].cores == 0.25);
  CHECK(catalogue.entries[0].link_megabits == 400.0);
  CHECK(catalogue.entries[0].count == 2U);
  CHECK(price_of(catalogue, "small", false)->per_hour == 0.2);
  CHECK(price_of(catalogue, "small", true)->per_hour == 0.05);
  CHECK(price_of(catalogue, "small", true)->on_demand_per_hour == 0.2);
}

TEST_CASE("ssh and slurm: hosts are places, a partition is a type without a count") {
  SshSettings ssh;
  ssh.hosts = {{.destination = "vm1", .address = "10.0.0.2", .workers = 2},
               {.destination = "vm2", .address = "10.0.0.3"}};
  ssh.hosts[0].machine.price_per_hour = 0.3;
  ssh.hosts[0].machine.gpus = 2;
  ssh.hosts[0].machine.gpu_type = "a100";
  ssh.hosts[0].machine.type = "lab";
  ssh.hosts[1].machine.cores = 4.0;
  const MachineCatalogue hosts = ssh_catalogue(ssh);
  CHECK(count_of(hosts) == 3U);
  CHECK(hosts.entries[0].zone == "vm1");
  CHECK(hosts.entries[0].gpus == 2.0);
  CHECK(hosts.entries[0].gpu_type == "a100");
  CHECK(hosts.entries[0].type == "lab");
  CHECK(hosts.entries[1].cores == 4.0);
  CHECK(price_of(hosts, "", true)->per_hour == 0.3);
  SlurmSettings slurm;
  slurm.kinds[0].machine.type = "fast";
  slurm.kinds[0].machine.cores = 8.0;
  const MachineCatalogue partition = slurm_catalogue(slurm);
  REQUIRE(partition.entries.size() == 1);
  CHECK(partition.entries[0].type == "fast");
  CHECK(partition.entries[0].cores == 8.0);
  CHECK_FALSE(count_of(partition));
}
