// The trainer of a host program: what the host tells and what it is asked.
#include "apps/worker_library/host_trainer.h"

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/error.h"

namespace scavenger {
namespace {

// A host with two parameters, of 3 and of 20 floats, and two buffers. It writes gradients of 1.
struct TestHost {
  std::int64_t count = 70000;  // a buffer
  std::array<float, 2> mean{1.5F, -2.0F};
  std::vector<std::uint32_t> tells{1, 0};
  double loss = 2.0;
  int status = SCAVENGER_OK;
  bool works_ahead = false;  // after each gradient that it tells of
  std::uint32_t parameter_count = 2;
  const char* type = "F32";
  HostTrainer* trainer = nullptr;
  float* gradients = nullptr;
  std::string data;
  scavenger_batch seen{};  // the last batch of a pass
  std::vector<scavenger_end> ends;

  scavenger_worker_host host() {
    scavenger_worker_host made{};
    made.struct_bytes = sizeof(made);
    made.interface_version = SCAVENGER_WORKER_INTERFACE;
    made.context = this;
    made.set_up = [](void* self, const scavenger_job* job, scavenger_model* model) {
      return static_cast<TestHost*>(self)->set_up(*job, *model);
    };
    made.use_gradients = [](void* self, float* place) {
      static_cast<TestHost*>(self)->gradients = place;
      return int{SCAVENGER_OK};
    };
    made.forward_backward = [](void* self, scavenger_worker*, const scavenger_batch* batch,
                               std::uint64_t, scavenger_step* step) {
      return static_cast<TestHost*>(self)->pass(*batch, *step);
    };
    made.end = [](void* self, const scavenger_end* end) {
      static_cast<TestHost*>(self)->ends.push_back(*end);
      return int{SCAVENGER_OK};
    };
    made.evaluate = [](void*, const scavenger_batch* batch, scavenger_sums* sums) {
      sums->predictions = batch->size;
      sums->correct = 1;
      sums->loss = batch->features[0];
      return int{SCAVENGER_OK};
    };
    return made;
  }

  int set_up(const scavenger_job& job, scavenger_model& model) {
    static const std::array<std::int64_t, 2> kShapes{3, 20};
    static const std::int64_t kTwo = 2;
    static std::array<scavenger_tensor, 2> parameters;
    static std::array<scavenger_tensor, 2> buffers;
    data = job.data;
    parameters[0] = {"w", type, &kShapes[0], 1, nullptr};
    parameters[1] = {"v", "F32", &kShapes[1], 1, nullptr};
    buffers[0] = {"count", "I64", nullptr, 0, &count};
    buffers[1] = {"mean", "F32", &kTwo, 1, mean.data()};
    model.parameters = parameters.data();
    model.parameter_count = parameter_count;
    model.buffers = buffers.data();
    model.buffer_count = 2;
    return SCAVENGER_OK;
  }

  int pass(const scavenger_batch& batch, scavenger_step& step) {
    if (status != SCAVENGER_OK) explain_host_error("no luck", "train.py", "try again");
    for (const std::uint32_t parameter : tells) {
      const std::uint64_t first = trainer->parameter_offsets()[parameter];
      const std::uint64_t size = trainer->parameters().tensors()[parameter].size;
      std::fill_n(gradients + first, size, 1.0F);
      trainer->gradient_ready(parameter);
      while (works_ahead && trainer->work_ahead()) {
      }
    }
    seen = batch;
    step.loss = loss;
    step.data_wait_seconds = batch.loss_terms;
    return status;
  }
};

HostJob job_of_labels() {
  HostJob job;
  job.data.sample_shape = {4};
  job.data.classes = 3;
  return job;
}

Batch two_samples() {
  Batch batch;
  batch.size = 2;
  batch.sample_shape = {4};
  batch.features = {0.25F, 0, 0, 0, 0, 0, 0, 0};
  batch.labels = {1, 2};
  return batch;
}

// A trainer with gradients of 9 everywhere before its first pass.
struct Bench {
  explicit Bench(TestHost& host) : trainer(host.host(), job_of_labels()) {
    host.trainer = &trainer;
    gradients.assign(trainer.parameters().flat_size(), 9.0F);
    trainer.use_gradients(gradients);
  }
  TrainingStep pass() {
    return trainer.forward_backward(two_samples(), 1, [&](std::uint64_t first, std::uint64_t last) {
      ranges.emplace_back(first, last);
    });
  }

