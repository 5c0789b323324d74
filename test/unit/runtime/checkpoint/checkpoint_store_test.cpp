#include "runtime/checkpoint/checkpoint_store.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/checkpoint/checkpoint_manifest.h"
#include "test/support/temporary_folder.h"
#include "test/unit/runtime/checkpoint/quick_disk.h"
#include "test/unit/runtime/checkpoint/sample_checkpoint.h"

namespace scavenger {
namespace {

namespace fs = std::filesystem;

// A run's store, and what it warned of.
class Run {
 public:
  explicit Run(Retention retention = {}) : retention_(retention), store_(reopened()) {}

  CheckpointStore& store() { return store_; }
  CheckpointStore reopened() { return CheckpointStore(disk_, checkpoints(), retention_); }
  fs::path checkpoints() const { return folder_.path() / "checkpoints"; }
  fs::path of(std::uint64_t iteration) const { return checkpoints() / checkpoint_name(iteration); }

  void write(std::uint64_t iteration, bool is_best = false) {
    store_.write(sample_checkpoint(iteration), is_best);
  }
  void damage(std::uint64_t iteration) { write_in_place(of(iteration) / "state.json", "{}"); }

  std::vector<std::uint64_t> iterations() const {
    std::vector<std::uint64_t> found;
    for (const StoredCheckpoint& stored : store_.list()) found.push_back(stored.iteration);
    return found;
  }
  std::optional<LoadedCheckpoint> load() {
    warnings.clear();
    return store_.load_latest_good(
        [this](const Error& error) { warnings.emplace_back(error.what()); });
  }

  std::vector<std::string> warnings;

