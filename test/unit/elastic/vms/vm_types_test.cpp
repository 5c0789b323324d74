#include "elastic/vms/vm_types.h"

#include <catch2/catch.hpp>
#include <fstream>

#include "runtime/base/error.h"

namespace scavenger::elastic {
namespace {

std::filesystem::path catalogue_file(const std::string& text) {
  const auto file = std::filesystem::temp_directory_path() / "scavenger_vm_types_test.csv";
  std::ofstream(file) << text;
  return file;
}

TEST_CASE("A catalogue file says what there is, and leaves out what is not known") {
  const auto types =
      read_vm_types(catalogue_file("type,vcpu,price,spot_price,nic_gbit,max_count\n"
                                   "n2d-standard-8,8,0.4,0.1,16,\n"
                                   "slim,2,0.05,,,3\n"));
  REQUIRE(types.size() == 2);
  CHECK(types[0].features.family == "n2d");
  CHECK(types[0].features.rate == 8.0);
  CHECK(types[0].spot_price == 0.1);
  CHECK(types[0].features.link == 16.0);
  CHECK(!types[1].features.link);
  CHECK(!types[1].spot_price);
  CHECK(types[1].max_count == 3.0);
}

TEST_CASE("A score counts instead of the number of vCPUs") {
  const auto types =
      read_vm_types(catalogue_file("type,vcpu,coremark,price\na,8,100,1\nb,8,200,1\n"));
  CHECK(types[1].features.rate == 200.0);
  CHECK(types[1].features.core_rate == 25.0);
}

TEST_CASE("A catalogue with a fault is refused with its line") {
  for (const char* text :
       {"type,vcpu,price\na,8,free\n", "type,vcpu,price\na,-1,1\n", "type,vcpu,price\na,8\n",
        "type,cpus,price\na,8,1\n", "type,vcpu,price\na,8,1\na,8,1\n", "type,vcpu,price\n",
        "type,vcpu,coremark,price\na,8,100,1\nb,8,,1\n", "type,vcpu,price,vcpu\na,8,1,4\n",
        "type,vcpu,price,max_count\na,8,1,0.5\n"})
    CHECK_THROWS_AS(read_vm_types(catalogue_file(text)), InputError);
  const auto none = read_vm_types(catalogue_file("type,vcpu,price,gpus,spot_losses\na,8,1,0,0\n"));
  CHECK(none[0].gpus == 0.0);
  CHECK(none[0].spot_losses == 0.0);
}

MachinePrice price_of(double dollars) {
  MachinePrice price;
  price.per_hour = dollars;
  return price;
}

TEST_CASE("Types of a provider need a name, a price, and cores or a GPU") {
  MachineCatalogue catalogue;
  catalogue.entries = {{.type = "n2-standard-4", .cores = 4.0, .on_demand = price_of(0.2)},
                       {.type = "lab",
                        .memory_gib = 16.0,
                        .gpus = 1.0,
                        .gpu_type = "a100",
                        .on_demand = price_of(3.0)},
                       {.type = "", .cores = 4.0, .on_demand = price_of(0.1)},
                       {.type = "unknown", .on_demand = price_of(0.1)},
                       {.type = "unsold", .cores = 4.0}};
  const auto types = vm_types_of(catalogue);
  REQUIRE(types.size() == 2);
  CHECK(types[0].features.name == "n2-standard-4");
  CHECK(types[0].price == 0.2);
  CHECK(processor_of(types[0]) == "cores");
  CHECK(types[1].features.name == "lab");
  CHECK(processor_of(types[1]) == "a100");
  CHECK(!types[1].vcpus);
  CHECK(!types[1].memory_gib);  // the host's: a share must fit in the GPU's
}

TEST_CASE("A type that is in several places is there once, at its least price") {
  MachineCatalogue catalogue;
  catalogue.entries = {
      {.type = "a", .zone = "x", .cores = 4.0, .on_demand = price_of(0.3), .count = 2},
      {.type = "a", .zone = "y", .cores = 4.0, .on_demand = price_of(0.2), .count = 3}};
  auto types = vm_types_of(catalogue);
  REQUIRE(types.size() == 1);
  CHECK(types[0].price == 0.2);
  CHECK(types[0].minimum_seconds == 0.0);  // the provider says nothing of a least bill
  CHECK(types[0].max_count == 5.0);
  catalogue.entries[0].count = std::nullopt;
  CHECK(!vm_types_of(catalogue)[0].max_count);
}

TEST_CASE("A catalogue file has GPUs, too, which need no score") {
  const auto types = read_vm_types(catalogue_file(
      "type,vcpu,price,coremark,ram_gib,gpus,gpu_type\na,8,1,100,32,,\ng,12,3,,85,1,a100\n"));
  CHECK(types[0].gpus == 0.0);
  CHECK(types[0].memory_gib == 32.0);
  CHECK(types[1].gpus == 1.0);
  CHECK(processor_of(types[1]) == "a100");
  CHECK(types[1].vcpus == 12.0);
}

TEST_CASE("A table of CoreMark gives rates, and types that it lacks are left out") {
  const auto scores = std::filesystem::temp_directory_path() / "scavenger_vm_scores_test.csv";
  std::ofstream(scores) << "MACHINE_TYPE;CPU;vCores;COREMARK_SCORE;STANDARD_DEVIATION;SAMPLES\n"
                           "a-4 ;Ice Lake ;4;66,000 ;0.61 ;2336\n"
                           "a-4 ;Rome ;4;74,000 ;0.61 ;236\n"
                           ";;;;;\n";
  auto types = read_vm_types(catalogue_file("type,vcpu,price\na-4,4,1\nb-4,4,1\n"));
  CHECK(score_types(types, scores) == 1);
  REQUIRE(types.size() == 1);
  CHECK(types[0].features.rate == 70000.0);
  CHECK(types[0].features.core_rate == 17500.0);
  std::ofstream(scores) << "MACHINE_TYPE;CPU;vCores;COREMARK_SCORE;X\na-4;Ice Lake;4;fast;1\n";
  CHECK_THROWS_AS(score_types(types, scores), InputError);
  std::ofstream(scores) << "type,coremark\n";
  CHECK_THROWS_AS(score_types(types, scores), InputError);
}

TEST_CASE("What a catalogue says of memory and of losses is kept") {
  const auto types = read_vm_types(
      catalogue_file("type,vcpu,price,ram_gib,spot_price,spot_losses\na,8,1,32,0.2,0.1\n"));
  CHECK(types[0].memory_gib == 32.0);
  CHECK(types[0].spot_losses == 0.1);
  CHECK(types[0].vcpus == 8.0);
}

TEST_CASE("Patterns name types") {
  CHECK(fits_patterns("n2d-standard-8", "c3-*, n2d-*"));
  CHECK(fits_patterns("n2d-standard-8", "*-8"));
  CHECK(!fits_patterns("n2-standard-8", "n2d-*,c3-*"));
}

}  // namespace
}  // namespace scavenger::elastic
