#include "elastic/vms/known_types.h"

#include <catch2/catch.hpp>

#include "elastic/plan/host_type.h"
#include "elastic/vms/vm_plan.h"
#include "runtime/base/error.h"
#include "test/unit/elastic/plan/known_model.h"
#include "test/unit/elastic/vms/sample_vm_type.h"

namespace scavenger::elastic {
namespace {

const std::string kHost = host_type({"here", 4, 1ULL << 33, "Some CPU x 2"});

// The job ran with 2 workers on a machine of four cores that nobody rented.
KnownModel on_host(double workers = 2.0) {
  KnownModel known;
  known.record = small_record();
  known.record.times = {{"job", kHost, workers, 256.0, 0.5, 1e-4, 100.0}};
  return known;
}

double seconds_on(const KnownModel& known, double cores) {
  VmQuestion question;
  question.most_vms = 1.0;
  question.batch = 256.0;
  return make_vm_plan(known, {type_of("a type", cores, 0.1)}, question).rows[0].iteration_seconds;
}

TEST_CASE("A machine that nobody rented is named by its cores and its processor") {
  CHECK(kHost == "4 x Some CPU x 2");
  CHECK(cores_of_host_type(kHost) == 4.0);
  CHECK(!cores_of_host_type("n2d-standard-4"));
  CHECK(!cores_of_host_type("fast x 2"));
}

TEST_CASE("Workers that share a machine have so many of its cores each") {
  const std::vector<VmType> catalogue = {type_of("small", 2.0, 0.1)};
  const KnownTypes types(on_host(), catalogue, {});
  REQUIRE(types.features().size() == 3);
  CHECK(types.features()[1].rate == 4.0);
  CHECK(types.features()[2].rate == 2.0);
  CHECK(types.features()[2].core_rate == 1.0);
  CHECK(types.observations_of(on_host()).at(0).use.type == 2);
  CHECK(types.notes().size() == 1);
  const KnownTypes crowded(on_host(8.0), catalogue, {});
  CHECK(crowded.features()[2].rate == 0.5);
  CHECK(crowded.features()[2].core_rate == 0.5);
}

TEST_CASE("Cores of an unknown machine are as fast as the catalogue's in the median") {
  std::vector<VmType> catalogue = {type_of("a", 2.0, 0.1), type_of("b", 2.0, 0.1),
                                   type_of("gpu", 1.0, 0.1)};
  for (VmType& type : catalogue) {
    *type.features.rate *= 20000.0;
    *type.features.core_rate *= 20000.0;
  }
  catalogue[2].gpus = 1.0;
  catalogue[2].features.rate = catalogue[2].features.core_rate = 1.0;
  const KnownTypes types(on_host(1.0), catalogue, {});
  REQUIRE(types.features().size() == 4);
  CHECK(types.features()[3].rate == 80000.0);
}

TEST_CASE("What a job took on an unknown machine is longer on fewer cores") {
  const double same = seconds_on(on_host(), 2.0);
  CHECK(seconds_on(on_host(), 0.25) > 4.0 * same);
  CHECK(seconds_on(on_host(), 16.0) < 0.4 * same);
  // With one worker the same machine gives it twice as many cores.
  CHECK(seconds_on(on_host(1.0), 4.0) > 0.4);
}

TEST_CASE("What the catalogue says of a machine counts more than its name") {
  std::vector<VmType> catalogue = {type_of("small", 2.0, 0.1), type_of(kHost, 8.0, 0.1)};
  const KnownTypes types(on_host(), catalogue, {});
  CHECK(types.features()[2].rate == 4.0);
  CHECK(types.notes().empty());
}

TEST_CASE("A job on unknown GPUs says nothing of types without them") {
  KnownModel known = on_host();
  known.used_gpus = true;
  CHECK_THROWS_WITH(seconds_on(known, 2.0),
                    Catch::Contains("a type the job never ran on cores") &&
                        Catch::Contains("the machine on which the job ran"));
}

}  // namespace
}  // namespace scavenger::elastic
