#include "elastic/providers/job_provider.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>

#include "elastic/providers/left_machines.h"
#include "runtime/base/file.h"
#include "runtime/config/config_file.h"
#include "test/support/temporary_folder.h"

namespace scavenger::elastic {
namespace {

// What the schema completes the object `provider` to.
JobConfig config_with(const std::string& provider) {
  TemporaryFolder folder;
  const auto file = folder.path() / "job.json";
  write_file_atomically(file, R"({"name":"a","data":{
    "train":{"format":"synthetic","samples":64,"feature_count":4},
    "test":{"format":"synthetic","samples":64,"feature_count":4,"first_sample":64},"classes":4},
    "model":{"type":"mlp","hidden":[8]},"optimizer":{"type":"sgd","learning_rate":0.1},
    "batch_size":16,"stop":{"max_epochs":1},"provider":)" +
                                  provider + "}");
  return load_job_config(file, {}, DataFiles::kNotChecked);
}

// A Slurm of shell scripts: what matters is which jobs are cancelled.
class ShellSlurm final {
 public:
  ShellSlurm() : path_(std::getenv("PATH")) {
    add("sinfo", "echo localhost");
    add("scontrol", "");
    add("squeue",
        "echo '7 scavenger-elsewhere-41'; echo '8 scavenger-elsewhere-42'; echo '9 mine'");
    add("scancel", "echo $1 >> " + cancelled().string());
    ::setenv("PATH", (folder_.path().string() + ":" + path_).c_str(), 1);
  }
  ~ShellSlurm() { ::setenv("PATH", path_.c_str(), 1); }

  void add(const std::string& name, const std::string& script) const {
    write_file_atomically(folder_.path() / name, "#!/bin/sh\n" + script + "\n");
    std::filesystem::permissions(folder_.path() / name, std::filesystem::perms::owner_all);
  }
  std::filesystem::path cancelled() const { return folder_.path() / "cancelled"; }

 private:
  const std::string path_;
  TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("Every kind of provider has a name of its own, by which the schema knows it") {
  std::set<std::string> names;
  for (const ProviderType type : kProviderTypes) names.insert(name_of(type));
  CHECK(names.size() == kProviderTypes.size());
  CHECK(config_with(R"({"type":"emulated"})").provider.type == ProviderType::kEmulated);
  CHECK(config_with(R"({"type":"slurm"})").provider.type == ProviderType::kSlurm);
}

TEST_CASE("A factory makes the provider that the configuration names, with the same catalogue") {
  TemporaryFolder folder;
  for (const char* provider :
       {R"({"type":"local"})", R"({"type":"slurm","partition":"fast","cores":3})",
        R"({"type":"ssh","hosts":[{"destination":"a","address":"10.0.0.1"}]})",
        R"({"type":"emulated","machines":[{"type":"m","cores":0.5,"count":2}]})"}) {
    CAPTURE(provider);
    const JobConfig config = config_with(provider);
    const ProviderFactory& factory = provider_factory(config.provider.type);
    asio::io_context io;
    const auto made = factory.make(io, config, {4, "/opt/bin", folder.path()});
    CHECK(made->name() == name_of(config.provider.type));
    CHECK(made->catalogue() == factory.catalogue(config, 4));
    CHECK_NOTHROW(factory.check(config));
  }
}

TEST_CASE("What a killed process had rented from another provider does not stay") {
  const ShellSlurm slurm;
  const TemporaryFolder run;
  write_file_atomically(run.path() / "slurm_jobs", "scavenger-elsewhere-42\n");
  CHECK(end_left_machines(config_with(R"({"type":"slurm"})"), {2, "/opt/bin", run.path()}).empty());
  CHECK(read_file(slurm.cancelled()) == "8\n");
}

TEST_CASE("That a provider does not answer any more is told") {
  const ShellSlurm slurm;
  slurm.add("sinfo", "echo no controller >&2; exit 1");
  const TemporaryFolder run;
  const auto left =
      end_left_machines(config_with(R"({"type":"slurm"})"), {2, "/opt/bin", run.path()});
  REQUIRE(left.size() == 1);
  CHECK_THAT(left.front(), Catch::Contains("no controller"));
}

}  // namespace scavenger::elastic
