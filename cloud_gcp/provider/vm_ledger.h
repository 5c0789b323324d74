// What was asked of the cloud, on disk before it was asked. After a crash the next process reads
// there which VMs may exist.
//
// A RentalJournal in the job's state folder:
//   {"job": "mlp-3f2a9c01"}
//   {"vm": "mlp-3f2a9c01-worker-0-7b0c", "zone": "us-central1-a", "step": "create", "request_id":
//   "..."}
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "runtime/provider/rental_journal.h"

namespace scavenger::gcp {

enum class VmStep {
  kCreate,   // is going to be asked for
  kCreated,  // is there
  kAbsent,   // was refused, and is not there
  kDelete,   // is going to be deleted
  kDeleted,  // is gone
};

struct LedgerEntry {
  std::string vm;
  std::string zone;
  VmStep step = VmStep::kCreate;  // the last one
};

// Thread: one at a time. All throw SystemError if the disk refuses.
class VmLedger final {
 public:
  // Reads what is there; begins a new ledger for a job of this name if there is none. The last
  // line may have been cut off by a crash.
  VmLedger(const std::filesystem::path& folder, const std::string& job_name);

  const std::string& job_id() const { return journal_.job_id(); }
  // Returns when it is on disk. `request_id`: of kCreate and kDelete.
  void note(const std::string& vm, const std::string& zone, VmStep step,
            const std::string& request_id = {});
  // VMs that may be there.
  std::vector<LedgerEntry> unsettled() const;
  // All zones that were ever asked.
  std::vector<std::string> zones() const;

  static std::filesystem::path file_in(const std::filesystem::path& folder);

 private:
  RentalJournal journal_;
  std::map<std::string, LedgerEntry> entries_;
};

}  // namespace scavenger::gcp
