#include "kubernetes/provider/pod_journal.h"

#include <catch2/catch.hpp>
#include <fstream>

#include "test/support/temporary_folder.h"

namespace scavenger::kubernetes {

TEST_CASE("pod_journal: the next process finds the job and the Pods that may exist") {
  TemporaryFolder folder;
  std::string job;
  {
    PodJournal journal(folder.path(), "My job!");
    job = journal.job_id();
    CHECK_THAT(job, Catch::StartsWith("my-job-"));
    journal.note_creation("a");
    journal.note_creation("b");
    journal.note_end("a");
  }
  std::ofstream(PodJournal::file_in(folder.path()), std::ios::app) << "{\"pod\": \"cut of";
  const PodJournal next(folder.path(), "My job!");
  CHECK(next.job_id() == job);
  CHECK(next.open() == std::set<std::string>{"b"});
  PodJournal last(folder.path(), "My job!");
  last.note_creation("c");
  CHECK(PodJournal(folder.path(), "x").open() == std::set<std::string>{"b", "c"});
}

}  // namespace scavenger::kubernetes
