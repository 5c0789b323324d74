#include "elastic/coordinator/job/job_start.h"

#include <catch2/catch.hpp>

#include "elastic/events/event_log.h"
#include "runtime/base/error.h"
#include "test/unit/elastic/events/sample_events.h"
#include "test/unit/runtime/checkpoint/sample_checkpoint.h"
#include "test/unit/runtime/config/config_folder.h"

using namespace scavenger;
using namespace scavenger::elastic;

namespace {

JobConfig valid_config() {
  return ConfigFolder().load(kValidConfig);
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("data, model, seed and the kind of optimizer make a job what it is") {
  const JobConfig job = valid_config();
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
  const JobConfig job = valid_config();
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
  write_config(make_run_folder(valid_config(), folder.path() / "run"), valid_config());

  const JobStart start = resume_job(folder.path() / "run", {"cluster.workers=4"});

  CHECK(start.is_resume);
  CHECK_FALSE(start.checkpoint);
  CHECK(start.damaged.empty());
  CHECK(start.config.cluster.workers == 4);
  CHECK(start.config.name == "job");
}

namespace {

// A run with a checkpoint of what was trained with `config`.
class TrainedRun final {
 public:
  explicit TrainedRun(const JobConfig& config) {
    const RunFolder run = make_run_folder(config, path());
    write_config(run, config);
    Checkpoint checkpoint = sample_checkpoint(100);
    checkpoint.config = nlohmann::json::parse(to_json(config).dump());
    checkpoint.optimizer.slots.clear();
    LocalDisk disk;
    CheckpointStore(disk, run.checkpoints(), {}).write(checkpoint, false);
  }

  std::filesystem::path path() const { return folder_.path() / "run"; }

  void edit(const JobConfig& config) const { write_config({path()}, config); }

 private:
  TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("an edited configuration that makes it another job is refused by its checkpoint") {
  const JobConfig job = valid_config();
  const TrainedRun run(job);
  JobConfig other_seed = job, other_data = job, other_rate = job, other_optimizer = job;
  other_seed.seed = 2;
  other_data.data.train.samples = 999;
  other_rate.optimizer.learning_rate = 0.02;
  other_optimizer.optimizer.type = OptimizerType::kAdam;

  REQUIRE(resume_job(run.path(), {}).checkpoint);
  run.edit(other_rate);
  CHECK(resume_job(run.path(), {}).config.optimizer.learning_rate == 0.02);
  run.edit(other_seed);
  CHECK_THROWS_WITH(resume_job(run.path(), {}),
                    Catch::Contains("seed differs from that of the checkpoint") &&
                        Catch::Contains("config.json") && Catch::Contains("put back"));
  run.edit(other_data);
  CHECK_THROWS_WITH(resume_job(run.path(), {}), Catch::Contains("data differs"));
  run.edit(other_optimizer);
  CHECK_THROWS_WITH(resume_job(run.path(), {}), Catch::Contains("optimizer.type differs"));
}

TEST_CASE("an optimizer that keeps more state than the checkpoint has is refused") {
  const JobConfig job = valid_config();
  const TrainedRun run(job);

  CHECK_THROWS_WITH(resume_job(run.path(), {"optimizer.momentum=0.9"}),
                    Catch::Contains("lacks the optimizer's state \"momentum\""));
}

TEST_CASE("a job that has come to its end is finished, unless it is to train on") {
  JobConfig job = valid_config();
  const TrainedRun run(job);
  {
    const SteadyClock clock;
    EventLogWriter log(run.path() / "events.jsonl", clock);
    fact::Start start = sample_start();
    start.limits.max_epochs = 3.0;
    log.append(start);
    log.append(fact::End{.status = Status::kMaxEpochs,
                         .reason = "3 epochs are done",
                         .iteration = 100,
                         .position = 3200,
                         .exit_code = 0});
  }

  const JobStart finished = resume_job(run.path(), {"cluster.workers=4"});
  REQUIRE(finished.finished);
  CHECK(finished.finished->iterations == 100);
  CHECK_FALSE(resume_job(run.path(), {"stop.max_epochs=4"}).finished);

  std::filesystem::remove_all(run.path() / "checkpoints");
  CHECK_FALSE(resume_job(run.path(), {}).finished);  // its weights are gone
}

TEST_CASE("a resume that would make it another job is refused, and names what differs") {
  const TemporaryFolder folder;
  write_config(make_run_folder(valid_config(), folder.path() / "run"), valid_config());

  CHECK_THROWS_WITH(resume_job(folder.path() / "run", {"seed=9"}), Catch::Contains("seed differs"));
  CHECK_THROWS_WITH(resume_job(folder.path() / "run", {"seed=9", "model.hidden=[8]"}),
                    Catch::Contains("seed and model differ"));
}
