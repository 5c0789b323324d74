#include "elastic/coordinator/job_start.h"

#include <catch2/catch.hpp>

#include "runtime/base/error.h"
#include "test/config/config_folder.h"

using namespace scavenger;
using namespace scavenger::elastic;

namespace {

JobConfig sample_config() {
  return ConfigFolder().load(kValidConfig);
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("data, model, seed and the kind of optimizer make a job what it is") {
  const JobConfig job = sample_config();
  JobConfig other_seed = job, other_data = job, other_model = job, other_optimizer = job;
  other_seed.seed = 2;
  other_data.data.train.samples = 999;
  other_model.model.hidden = {17};
  other_optimizer.optimizer.type = OptimizerType::kAdam;

  CHECK(identity_changes(job, job).empty());
  CHECK(identity_changes(job, other_seed) == Names{"seed"});
  CHECK(identity_changes(job, other_data) == Names{"data"});
  CHECK(identity_changes(job, other_model) == Names{"model"});
  CHECK(identity_changes(job, other_optimizer) == Names{"optimizer.type"});
}

TEST_CASE("cluster, batch size, rate and limits may change from one life to the next") {
  const JobConfig job = sample_config();
  JobConfig resized = job;
  resized.cluster.workers = 7;
  resized.batch_size = 128;
  resized.optimizer.learning_rate = 0.01;
  resized.stop.max_epochs = 100.0;
  resized.limits.iteration_seconds = 1.0;
  resized.checkpoint.keep_last = 1;

  CHECK(identity_changes(job, resized).empty());
}

TEST_CASE("a job without a checkpoint resumes from its beginning, resized as asked") {
  const TemporaryFolder folder;
  write_config(make_run_folder(sample_config(), folder.path() / "run"), sample_config());

  const JobStart start = resume_job(folder.path() / "run", {"cluster.workers=4"});

  CHECK(start.is_resume);
  CHECK_FALSE(start.checkpoint);
  CHECK(start.damaged.empty());
  CHECK(start.config.cluster.workers == 4);
  CHECK(start.config.name == "job");
}

TEST_CASE("a resume that would make it another job is refused, and names what differs") {
  const TemporaryFolder folder;
  write_config(make_run_folder(sample_config(), folder.path() / "run"), sample_config());

  CHECK_THROWS_WITH(resume_job(folder.path() / "run", {"seed=9"}), Catch::Contains("seed differs"));
  CHECK_THROWS_WITH(resume_job(folder.path() / "run", {"seed=9", "model.hidden=[8]"}),
                    Catch::Contains("seed and model differ"));
}
