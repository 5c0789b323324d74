// The Pods that were asked for, on disk before they were asked for: the next process of the job
// reads there which ones may exist.
//
// A RentalJournal in the job's state folder:
//   {"job": "mlp-3f2a9c01"}
//   {"pod": "mlp-3f2a9c01-worker-0-7b0c11d2", "step": "create"}
//   {"pod": "mlp-3f2a9c01-worker-0-7b0c11d2", "step": "gone"}
#pragma once

#include <filesystem>
#include <set>
#include <string>

#include "runtime/provider/rental_journal.h"

namespace scavenger::kubernetes {

// Thread: one at a time. All throw SystemError if the disk refuses.
class PodJournal final {
 public:
  // Reads what is there, and begins a new journal for a job of this name if there is none. The last
  // line may have been cut off by a crash.
  PodJournal(const std::filesystem::path& folder, const std::string& job_name);

  const std::string& job_id() const { return journal_.job_id(); }
  // Both return when it is on disk.
  void note_creation(const std::string& pod);
  void note_end(const std::string& pod);
  // Pods that may exist.
  const std::set<std::string>& open() const { return open_; }

  static std::filesystem::path file_in(const std::filesystem::path& folder);

 private:
  RentalJournal journal_;
  std::set<std::string> open_;
};

}  // namespace scavenger::kubernetes