  HostTrainer trainer;
  std::vector<float> gradients;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
};

using Ranges = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

TEST_CASE("a host learns the data and tells its tensors") {
  TestHost host;
  const Bench bench(host);
  CHECK(host.data.find(R"("target":"label")") != std::string::npos);
  CHECK(host.data.find(R"("classes":3)") != std::string::npos);
  CHECK(bench.trainer.parameters().flat_size() == 48);
  CHECK(bench.trainer.parameters().tensors()[1].offset == 16);
  CHECK(bench.trainer.buffers().tensors()[0].name == "count:I64");
}

TEST_CASE("gradients are reported as the host tells them, with zeros in the gaps") {
  TestHost host;
  Bench bench(host);
  const TrainingStep step = bench.pass();
  CHECK(step.loss_sum == 4.0);
  CHECK(step.data_wait_seconds == 1.0);
  CHECK(bench.ranges == Ranges{{16, 48}, {0, 16}});
  CHECK(bench.gradients[2] == 1.0F);
  CHECK(bench.gradients[3] == 0.0F);
  CHECK(bench.gradients[35] == 1.0F);
  CHECK(bench.gradients[36] == 0.0F);
}

TEST_CASE("a gradient of which the host says nothing is zero") {
  TestHost host;
  host.tells = {0};
  Bench bench(host);
  bench.pass();
  CHECK(bench.ranges == Ranges{{0, 16}, {16, 48}});
  CHECK(bench.gradients[16] == 0.0F);
  CHECK(bench.gradients[0] == 1.0F);
}

TEST_CASE("a host learns which iteration a batch is of, and of the end") {
  TestHost host;
  Bench bench(host);
  bench.trainer.begin_iteration(
      {.iteration = 7, .rank = 1, .workers = 3, .batch_size = 6, .share = 2});
  bench.pass();
  CHECK(host.seen.iteration == 7);
  CHECK(host.seen.rank == 1);
  CHECK(host.seen.workers == 3);
  CHECK(host.seen.global_batch_size == 6);
  CHECK(host.seen.is_probe == 0);
  bench.trainer.begin_iteration({.iteration = 8, .batch_size = 12, .share = 4});
  bench.pass();
  CHECK(host.seen.is_probe == 1);  // half of its samples
  bench.trainer.end(WorkerIteration{.iteration = 9, .rank = 2, .workers = 3, .batch_size = 6});
  bench.trainer.end(std::nullopt);
  REQUIRE(host.ends.size() == 2);
  CHECK(host.ends[0].took_part == 1);
  CHECK(host.ends[0].iterations == 9);
  CHECK(host.ends[0].rank == 2);
  CHECK(host.ends[1].took_part == 0);
}

TEST_CASE("a host's computing threads are as many as it was told last") {
  TestHost host;
  scavenger_worker_host functions = host.host();
  CHECK_FALSE(HostTrainer(functions, job_of_labels()).in_parallel());
  functions.use_threads = [](void*, std::uint32_t) { return int{SCAVENGER_OK}; };
  functions.in_parallel = [](void (*work)(void*), void* data, unsigned threads, unsigned flags) {
    for (unsigned i = 0; i < threads + flags; ++i) work(data);
  };
  HostTrainer trainer(functions, job_of_labels());
  int calls = 0;
  const InParallel in_parallel = trainer.in_parallel();
  in_parallel([&calls] { ++calls; });
  CHECK(calls == 1);
  trainer.use_threads(3);
  in_parallel([&calls] { ++calls; });
  CHECK(calls == 4);
}

TEST_CASE("a traceback is kept for one error") {
  keep_host_traceback("Traceback\n  line 1");
  CHECK(take_host_traceback() == "Traceback\n  line 1");
  CHECK(take_host_traceback().empty());
}

TEST_CASE("a host that tells of a gradient twice is wrong") {
  TestHost host;
  host.tells = {0, 0};
  Bench bench(host);
  CHECK_THROWS_AS(bench.pass(), JobError);
}

TEST_CASE("an error of the synchroniser passes by the host") {
  TestHost host;
  Bench bench(host);
  const auto fail = [](std::uint64_t, std::uint64_t) {
    throw ConnectionError({.what = "gone", .where = {}, .remedy = {}});
  };
  CHECK_THROWS_AS(bench.trainer.forward_backward(two_samples(), 1, fail), ConnectionError);
  CHECK_NOTHROW(bench.pass());
}

TEST_CASE("a host that waits for a device works on what it has told of, within a pass only") {
  TestHost host;
  host.works_ahead = true;
  Bench bench(host);
  bench.pass();  // nobody has given work
  std::vector<std::size_t> told;
  bench.trainer.use_waiting_time([&] {
    told.push_back(bench.ranges.size());
    return told.size() % 2 == 1;
  });
  bench.ranges.clear();
  bench.pass();
  CHECK(told == std::vector<std::size_t>{1, 1, 2, 2});
  CHECK_FALSE(bench.trainer.work_ahead());
  CHECK(told.size() == 4);
  bench.trainer.use_waiting_time(
      []() -> bool { throw ConnectionError({.what = "gone", .where = {}, .remedy = {}}); });
  CHECK_THROWS_AS(bench.pass(), ConnectionError);
}

TEST_CASE("errors of the host keep their words and their kind") {
  TestHost host;
  Bench bench(host);
  host.status = SCAVENGER_BAD_INPUT;
  CHECK_THROWS_AS(bench.pass(), ConfigError);
  CHECK_THROWS_WITH(bench.pass(), Catch::Contains("no luck") && Catch::Contains("train.py"));
  host.status = SCAVENGER_FAILED;
  CHECK_THROWS_AS(bench.pass(), JobError);
}

TEST_CASE("a loss that is no number ends the job") {
  TestHost host;
  host.loss = std::nan("");
  Bench bench(host);
  CHECK_THROWS_AS(bench.pass(), JobError);
}

TEST_CASE("buffers of all types are read from the host's memory and written back") {
  TestHost host;
  Bench bench(host);
  std::vector<float> values(bench.trainer.buffers().flat_size());
  bench.trainer.read_buffers(values);
  host.count = 0;
  host.mean = {0.0F, 0.0F};
  bench.trainer.write_buffers(values);
  CHECK(host.count == 70000);
  CHECK(host.mean == std::array{1.5F, -2.0F});
}

TEST_CASE("a model without parameters, or with those of another type, is refused") {
  TestHost host;
  host.parameter_count = 0;
  CHECK_THROWS_WITH(HostTrainer(host.host(), job_of_labels()), Catch::Contains("nothing to train"));
  host.parameter_count = 2;
  host.type = "BF16";
  CHECK_THROWS_WITH(HostTrainer(host.host(), job_of_labels()),
                    Catch::Contains("w is of type BF16"));
}

TEST_CASE("an evaluation gives the host's sums") {
  TestHost host;
  Bench bench(host);
  const EvaluationSums sums = bench.trainer.evaluate(two_samples());
  CHECK(sums.samples == 2);
  CHECK(sums.predictions == 2);
  CHECK(sums.correct == 1);
  CHECK(sums.loss == 0.25);
}

}  // namespace
}  // namespace scavenger
