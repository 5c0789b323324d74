#include "cloud_gcp/api/identity.h"

#include <catch2/catch.hpp>
#include <regex>
#include <set>

#include "runtime/provider/rental_journal.h"

namespace scavenger::gcp {

TEST_CASE("Names of VMs are those that Compute Engine takes, whatever the job is called") {
  const std::regex rfc1035("[a-z]([-a-z0-9]{0,61}[a-z0-9])?");
  for (const std::string job :
       {"fashion_mlp", "7th try", "--", "\xc3\x84rger mit Umlauten", "x",
        "a-very-long-name-of-a-job-that-goes-on-and-on-and-on-for-ever-and-ever"}) {
    const std::string id = rented_job_id(job, 0x3f2a9c01);
    const std::string name = vm_name(id, "worker", 4294967295u, 0xffffffff);
    INFO(name);
    CHECK(std::regex_match(id, rfc1035));
    CHECK(std::regex_match(name, rfc1035));
    CHECK(id.size() <= 63);
  }
  CHECK(rented_job_id("fashion_mlp", 1) == "fashion-mlp-00000001");
  CHECK(rented_job_id("fashion_mlp", 1) != rented_job_id("fashion_mlp", 2));
}

TEST_CASE("Request ids are valid UUIDs of version 4, and differ") {
  RandomStream stream(7, "request ids");
  const std::regex uuid4("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}");
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const std::string id = request_id(stream);
    REQUIRE(std::regex_match(id, uuid4));
    seen.insert(id);
  }
  CHECK(seen.size() == 1000);
}

TEST_CASE("Labels and filter find the VMs of one job") {
  CHECK(
      vm_labels("mlp-1", "worker") ==
      std::map<std::string, std::string>{{"scavenger-job", "mlp-1"}, {"scavenger-role", "worker"}});
  CHECK(job_filter("mlp-1") == "labels.scavenger-job = mlp-1");
}

}  // namespace scavenger::gcp
