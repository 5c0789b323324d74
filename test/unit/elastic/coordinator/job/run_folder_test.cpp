#include "elastic/coordinator/job/run_folder.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <optional>

#include "runtime/base/error.h"
#include "runtime/process/run_lock.h"
#include "test/unit/runtime/config/config_folder.h"

using namespace scavenger;
using namespace scavenger::elastic;
namespace fs = std::filesystem;

namespace {

// Relative paths are of a folder that is ours.
class WorkingFolder final {
 public:
  WorkingFolder() { fs::current_path(folder_.path()); }
  ~WorkingFolder() { fs::current_path(before_); }
  fs::path path() const { return fs::canonical(folder_.path()); }

 private:
  fs::path before_ = fs::current_path();
  TemporaryFolder folder_;
};

JobConfig sample_config() {
  return ConfigFolder().load(kValidConfig);
}

}  // namespace

TEST_CASE("a job without a folder gets one of its name, and the next one the next number") {
  const WorkingFolder here;
  const JobConfig config = sample_config();

  std::vector<fs::path> made;
  for (int i = 0; i < 3; ++i) {
    const RunFolder folder = make_run_folder(config, {});
    write_config(folder, config);
    made.push_back(folder.path);
  }

  CHECK(made == std::vector<fs::path>{here.path() / "runs/job", here.path() / "runs/job-2",
                                      here.path() / "runs/job-3"});
  CHECK(fs::is_directory(made[2] / "checkpoints"));
  CHECK(fs::is_directory(made[2] / "logs"));
}

TEST_CASE("a wanted folder is made where there is none or an empty one") {
  const TemporaryFolder folder;
  fs::create_directory(folder.path() / "empty");

  CHECK(make_run_folder(sample_config(), folder.path() / "a/b").path == folder.path() / "a/b");
  CHECK(make_run_folder(sample_config(), folder.path() / "empty").path == folder.path() / "empty");
}

TEST_CASE("a folder that another process has just made is not taken, though it is empty yet") {
  const WorkingFolder here;
  fs::create_directories(here.path() / "runs/job");

  CHECK(make_run_folder(sample_config(), {}).path == here.path() / "runs/job-2");
}

TEST_CASE("nothing is left of a folder for a job that did not begin, unless it is kept") {
  const WorkingFolder here;
  fs::create_directory(here.path() / "empty");
  std::ofstream(here.path() / "beside") << "x";
  for (const fs::path& wanted : {fs::path(), here.path() / "new", here.path() / "empty"}) {
    fs::path made;
    {
      const NewRunFolder folder(sample_config(), wanted);
      made = folder.folder().path;
      std::ofstream(made / "logs/worker_0.log") << "x";
    }
    CHECK(fs::exists(made) == (wanted.filename() == "empty"));
    if (fs::exists(made)) CHECK(fs::is_empty(made));
  }
  CHECK(fs::exists(here.path() / "beside"));

  const fs::path shared = here.path() / "shared";
  std::optional<RunLock> other;  // of a process that was given the same folder, and was quicker
  {
    const NewRunFolder folder(sample_config(), shared);
    other.emplace(shared);
  }
  CHECK(fs::is_directory(shared / "checkpoints"));

  fs::path kept;
  {
    NewRunFolder folder(sample_config(), {});
    kept = folder.folder().path;
    folder.keep();
  }
  CHECK(fs::is_directory(kept / "logs"));
}

TEST_CASE("a folder that holds this job says how to go on with it") {
  const TemporaryFolder folder;
  const JobConfig config = sample_config();
  const fs::path run = folder.path() / "run";
  write_config(make_run_folder(config, run), config);

  CHECK_THROWS_WITH(make_run_folder(config, run), Catch::Contains("already holds this job") &&
                                                      Catch::Contains("--resume " + run.string()));
}

TEST_CASE("a folder that belongs to another job is refused, and left as it is") {
  const TemporaryFolder folder;
  const JobConfig config = sample_config();
  JobConfig other = config;
  other.seed = 2;
  const fs::path run = folder.path() / "run";
  const RunFolder taken = make_run_folder(config, run);
  write_config(taken, config);
  const std::string before = read_file(taken.config());

  CHECK_THROWS_WITH(make_run_folder(other, run), Catch::Contains("belongs to another job"));
  CHECK(read_file(taken.config()) == before);
}

TEST_CASE("a folder with something else in it is refused") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "thesis.tex") << "\\begin";

  CHECK_THROWS_WITH(make_run_folder(sample_config(), folder.path()),
                    Catch::Contains("not empty, and holds no job"));
  CHECK_FALSE(fs::exists(folder.path() / "logs"));
}

TEST_CASE("a folder whose config.json is damaged is refused with its name") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "config.json") << "{ \"name\": ";

  CHECK_THROWS_WITH(make_run_folder(sample_config(), folder.path()),
                    Catch::Contains((folder.path() / "config.json").string()));
}

TEST_CASE("a folder that cannot be made is named") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "file") << "x";

  CHECK_THROWS_WITH(make_run_folder(sample_config(), folder.path() / "file/run"),
                    Catch::Contains((folder.path() / "file/run").string()));
}

TEST_CASE("resuming where there is no job is refused, and makes nothing") {
  const TemporaryFolder folder;

  CHECK_THROWS_WITH(open_run_folder(folder.path() / "none"), Catch::Contains("there is no job"));
  CHECK_FALSE(fs::exists(folder.path() / "none"));
}
