#include "elastic/evaluation/restored_model.h"

#include <catch2/catch.hpp>
#include <cstdlib>

#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "runtime/config/config_file.h"
#include "test/support/temporary_folder.h"
#include "test/unit/runtime/worker/quadratic_job.h"

namespace scavenger::elastic {
namespace {

// A job of two workers, whose data are generated, and its checkpoint.
class TrainedJob {
 public:
  TrainedJob() {
    ::setenv("SCAVENGER_CACHE_DIR", folder_.path().c_str(), 1);
    const auto file = folder_.path() / "job.json";
    write_file_atomically(file, R"({"name":"a","data":{
        "train":{"format":"synthetic","samples":32,"feature_count":4},
        "test":{"format":"synthetic","samples":10,"feature_count":4,"first_sample":32},"classes":4},
        "model":{"type":"mlp","hidden":[8]},"optimizer":{"type":"sgd","learning_rate":0.1},
        "batch_size":8,"cluster":{"workers":2,"threads_per_worker":3},
        "evaluation":{"batch_size":4},"stop":{"max_epochs":1}})");
    checkpoint.folder = folder_.path() / "checkpoint";
    Checkpoint& content = checkpoint.content;
    content.config = to_json(load_job_config(file));
    content.iteration = 77;
    content.parameters = trainer()->parameters();
    content.weights = FlatVector(content.parameters.flat_size(), 0.5F);
    content.buffers = trainer()->buffers();
    content.buffer_values = {9.0F};
  }

  std::unique_ptr<QuadraticTrainer> trainer() {
    auto made = std::make_unique<QuadraticTrainer>(clock_);
    latest = made.get();
    return made;
  }
  RestoredModel restore(std::uint32_t threads) {
    return RestoredModel(checkpoint, threads,
                         [this](const JobConfig&, const DataShape& shape, std::uint32_t count) {
                           asked_classes = shape.classes;
                           asked_threads = count;
                           return trainer();
                         });
  }

  LoadedCheckpoint checkpoint;
  const QuadraticTrainer* latest = nullptr;
  std::uint32_t asked_classes = 0, asked_threads = 0;

 private:
  TemporaryFolder folder_;
  ManualClock clock_;
};

}  // namespace

TEST_CASE("A model is restored with its buffers, the shape of its data, and a worker's threads") {
  TrainedJob job;
  const RestoredModel model = job.restore(0);
  CHECK(model.iteration() == 77);
  CHECK(job.latest->passes == 9.0F);
  CHECK(job.asked_classes == 4);
  CHECK(job.asked_threads == 3);
  job.restore(5);
  CHECK(job.asked_threads == 5);
}

TEST_CASE("An evaluation is made in the parts and batches of the job's workers") {
  TrainedJob job;
  RestoredModel model = job.restore(1);
  const fact::Evaluation found = model.evaluate(Split::kTest);
  CHECK(found.samples == 10);
  CHECK(found.iteration == 77);
  CHECK(found.split == Split::kTest);
  CHECK(found.loss == Approx(2.0));
  CHECK(job.latest->evaluated_sizes == std::vector<std::uint32_t>{4, 1, 4, 1});
  CHECK(model.evaluate(Split::kTrain).samples == 32);
}

TEST_CASE("A checkpoint of another model is refused") {
  TrainedJob job;
  job.checkpoint.content.parameters = TensorLayout();
  job.checkpoint.content.parameters.add("v", {16});
  CHECK_THROWS_WITH(job.restore(1), Catch::Contains("checkpoint"));
}

}  // namespace scavenger::elastic
