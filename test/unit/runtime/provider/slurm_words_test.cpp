#include "runtime/provider/slurm/slurm_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "runtime/base/error.h"
#include "runtime/config/config_file.h"
#include "runtime/provider/slurm/slurm_job.h"

using namespace scavenger;

namespace {

bool has(const Words& words, const std::string& word) {
  return std::ranges::find(words, word) != words.end();
}

SlurmSettings settings_of(const std::string& provider) {
  const std::filesystem::path file = SCAVENGER_CONFIGS "/fashion_mlp.json";
  const Words overrides = {"provider=" + provider};
  return slurm_settings(load_job_config(file, overrides, DataFiles::kNotChecked).provider);
}

}  // namespace

TEST_CASE("slurm: a job is asked for with what all of its workers need") {
  const SlurmSettings settings = settings_of(
      R"({"type":"slurm","cores":4,"memory_gib":1.5,"gpus":2,"gpu_type":"a100",
          "workers_per_job":3,"time_limit_minutes":90,"options":["--qos=low"]})");
  const Words words = slurm_submit_words(settings.kinds.at(0), 60.0, "scavenger-h-1");
  for (const char* word : {"--ntasks=3", "--cpus-per-task=4", "--mem=4608M", "--gres=gpu:a100:6",
                           "--time=90", "--signal=TERM@60", "--job-name=scavenger-h-1"})
    CHECK(has(words, word));
  CHECK(words.at(words.size() - 2) == "--qos=low");  // the user's word counts last

  const SlurmSettings plain = settings_of(R"({"type":"slurm"})");
  for (const std::string& word : slurm_submit_words(plain.kinds.at(0), 0.0, "n"))
    for (const char* begin : {"--mem", "--gres", "--time", "--signal", "--partition"})
      CHECK_FALSE(word.starts_with(begin));
}

TEST_CASE("slurm: heterogeneous jobs and arrays are refused with the remedy") {
  const auto refusal_of = [](const std::string& provider) -> std::string {
    try {
      settings_of(provider);
    } catch (const InputError& error) {
      return error.problem().where + ": " + error.problem().remedy;
    }
    return "none";
  };
  for (const char* word : {":", "--het-group=1", "--pack-group"})
    CHECK_THAT(refusal_of(fmt::format(R"({{"type":"slurm","options":["{}"]}})", word)),
               Catch::StartsWith("provider.options: list the kinds"));
  CHECK_THAT(refusal_of(R"({"type":"slurm","launch_options":["--het-group=0,1"]})"),
             Catch::StartsWith("provider.launch_options: list the kinds"));
  CHECK_THAT(refusal_of(R"({"type":"slurm","machines":[{"type":"a","options":["--array=1-4"]}]})"),
             Catch::StartsWith("provider.machines: leave it out"));
  CHECK(refusal_of(R"({"type":"slurm","options":["--hetero","--account=a:b"]})") == "none");
}

TEST_CASE("slurm: the notice comes in the second half of a short job") {
  SlurmKind kind;
  kind.time_limit_minutes = 1;
  CHECK(has(slurm_submit_words(kind, 60.0, "n"), "--signal=TERM@30"));
  CHECK(slurm_replace_seconds(300.0, 3600.0) == 300.0);
  CHECK(slurm_replace_seconds(300.0, 60.0) == 30.0);
}

TEST_CASE("slurm: workers that share a node take only their own part of it") {
  SlurmSettings settings;
  settings.launch_options = {"--container-image=x"};
  SlurmKind kind;
  kind.machine.cores = 2.0;
  kind.machine.gpus = 1;
  const Words alone = slurm_step_words(settings, kind, "7", "", false);
  CHECK(has(alone, "--overlap"));
  CHECK_FALSE(has(alone, "--exact"));
  const Words shared = slurm_step_words(settings, kind, "7", "n3", true);
  for (const char* word :
       {"--jobid=7", "--exact", "--cpus-per-task=2", "--mem=0", "--gres=gpu:1", "--nodelist=n3"})
    CHECK(has(shared, word));
  CHECK(shared.back() == "--container-image=x");
}

TEST_CASE("slurm: a job around this process is hidden, but not which cluster it is") {
  const Words environment = {"PATH=/bin", "SLURM_JOB_ID=7", "SLURM_CONF=/etc/s", "SLURM_MEM=x=y"};
  CHECK(outside_slurm_job({"squeue"}, environment) ==
        Words{"env", "-u", "SLURM_JOB_ID", "-u", "SLURM_MEM", "squeue"});
  CHECK(outside_slurm_job({"squeue"}, {"PATH=/bin"}) == Words{"squeue"});
}

TEST_CASE("slurm: a kind has what it says, and else what all have") {
  const SlurmSettings settings = settings_of(
      R"({"type":"slurm","partition":"cpu","cores":2,"price_per_hour":0.1,"options":["--qos=low"],
          "machines":[{"type":"small","count":4},
                      {"type":"big","partition":"gpu","cores":8,"gpus":1,"memory_gib":32,
                       "price_per_hour":0.9,"options":[]}]})");
  REQUIRE(settings.kinds.size() == 2);
  CHECK(settings.kinds[0].partition == "cpu");
  CHECK(settings.kinds[0].options == Words{"--qos=low"});
  CHECK(settings.kinds[1].options.empty());
  const MachineCatalogue catalogue = slurm_catalogue(settings);
  CHECK(catalogue.entries[0].cores == 2.0);
  CHECK(catalogue.entries[0].count == 4U);
  CHECK(catalogue.entries[1].gpus == 1.0);
  CHECK(catalogue.entries[1].memory_gib == 32.0);
  CHECK(price_of(catalogue, "big", false)->per_hour == 0.9);
  CHECK_FALSE(count_of(catalogue));
  CHECK_THROWS_WITH(
      settings_of(R"({"type":"slurm","machines":[{"type":"a"},{"type":"a"}]})"),
      Catch::Contains("two kinds are called \"a\"") && Catch::Contains("provider.machines"));
}
