#include "elastic/planning/plan_machines.h"

#include <catch2/catch.hpp>

#include "elastic/planning/number_list.h"
#include "runtime/base/error.h"
#include "test/unit/elastic/plan/known_model.h"

namespace scavenger::elastic {
namespace {

perfmodel::MachinePool pool_from(const std::string& text, const perfmodel::ModelRecord& record) {
  return pool_of(parse_machines(text), record,
                 perfmodel::observations_of(record, {"small", {}, {}}), 0.5,
                 perfmodel::Sharing::kEven);
}

}  // namespace

TEST_CASE("Numbers are a list, a range, or both; anything else is refused with its option") {
  CHECK(parse_numbers("64,128,256", "--batch-sizes") == std::vector<double>{64, 128, 256});
  CHECK(parse_numbers("1-3,8", "--workers") == std::vector<double>{1, 2, 3, 8});
  for (const char* wrong : {"", "0", "-1", "3-1", "1-100000", "four", "1,,2", "nan", "1.5", "1e16",
                            "99999999999999999999"}) {
    CAPTURE(wrong);
    CHECK_THROWS_WITH(parse_numbers(wrong, "--workers"), Catch::Contains("--workers"));
  }
}

TEST_CASE("Machines are named by type and count, and may have a speed and a price") {
  const auto named = parse_machines("small:2:0.5:0.04,large:4.7");
  REQUIRE(named.size() == 2);
  CHECK(named[0].type == "small");
  CHECK(named[0].count == 2.0);
  CHECK(named[0].speed == 0.5);
  CHECK(named[0].price_per_hour == 0.04);
  CHECK(named[1].count == 4.0);
  CHECK_FALSE(named[1].speed);
  CHECK_FALSE(named[1].price_per_hour);
  for (const char* wrong : {"", "small", ":2", "small:0", "small:2:0", "small:2:1:-1",
                            "small:2:1:1:1", "small:two", "small:1,,large:2"}) {
    CAPTURE(wrong);
    CHECK_THROWS_WITH(parse_machines(wrong), Catch::Contains("--machines"));
  }
}

TEST_CASE("A speed that is not named is taken from what was measured on machines of the type") {
  perfmodel::ModelRecord record = small_record();
  CHECK_THROWS_WITH(pool_from("small:2,large:2", record), Catch::Contains("\"large\""));
  for (const double workers : {1.0, 2.0})
    record.times.push_back(
        {"job", "large", workers, 64.0, seconds_at(workers, 64.0) / 4.0, 1e-5, 100.0});
  const perfmodel::MachinePool pool = pool_from("small:2,large:3", record);
  REQUIRE(pool.groups.size() == 2);
  CHECK(pool.groups[0].speed == 1.0);
  CHECK(pool.groups[1].speed == Approx(4.0));
  CHECK(pool.groups[1].workers == 3.0);
  CHECK(pool.groups[1].price_per_hour == 0.5);
  CHECK(pool_from("small:2,large:3:2:0.9", record).groups[1].speed == 2.0);
  CHECK(pool_from("small:2,large:3:2:0.9", record).groups[1].price_per_hour == 0.9);
}

}  // namespace scavenger::elastic
