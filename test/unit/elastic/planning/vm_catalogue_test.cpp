#include "elastic/planning/vm_catalogue.h"

#include <catch2/catch.hpp>
#include <fstream>

#include "runtime/base/error.h"
#include "test/support/temporary_folder.h"

namespace scavenger::elastic {
namespace {

std::vector<VmType> types_of_provider(const std::string& provider) {
  TemporaryFolder folder;
  const auto file = folder.path() / "job.json";
  std::ofstream(file) << R"({"name": "job", "data": {
    "train": {"format": "synthetic", "samples": 64, "feature_count": 4},
    "test": {"format": "synthetic", "samples": 64, "feature_count": 4, "first_sample": 64},
    "classes": 2}, "model": {"type": "mlp", "hidden": [4]},
    "optimizer": {"type": "sgd", "learning_rate": 0.1}, "batch_size": 8,
    "stop": {"max_epochs": 1}, "provider": )"
                      << provider << "}";
  return vm_types_at(file);
}

}  // namespace

TEST_CASE("vm_catalogue: kinds of Pods, of jobs of Slurm and of hosts are types to choose from") {
  auto types = types_of_provider(R"({"type": "kubernetes", "image": "x", "machines": [
      {"type": "n2", "cores": 3, "memory_gib": 8, "price_per_hour": 0.2, "count": 4,
       "spot_price_per_hour": 0.05, "spot_node_labels": {"spot": "true"}},
      {"type": "g2", "cores": 7, "gpus": 1, "gpu_type": "l4", "price_per_hour": 0.9}]})");
  REQUIRE(types.size() == 2);
  CHECK(types[0].features.rate == 3.0);
  CHECK(types[0].memory_gib == 8.0);
  CHECK(types[0].spot_price == 0.05);
  CHECK(types[0].max_count == 4.0);
  CHECK(processor_of(types[1]) == "l4");

  types = types_of_provider(R"({"type": "slurm", "cores": 4, "memory_gib": 16, "machines": [
      {"type": "gpu", "gpus": 2, "gpu_type": "a100", "price_per_hour": 1.5},
      {"type": "batch", "price_per_hour": 0.1}]})");
  REQUIRE(types.size() == 2);
  CHECK(processor_of(types[0]) == "a100");
  CHECK(types[1].vcpus == 4.0);
  CHECK(types[1].memory_gib == 16.0);

  types = types_of_provider(R"({"type": "ssh", "hosts": [
      {"destination": "a", "address": "10.0.0.1", "type": "lab", "cores": 8, "workers": 2,
       "price_per_hour": 0.3},
      {"destination": "b", "address": "10.0.0.2", "type": "lab", "cores": 8, "workers": 1,
       "price_per_hour": 0.3}]})");
  REQUIRE(types.size() == 1);
  CHECK(types[0].features.name == "lab");
  CHECK(types[0].max_count == 3.0);
}

TEST_CASE("vm_catalogue: types that are not wanted are known, and not missed in the scores") {
  const TemporaryFolder folder;
  const auto scores = folder.path() / "scores.csv";
  std::ofstream(scores) << "MACHINE_TYPE;CPU;vCores;COREMARK_SCORE\n"
                           "n2d-standard-2;AMD Milan;2;40000\n"
                           "e2-standard-2;Intel Broadwell;2;30000\n";
  std::vector<VmType> types;
  for (const char* name : {"n2d-standard-2", "n2d-standard-4", "e2-standard-2"}) {
    types.emplace_back();
    types.back().features.name = name;
  }
  VmNarrowing narrowing;
  narrowing.patterns = "n2d-*";
  CHECK(offered_types(types, narrowing).types.size() == 2);
  CHECK(offered_types(types, narrowing).features.size() == 3);
  CHECK(offered_types(types, narrowing).unscored == 0);
  narrowing.scores = scores.string();
  const OfferedTypes offered = offered_types(types, narrowing);
  REQUIRE(offered.types.size() == 1);
  CHECK(offered.types[0].features.name == "n2d-standard-2");
  CHECK(offered.types[0].features.rate == 40000.0);
  CHECK(offered.features.size() == 2);
  CHECK(offered.unscored == 1);
}

TEST_CASE("vm_catalogue: a provider without types and prices is refused with the remedy") {
  for (const char* provider :
       {R"({"type": "local"})", R"({"type": "slurm"})",
        R"({"type": "kubernetes", "image": "x", "machines": [{"type": "free"}]})"})
    CHECK_THROWS_WITH(types_of_provider(provider), Catch::Contains("price_per_hour"));
}

}  // namespace scavenger::elastic
