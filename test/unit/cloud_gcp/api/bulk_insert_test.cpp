// Several VMs with one request: all, some or none of them are made, and each once.
#include <catch2/catch.hpp>
#include <map>

#include "test/unit/cloud_gcp/api/test_client.h"
#include "test/unit/cloud_gcp/fake_cloud.h"

namespace scavenger::gcp {
namespace {

// How many of these there are.
int count_there(asio::io_context& io, ComputeClient& compute,
                const std::vector<std::string>& names) {
  int there = 0;
  for (const std::string& name : names)
    there += run(io, compute.find("us-central1-a", name)).has_value() ? 1 : 0;
  return there;
}

const std::vector<std::string> kNames = {"vm-1", "vm-2", "vm-3", "vm-4"};

}  // namespace

TEST_CASE("VMs of one request are there under the names that were given, alike but for these") {
  asio::io_context io;
  FakeCloud fake(io, small_cloud());
  Client client(io, fake.endpoint());
  VmOrder wanted = order("not looked at");
  wanted.gpus = {"nvidia-tesla-t4", 1};
  const std::string id = client.new_id();
  REQUIRE(run(io, client.compute->bulk_insert(wanted, kNames, id)).outcome == Outcome::kDone);
  for (const std::string& name : kNames) {
    const auto found = run(io, client.compute->find("us-central1-a", name));
    REQUIRE(found.has_value());
    CHECK(found->state == VmState::kRunning);
    CHECK(found->machine_type == "e2-standard-2");
    CHECK(found->is_spot);
    CHECK(found->labels.at(kJobLabel) == "job-1");
    CHECK(found->started_seconds > found->created_seconds);
  }
  // Once more under the same id: nothing more is made.
  REQUIRE(run(io, client.compute->bulk_insert(wanted, kNames, id)).outcome == Outcome::kDone);
  const json ledger = fake.ledger();
  CHECK(ledger["vms"].size() == 4);
  CHECK(ledger["violations"] == json::array());
}

TEST_CASE("Where there is room for some, these are made; where there is for none, it says so") {
  asio::io_context io;
  json cloud = small_cloud();
  cloud["zones"]["us-central1-a"] = {{"*", 3}};
  FakeCloud fake(io, cloud);
  Client client(io, fake.endpoint());
  ComputeClient& compute = *client.compute;
  CHECK(run(io, compute.bulk_insert(order(""), kNames, client.new_id())).outcome == Outcome::kDone);
  CHECK(count_there(io, compute, kNames) == 3);

  const std::vector<std::string> more = {"vm-5", "vm-6"};
  const ChangeResult none = run(io, compute.bulk_insert(order(""), more, client.new_id()));
  CHECK(none.outcome == Outcome::kRefused);
  CHECK(none.fault.value_or(CloudFault{}).kind == FaultKind::kStockOut);
  CHECK(none.may_be_partial);
  CHECK(count_there(io, compute, more) == 0);
}

TEST_CASE("A quota limits VMs of one request as it does others") {
  asio::io_context io;
  json cloud = small_cloud();
  cloud["quotas"] = {{"us-central1", {{"CPUS", 4}}}};
  FakeCloud fake(io, cloud);
  Client client(io, fake.endpoint());
  ComputeClient& compute = *client.compute;
  CHECK(run(io, compute.bulk_insert(order(""), kNames, client.new_id())).outcome == Outcome::kDone);
  CHECK(count_there(io, compute, kNames) == 2);
  const std::vector<std::string> more = {"vm-5", "vm-6"};
  const ChangeResult none = run(io, compute.bulk_insert(order(""), more, client.new_id()));
  CHECK(none.outcome == Outcome::kRefused);
  CHECK(none.fault.value_or(CloudFault{}).kind == FaultKind::kQuota);
  CHECK(none.fault.value_or(CloudFault{}).subject == "CPUS");

  const std::vector<Quota> quotas = run(io, compute.quotas("us-central1"));
  REQUIRE(quotas.size() == 1);
  CHECK(quotas[0].metric == "CPUS");
  CHECK(quotas[0].limit == 4.0);
  CHECK(quotas[0].usage == 4.0);
  CHECK_THROWS_WITH(run(io, compute.quotas("us-central9")), Catch::Contains("not found"));
}

TEST_CASE("Whatever happens to requests for several and their replies, each VM is made once") {
  asio::io_context io;
  json cloud = small_cloud();
  cloud["seed"] = 11;
  cloud["faults"] = {{"reply_lost", 0.3},   {"late", 0.1},        {"duplicate", 0.2},
                     {"error_before", 0.1}, {"error_after", 0.1}, {"rate_limit", 0.05},
                     {"slow_wait", 0.3},    {"stock_out", 0.2},   {"lost_operation", 0.2}};
  FakeCloud fake(io, cloud);
  Client client(io, fake.endpoint());
  int done = 0;
  int partial = 0;
  for (int i = 0; i < 12; ++i) {
    std::vector<std::string> names;
    for (const std::string& name : kNames) names.push_back(name + "-" + std::to_string(i));
    const ChangeResult made =
        run(io, client.compute->bulk_insert(order(""), names, client.new_id()));
    CHECK(made.outcome != Outcome::kUncertain);
    const int there = count_there(io, *client.compute, names);
    done += made.outcome == Outcome::kDone ? 1 : 0;
    partial += there > 0 && there < 4 ? 1 : 0;
    CHECK((there > 0) == (made.outcome == Outcome::kDone));
  }
  CHECK(done > 0);
  CHECK(partial > 0);
  const json ledger = fake.ledger();
  std::map<std::string, int> times;
  for (const json& vm : ledger["vms"]) ++times[vm["name"]];
  for (const auto& [name, count] : times) CHECK(count == 1);
  CHECK(ledger["violations"] == json::array());
  for (const char* fault : {"reply_lost", "late", "duplicate", "error_after", "lost_operation"})
    CHECK(ledger["faults"][fault] > 0);
}

TEST_CASE("A machine type is read from its zone, and one that the zone lacks is none") {
  asio::io_context io;
  json cloud = small_cloud();
  cloud["zones"]["us-central1-b"] = {{"n2d-standard-2", 4}};
  FakeCloud fake(io, cloud);
  Client client(io, fake.endpoint());
  const auto type = run(io, client.compute->machine_type("us-central1-a", "e2-standard-2"));
  REQUIRE(type.has_value());
  CHECK(type->vcpus == 2.0);
  CHECK(type->memory_gib == 8.0);
  CHECK_FALSE(run(io, client.compute->machine_type("us-central1-b", "e2-standard-2")).has_value());
  CHECK(fake.ledger()["violations"] == json::array());
}

}  // namespace scavenger::gcp
