#include <catch2/catch.hpp>
#include <limits>

#include "runtime/base/error.h"
#include "test/unit/perfmodel/store/sample_record.h"

using namespace scavenger;
using namespace scavenger::perfmodel;

TEST_CASE("a record comes back from its text") {
  const ModelRecord record = sample_record();
  CHECK(parse_model_record(to_json_text(record), "file.json") == record);
}

TEST_CASE("a model's id depends on each part of its signature") {
  const ModelSignature signature = sample_record().signature;
  CHECK(signature.id().size() == 16);
  std::vector<ModelSignature> others(5, signature);
  others[0].architecture = "other";
  others[1].parameters = 1;
  others[2].data_set = "other";
  others[3].samples_per_epoch = 1;
  others[4].optimizer = "other";
  for (const ModelSignature& other : others) CHECK(other.id() != signature.id());
}

TEST_CASE("a damaged record is refused with its place") {
  CHECK_THROWS_WITH(parse_model_record("{\"signature\":", "a.json"), Catch::Contains("a.json"));
  CHECK_THROWS_WITH(parse_model_record("{}", "a.json"), Catch::Contains("signature"));
  ModelRecord record = sample_record();
  record.times[3].seconds = -1.0;
  CHECK_THROWS_WITH(parse_model_record(to_json_text(record), "a.json"),
                    Catch::Contains("times 3") && Catch::Contains("seconds is -1"));
}

TEST_CASE("impossible rows are named") {
  const auto refuses = [](const auto& spoil, const char* word) {
    ModelRecord record = sample_record();
    spoil(record);
    CHECK_THROWS_WITH(check_record(record), Catch::Contains(word));
  };
  refuses([](ModelRecord& r) { r.times[0].seconds = std::numeric_limits<double>::quiet_NaN(); },
          "seconds is nan");
  refuses([](ModelRecord& r) { r.times[0].standard_error = 2e18; }, "more than seconds");
  refuses([](ModelRecord& r) { r.times[0].workers = 0.0; }, "workers is 0");
  refuses([](ModelRecord& r) { r.times[0].workers = 1.5; }, "whole numbers");
  refuses([](ModelRecord& r) { r.times[5].batch_size = 3.0; }, "4 workers cannot share");
  refuses([](ModelRecord& r) { r.noise[0].noise_scale = -1.0; }, "noise_scale is -1");
  refuses([](ModelRecord& r) { r.epochs[0].epochs = 0.0; }, "epochs is 0");
}

TEST_CASE("a job is most similar to itself, then to its own architecture, then to its size") {
  const ModelSignature job = sample_record().signature;
  ModelSignature other_rate = job, other_model = job, smaller = job;
  other_rate.optimizer = "sgd 0.1";
  other_model.architecture = "c3";
  smaller.architecture = "c4";
  smaller.parameters = 10000;
  CHECK(similarity(job, job) == 1.0);
  CHECK(similarity(job, other_rate) < 1.0);
  CHECK(similarity(job, other_model) < similarity(job, other_rate));
  CHECK(similarity(job, smaller) < similarity(job, other_model));
}
