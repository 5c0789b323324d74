#include "runtime/process/new_run_folder.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "runtime/base/error.h"
#include "test/support/temporary_folder.h"

using namespace scavenger;

namespace {

// The folder in which `runs/` is made is the working folder.
class WorkingFolder final {
 public:
  WorkingFolder() { std::filesystem::current_path(folder_.path()); }
  ~WorkingFolder() { std::filesystem::current_path(before_); }

 private:
  const std::filesystem::path before_ = std::filesystem::current_path();
  TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("A new run folder takes the first name that is free") {
  const WorkingFolder here;
  CHECK(make_free_run_folder("digits") == "runs/digits");
  CHECK(make_free_run_folder("digits") == "runs/digits-2");
  std::ofstream("runs/digits-3") << "a file";
  CHECK(make_free_run_folder("digits") == "runs/digits-4");
}

TEST_CASE("A run folder that cannot be made is refused with its place") {
  const WorkingFolder here;
  std::ofstream("runs") << "a file, where the folder of all runs should be";
  CHECK_THROWS_AS(make_free_run_folder("digits"), SystemError);
  CHECK_THROWS_WITH(make_free_run_folder("digits"), Catch::Contains("runs/digits"));
}