 private:
  TemporaryFolder folder_;
  QuickDisk disk_;
  Retention retention_;
  CheckpointStore store_;
};

using Iterations = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("A run without checkpoints has none to load, which is no error") {
  Run run;

  CHECK(run.iterations().empty());
  CHECK_FALSE(run.load().has_value());
  CHECK_FALSE(run.store().best().has_value());
}

TEST_CASE("The latest checkpoint is loaded, and where it is and how large is said") {
  Run run;
  run.write(9);
  const WrittenCheckpoint written = run.store().write(sample_checkpoint(10), false);

  const auto loaded = run.load();

  REQUIRE(loaded.has_value());
  CHECK(loaded->content == sample_checkpoint(10));
  CHECK(loaded->folder == run.of(10));
  CHECK(written.folder == run.of(10));
  std::uint64_t bytes = 0;
  for (const auto& file : fs::directory_iterator(written.folder)) bytes += file.file_size();
  CHECK(written.bytes == bytes);
  CHECK(run.warnings.empty());
}

TEST_CASE("Checkpoints are ordered by iteration, also beyond nine digits") {
  Run run({.keep_last = 10, .keep_best = false});
  run.write(12345678901);
  run.write(999999999);
  run.write(5);

  CHECK(run.iterations() == Iterations{5, 999999999, 12345678901});
}

TEST_CASE("The last ones and the best one are kept") {
  Run run({.keep_last = 2, .keep_best = true});

  run.write(1);
  run.write(2, true);
  run.write(3);
  run.write(4);
  run.write(5);

  CHECK(run.iterations() == Iterations{2, 4, 5});
  CHECK(fs::read_symlink(run.checkpoints() / "best") == checkpoint_name(2));
  CHECK(fs::exists(run.checkpoints() / "best" / "weights.safetensors"));
}

TEST_CASE("A new best one takes the place of the old one") {
  Run run({.keep_last = 1, .keep_best = true});

  run.write(1, true);
  run.write(2, true);
  run.write(3);

  CHECK(run.iterations() == Iterations{2, 3});
  CHECK(run.store().best()->iteration == 2);
  CHECK(fs::read_symlink(run.checkpoints() / "best") == checkpoint_name(2));
}

TEST_CASE("The best one is still known when the store is opened again") {
  Run run({.keep_last = 1, .keep_best = true});
  run.write(1, true);
  fs::remove(run.checkpoints() / "best");  // as if a crash had come before the link

  CheckpointStore again = run.reopened();
  again.write(sample_checkpoint(2), false);
  again.write(sample_checkpoint(3), false);

  CHECK(run.iterations() == Iterations{1, 3});
  CHECK(fs::read_symlink(run.checkpoints() / "best") == checkpoint_name(1));
}

TEST_CASE("Where the best one is not to be kept, it goes when it is old") {
  Run run({.keep_last = 2, .keep_best = false});

  run.write(1, true);
  run.write(2);
  run.write(3);

  CHECK(run.iterations() == Iterations{2, 3});
  CHECK_FALSE(fs::exists(fs::symlink_status(run.checkpoints() / "best")));
}

TEST_CASE("The one before a damaged checkpoint is used, and each damaged one reported") {
  Run run;
  run.write(1);
  run.write(2);
  run.write(3);
  run.damage(2);
  run.damage(3);

  const auto loaded = run.load();

  REQUIRE(loaded.has_value());
  CHECK(loaded->content.iteration == 1);
  REQUIRE(run.warnings.size() == 2);
  CHECK_THAT(run.warnings[0], Catch::Contains((run.of(3) / "state.json").string()));
  CHECK_THAT(run.warnings[1], Catch::Contains((run.of(2) / "state.json").string()));
}

TEST_CASE("Where all are damaged, that is the error") {
  Run run;
  run.write(1);
  run.write(2);
  run.damage(1);
  run.damage(2);

  CHECK_THROWS_AS(run.load(), CheckpointError);
  CHECK_THROWS_WITH(run.load(), Catch::Contains("none of the 2 checkpoints is whole"));
  CHECK(run.warnings.size() == 2);
}

TEST_CASE("A folder that cannot be read is not taken for an empty one") {
  Run run;
  write_in_place(run.checkpoints(), "not a folder");

  CHECK_THROWS_AS(run.load(), SystemError);
  CHECK_THROWS_WITH(run.load(), Catch::Contains(run.checkpoints().string()));
  CHECK_THROWS_WITH(run.write(1), Catch::Contains("iteration 1 is not written"));
}

TEST_CASE("A checkpoint from a newer Scavenger is not passed over") {
  Run run;
  run.write(1);
  run.write(2);
  CheckpointManifest manifest = read_manifest(run.of(2));
  manifest.format_version = 7;
  write_in_place(run.of(2) / "manifest.json", encode_manifest(manifest));

  CHECK_THROWS_WITH(run.load(), Catch::Contains("format version 7") && Catch::Contains("newer"));
  CHECK(run.warnings.empty());
}

TEST_CASE("Half-written folders are not listed, and the next write removes them") {
  Run run;
  run.write(1);
  fs::create_directories(run.checkpoints() / ".writing_iteration_000000002");
  write_in_place(run.checkpoints() / ".writing_iteration_000000002" / "state.json", "{");
  fs::create_directories(run.checkpoints() / ".removing_iteration_000000000");

  CHECK(run.iterations() == Iterations{1});
  CHECK(run.load()->content.iteration == 1);
  CHECK(run.warnings.empty());
  run.write(3);

  CHECK(std::distance(fs::directory_iterator(run.checkpoints()), {}) == 2);
}

TEST_CASE("Other names in the folder are let be") {
  Run run({.keep_last = 1, .keep_best = false});
  run.write(1);
  fs::create_directories(run.checkpoints() / "iteration_1");
  fs::create_directories(run.checkpoints() / "iteration_000000001_copy");
  fs::create_directories(run.checkpoints() / "notes");
  run.write(2);

  CHECK(run.iterations() == Iterations{2});
  CHECK(std::distance(fs::directory_iterator(run.checkpoints()), {}) == 4);
}

TEST_CASE("After falling back, damaged checkpoints do not count as kept and go in their turn") {
  Run run({.keep_last = 2, .keep_best = false});
  run.write(10);
  run.write(20);
  run.damage(20);
  REQUIRE(run.load()->content.iteration == 10);

  run.write(15);
  CHECK(run.iterations() == Iterations{10, 15, 20});
  run.write(25);
  CHECK(run.iterations() == Iterations{15, 20, 25});
  run.write(30);
  CHECK(run.iterations() == Iterations{25, 30});
}

TEST_CASE("What was just written is kept although there are later checkpoints") {
  Run run({.keep_last = 1, .keep_best = false});
  run.write(20);

  run.write(10);

  CHECK(run.iterations() == Iterations{10, 20});
}

TEST_CASE("A damaged checkpoint is replaced when its iteration is reached again") {
  Run run({.keep_last = 1, .keep_best = false});
  run.write(10);
  run.damage(10);
  REQUIRE_THROWS_AS(run.load(), CheckpointError);

  run.write(10);

  CHECK(run.load()->content == sample_checkpoint(10));
}

TEST_CASE("A damaged best checkpoint is not the best any more") {
  Run run({.keep_last = 2, .keep_best = true});
  run.write(1, true);
  run.write(2, true);
  run.damage(2);
  REQUIRE(run.load()->content.iteration == 1);

  run.write(3);
  run.write(4);
  run.write(5);

  CHECK(run.iterations() == Iterations{1, 4, 5});
}

TEST_CASE("A failure to tidy up says that the checkpoint itself is written") {
  class DiskThatKeepsAll final : public QuickDisk {
    void rename(const fs::path& from, const fs::path& to) override {
      if (to.filename().string().starts_with(".removing_")) {
        throw SystemError(EACCES, {.what = "cannot rename", .where = to.string(), .remedy = {}});
      }
      QuickDisk::rename(from, to);
    }
  };
  const TemporaryFolder folder;
  DiskThatKeepsAll disk;
  CheckpointStore store(disk, folder.path() / "checkpoints", {.keep_last = 1, .keep_best = false});
  store.write(sample_checkpoint(1), false);

  CHECK_THROWS_WITH(store.write(sample_checkpoint(2), false),
                    Catch::Contains("iteration 2 is written") && Catch::Contains("permission"));
  CHECK(store.load_latest_good([](const Error&) {})->content.iteration == 2);
}

}  // namespace scavenger
