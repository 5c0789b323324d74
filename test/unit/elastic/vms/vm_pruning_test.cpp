#include "elastic/vms/vm_pruning.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "elastic/vms/vm_memory.h"
#include "runtime/base/error.h"
#include "test/unit/elastic/plan/known_model.h"

namespace scavenger::elastic {
namespace {

VmType type_of(const std::string& name, double vcpus, double gib, double price) {
  VmType type;
  type.features.name = name;
  type.features.family = name.substr(0, name.find('-'));
  type.features.rate = vcpus;
  type.features.core_rate = 1.0;
  type.vcpus = vcpus;
  type.memory_gib = gib;
  type.price = price;
  return type;
}

std::vector<std::string> names(const std::vector<VmType>& types) {
  std::vector<std::string> result;
  for (const VmType& type : types) result.push_back(type.features.name);
  return result;
}

TEST_CASE("A model that a type's memory does not hold leaves the type out, and says why") {
  KnownModel model = small_model();
  model.record.signature.parameters = 400'000'000;  // 4.8 GB of weights and gradients
  std::vector<VmType> types = {type_of("a-2", 2, 4, 0.1), type_of("b-2", 2, 8, 0.2)};
  const auto pruned = prune_types(types, model, {});
  CHECK(names(types) == std::vector<std::string>{"b-2"});
  REQUIRE(pruned.size() == 1);
  CHECK(pruned[0].type == "a-2");
  CHECK(pruned[0].why.find("4 GiB") != std::string::npos);
}

TEST_CASE("What a sample takes decides how many fit, if it was measured") {
  KnownModel model = small_model();
  model.room_samples = 77;
  const VmType type = type_of("a-2", 2, 4, 0.1);
  CHECK(room_in_memory(type, model) == 77.0);
  model.bytes_per_sample = 100'000'000;
  CHECK(room_in_memory(type, model) == 36.0);  // 0.85 x 4 GiB less 12 kB
  VmType unknown = type;
  unknown.memory_gib.reset();
  CHECK(room_in_memory(unknown, model) == 77.0);
  // No plan gives a worker more.
  const VmPlan plan = make_vm_plan(model, {type}, {});
  for (const VmRow& row : plan.rows) CHECK(row.base().share <= 36.0);
}

TEST_CASE("A quota of vCPUs leaves out the types of which it allows none") {
  std::vector<VmType> types = {type_of("a-2", 2, 8, 0.1), type_of("a-96", 96, 384, 4.8)};
  VmQuestion question;
  question.most_vcpus = 24.0;
  CHECK(prune_types(types, small_model(), question).size() == 1);
  CHECK(names(types) == std::vector<std::string>{"a-2"});
  std::vector<VmType> large = {type_of("a-96", 96, 384, 4.8)};
  CHECK_THROWS_AS(make_vm_plan(small_model(), large, question), InputError);
}

TEST_CASE("A type that another of its family matches in all and undercuts is left out") {
  std::vector<VmType> types = {type_of("a-dear", 4, 16, 0.3), type_of("a-cheap", 4, 16, 0.2),
                               type_of("b-dear", 4, 16, 0.3), type_of("a-more", 4, 32, 0.25)};
  const auto pruned = prune_types(types, small_model(), {});
  CHECK(names(types) == std::vector<std::string>{"a-cheap", "b-dear", "a-more"});
  REQUIRE(pruned.size() == 1);
  CHECK(pruned[0].why.find("a-cheap") != std::string::npos);
}

TEST_CASE("Of two types that are alike one stays, and one on which the job ran stays, too") {
  std::vector<VmType> twins = {type_of("a-x", 4, 16, 0.2), type_of("a-y", 4, 16, 0.2)};
  CHECK(prune_types(twins, small_model(), {}).size() == 1);
  std::vector<VmType> types = {type_of("a-cheap", 4, 16, 0.2), type_of("small", 4, 16, 0.3)};
  types[1].features.family = "a";
  CHECK(prune_types(types, small_model(), {}).empty());
}

VmType gpu_type_of(const std::string& name, const std::string& gpu, double price) {
  VmType type = type_of(name, 8, 64, price);
  type.gpus = 1.0;
  type.gpu_type = gpu;
  type.features.family = gpu;
  type.features.rate = type.features.core_rate = 1.0;
  return type;
}

TEST_CASE("A GPU on which the job never ran is left out, and so are cores after a run on a GPU") {
  std::vector<VmType> all = {type_of("cpu", 8, 32, 0.3), gpu_type_of("lab", "a100", 3.0),
                             gpu_type_of("cloud", "a100", 4.0), gpu_type_of("new", "h100", 5.0),
                             gpu_type_of("odd", "", 1.0)};
  all[2].features.link = 16.0;       // else the lab would be as good in all
  KnownModel model = small_model();  // it ran on "small", which nobody offers
  std::vector<VmType> types = all;
  const auto pruned = prune_types(types, model, {});
  CHECK(names(types) == std::vector<std::string>{"cpu"});
  REQUIRE(pruned.size() == 4);
  CHECK(pruned[2].why.find("never ran on h100") != std::string::npos);
  CHECK(pruned[3].why.find("the GPU of odd") != std::string::npos);

  for (perfmodel::TimeRow& row : model.record.times) row.machine = "lab";
  types = all;
  prune_types(types, model, {});
  CHECK(names(types) == std::vector<std::string>{"lab", "cloud"});
  CHECK(types[1].features.rate == 1.0);
  // The other lab with the same GPU is expected to take as long, and costs more.
  const VmPlan plan = make_vm_plan(model, all, {});
  REQUIRE(plan.choice);
  CHECK(plan.rows[*plan.choice].base().type == "lab");

  model.record.times.push_back({"job", "cpu", 1.0, 64.0, 0.5, 1e-3, 50.0});
  types = all;
  prune_types(types, model, {});
  CHECK(names(types) == std::vector<std::string>{"cpu", "lab", "cloud"});
  CHECK(!types[1].features.rate);  // nothing compares a GPU with cores but measurements
  CHECK(types[0].features.rate == 8.0);
  CHECK(make_vm_plan(model, all, {}).choice.has_value());
}

}  // namespace
}  // namespace scavenger::elastic
