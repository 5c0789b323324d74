#include "elastic/evaluation/chosen_checkpoint.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "test/support/temporary_folder.h"
#include "test/unit/runtime/checkpoint/quick_disk.h"
#include "test/unit/runtime/checkpoint/sample_checkpoint.h"

namespace scavenger::elastic {
namespace {

// A run with checkpoints of these iterations.
class Run {
 public:
  explicit Run(const std::vector<std::uint64_t>& iterations, std::uint64_t best = 0)
      : folder{temporary_.path()} {
    QuickDisk disk;
    CheckpointStore store(disk, folder.checkpoints(), {.keep_last = 10, .keep_best = true});
    for (const std::uint64_t iteration : iterations)
      store.write(sample_checkpoint(iteration), iteration == best);
  }

  std::uint64_t chosen(const std::string& choice) {
    return read_chosen_checkpoint(
               folder, choice,
               [this](const Error& error) { passed_over.emplace_back(error.what()); })
        .content.iteration;
  }

  std::vector<std::string> passed_over;

 private:
  TemporaryFolder temporary_;

 public:
  const RunFolder folder;
};

}  // namespace

TEST_CASE("A checkpoint is chosen as the best, the last, or by its iteration") {
  Run run({100, 200, 300}, 200);
  CHECK(run.chosen("best") == 200);
  CHECK(run.chosen("last") == 300);
  CHECK(run.chosen("100") == 100);
  CHECK_THROWS_WITH(run.chosen("150"), Catch::Contains("no checkpoint \"150\""));
  CHECK(run.passed_over.empty());
}

TEST_CASE("Where there is no best one it is the last, and a damaged one is passed over and told") {
  Run run({100, 200});
  CHECK(run.chosen("best") == 200);
  write_in_place(run.folder.checkpoints() / checkpoint_name(200) / "state.json", "{}");
  CHECK(run.chosen("last") == 100);
  CHECK(run.passed_over.size() == 1);
}

TEST_CASE("A job without a checkpoint is told from a choice that is none") {
  Run run({});
  CHECK_THROWS_WITH(run.chosen("last"), Catch::Contains("no checkpoint yet"));
}

}  // namespace scavenger::elastic
