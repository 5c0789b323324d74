#include "elastic/coordinator/job/job_registry.h"

#include <fmt/format.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>

#include "test/support/temporary_folder.h"

namespace scavenger::elastic {
namespace fs = std::filesystem;
namespace {

// The registry of this test, by the environment, as the programs find theirs.
class Registry final {
 public:
  Registry() { ::setenv("XDG_STATE_HOME", folder_.path().c_str(), 1); }
  ~Registry() { ::unsetenv("XDG_STATE_HOME"); }
  fs::path path() const { return *job_registry_folder(); }
  std::vector<RegisteredJob> jobs() const { return registered_jobs(path()); }
  void add(const std::string& name) const {
    fs::create_directory_symlink("/runs/a", path() / name);
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("a job is registered while it lives, by its absolute run folder") {
  const Registry registry;
  CHECK(registry.jobs().empty());  // there is not even a folder
  {
    const JobRegistration registration("runs/mlp");
    CHECK(registry.jobs() ==
          std::vector{RegisteredJob{fs::current_path() / "runs/mlp", ::getpid()}});
  }
  CHECK(registry.jobs().empty());
  CHECK(fs::is_empty(registry.path()));
}

TEST_CASE("what a killed job has left is no job, and is removed") {
  const Registry registry;
  const JobRegistration registration("/runs/mlp");
  const std::string own = *job_entry_name(::getpid());
  SECTION("its process is gone") {
    const std::string stem = own.substr(0, own.rfind('+') + 1);
    registry.add(stem + "4194304999-17");  // beyond the largest process id
  }
  SECTION("another process has its id") {
    registry.add(own.substr(0, own.rfind('-')) + "-1");
  }
  SECTION("the machine was started again") {
    std::string other = own;
    const auto boot = other.rfind('+', other.rfind('+', other.rfind('+') - 1) - 1) + 1;
    other.replace(boot, 8, "00000000");
    registry.add(other);
  }
  CHECK(std::distance(fs::directory_iterator(registry.path()), {}) == 2);
  CHECK(registry.jobs() == std::vector{RegisteredJob{"/runs/mlp", ::getpid()}});
  CHECK(std::distance(fs::directory_iterator(registry.path()), {}) == 1);
}

TEST_CASE("jobs of another machine that shares the home folder are left alone, and not told of") {
  const Registry registry;
  const JobRegistration registration("/runs/mlp");
  registry.add("elsewhere+12345678+4026531836+1-1");
  CHECK(registry.jobs().size() == 1);
  CHECK(fs::is_symlink(registry.path() / "elsewhere+12345678+4026531836+1-1"));
}

TEST_CASE("a registry that cannot be written keeps nobody from training") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "scavenger") << "a file where a folder should be";
  ::setenv("XDG_STATE_HOME", folder.path().c_str(), 1);
  CHECK_NOTHROW(JobRegistration("/runs/mlp"));
  ::unsetenv("XDG_STATE_HOME");
}

}  // namespace scavenger::elastic
