#include "runtime/provider/rental_journal.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <vector>

#include "test/support/temporary_folder.h"

using namespace scavenger;

TEST_CASE("A journal of rented machines is read by the next process of the job") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "state" / "machines.jsonl";
  std::string job;
  {
    RentalJournal journal(path, "My job!");
    job = journal.job_id();
    CHECK_THAT(job, Catch::StartsWith("my-job-"));
    journal.append(nlohmann::json{{"machine", "a"}});
  }
  // A crash may cut a line off, and a damaged disk may hold anything.
  std::ofstream(path, std::ios::app) << "[1, 2]\n{\"machine\": \"cut of";
  RentalJournal next(path, "another name");
  CHECK(next.job_id() == job);
  next.append(nlohmann::json{{"machine", "b"}});
  const RentalJournal last(path, "another name");
  const std::vector<nlohmann::json> lines = {nlohmann::json{{"job", job}},
                                             nlohmann::json{{"machine", "a"}},
                                             nlohmann::json{{"machine", "b"}}};
  CHECK(last.earlier() == lines);
}

TEST_CASE("Two jobs of one name are distinguished") {
  const TemporaryFolder folder;
  const RentalJournal first(folder.path() / "first.jsonl", "mlp");
  const RentalJournal second(folder.path() / "second.jsonl", "mlp");
  CHECK(first.job_id() != second.job_id());
}
