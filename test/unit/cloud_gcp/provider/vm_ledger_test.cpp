#include "cloud_gcp/provider/vm_ledger.h"

#include <catch2/catch.hpp>
#include <fstream>

#include "test/support/temporary_folder.h"

namespace scavenger::gcp {

TEST_CASE(
    "What was intended is known to the next process, and what is settled is not asked again") {
  TemporaryFolder folder;
  std::string job;
  {
    VmLedger ledger(folder.path() / "state", "mlp");
    job = ledger.job_id();
    ledger.note("vm-1", "us-central1-a", VmStep::kCreate, "request");
    ledger.note("vm-2", "us-central1-b", VmStep::kCreate, "request");
    ledger.note("vm-2", "us-central1-b", VmStep::kCreated);
    ledger.note("vm-3", "us-central1-c", VmStep::kCreate, "request");
    ledger.note("vm-3", "us-central1-c", VmStep::kAbsent);
    ledger.note("vm-4", "us-central1-a", VmStep::kDelete, "request");
    ledger.note("vm-5", "us-central1-a", VmStep::kDeleted);
  }
  const VmLedger next(folder.path() / "state", "another name counts no more");
  CHECK(next.job_id() == job);
  std::vector<std::string> open;
  for (const LedgerEntry& entry : next.unsettled()) open.push_back(entry.vm + " " + entry.zone);
  CHECK(open ==
        std::vector<std::string>{"vm-1 us-central1-a", "vm-2 us-central1-b", "vm-4 us-central1-a"});
  CHECK(next.zones().size() == 3);
}

TEST_CASE("A line that a crash has cut off costs that line only") {
  TemporaryFolder folder;
  {
    VmLedger ledger(folder.path(), "mlp");
    ledger.note("vm-1", "us-central1-a", VmStep::kCreate, "request");
  }
  std::ofstream(VmLedger::file_in(folder.path()), std::ios::app) << R"({"vm": "vm-2", "zo)";
  {
    VmLedger ledger(folder.path(), "mlp");
    CHECK(ledger.unsettled().size() == 1);
    ledger.note("vm-3", "us-central1-a", VmStep::kCreate, "request");
  }
  CHECK(VmLedger(folder.path(), "mlp").unsettled().size() == 2);
}

TEST_CASE("A ledger whose first line was cut off names the job anew, once and for all") {
  TemporaryFolder folder;
  std::ofstream(VmLedger::file_in(folder.path())) << R"({"job": "ml)";
  const std::string job = VmLedger(folder.path(), "mlp").job_id();
  CHECK(job.starts_with("mlp-"));
  CHECK(VmLedger(folder.path(), "mlp").job_id() == job);
}

TEST_CASE("Jobs of one name in two folders are told apart") {
  TemporaryFolder folder;
  CHECK(VmLedger(folder.path() / "a", "mlp").job_id() !=
        VmLedger(folder.path() / "b", "mlp").job_id());
}

}  // namespace scavenger::gcp
