#include "elastic/vms/spot_tables.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "elastic/vms/vm_plan.h"
#include "runtime/base/error.h"
#include "test/support/temporary_folder.h"
#include "test/unit/elastic/vms/sample_vm_type.h"

namespace scavenger::elastic {
namespace {

class WrittenTable final {
 public:
  explicit WrittenTable(const std::string& text) { std::ofstream(path()) << text; }
  std::filesystem::path path() const { return folder_.path() / "table.csv"; }

 private:
  TemporaryFolder folder_;
};

const std::vector<VmType> kTypes = {type_of("small", 1.0, 0.1), type_of("large", 4.0, 0.4)};
constexpr const char* kHeader = "zone,machine_type,lifetime_seconds,ended_by\n";

TEST_CASE("Lives are read by type and zone, and add to what runs have seen") {
  const WrittenTable file(std::string(kHeader) +
                          "a,small,3600,Preempted \na,small,7200,stopped_by_user\r\n"
                          "b,small,1800,preempted\nb,large,3600,preempted\n");
  KnownModel known;
  known.spot["small"].add({3600.0, true});
  add_spot_lives(file.path(), "", kTypes, known);
  CHECK(known.spot.at("small").vm_hours == Approx(4.5));
  CHECK(known.spot.at("small").losses == 3.0);
  CHECK(known.spot.at("small").lives.size() == 4);
  CHECK(known.spot.at("large").losses == 1.0);
  KnownModel one_zone;
  add_spot_lives(file.path(), "b", kTypes, one_zone);
  CHECK(one_zone.spot.at("small").vm_hours == Approx(0.5));
  CHECK_THROWS_AS(add_spot_lives(file.path(), "c", kTypes, one_zone), InputError);
  CHECK_THROWS_WITH(add_spot_lives(file.path(), "", {type_of("huge", 8.0, 1.0)}, one_zone),
                    Catch::Contains("no machine of any type to choose from"));
}

TEST_CASE("A table of lives that cannot be read is an error with its line") {
  for (const auto& [text, words] :
       {std::pair("machine_type,ended_by\nsmall,preempted\n", "lifetime_seconds"),
        std::pair("machine_type,lifetime_seconds,ended_by\nsmall,-3,preempted\n", ":2"),
        std::pair("machine_type,lifetime_seconds,ended_by\n\nsmall,3\n", ":3"),
        std::pair("machine_type,lifetime_seconds,ended_by\n", "no machine"), std::pair("", ":1")}) {
    const WrittenTable file(text);
    KnownModel known;
    try {
      add_spot_lives(file.path(), "", kTypes, known);
      FAIL(text);
    } catch (const InputError& error) {
      CHECK(std::string(error.what()).find(words) != std::string::npos);
    }
  }
}

TEST_CASE("A pipe in place of a table is refused") {
  const TemporaryFolder folder;
  const std::filesystem::path pipe = folder.path() / "lives.csv";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  KnownModel known;
  CHECK_THROWS_AS(add_spot_lives(pipe, "", kTypes, known), InputError);
  CHECK_THROWS_AS(add_spot_lives(folder.path() / "nothing.csv", "", kTypes, known), InputError);
}

TEST_CASE("The price of a spot type is the 90 % quantile of its last year, by time") {
  const WrittenTable file(
      "first_seen_date,machine_type,usd_hour_spot\n"
      "2024-01-01,small,9.0\n"   // more than a year before the last date, but for its end
      "2025-08-01,small,0.10\n"  // holds for 273 days
      "2026-05-01,small,0.20\n"  // for 30
      "2026-05-31,small,0.30\n"  // for 60
      "2026-07-30,small,0.12\n"  // as long as the mean of these
      "2026-07-30,wide,0.5\n");
  std::vector<VmType> types(3);
  types[0].features.name = "small";
  types[1].features.name = "wide";
  types[2].features.name = "other";
  types[2].spot_price = 7.0;
  CHECK(price_spot_types(types, file.path()) == 2);
  CHECK(types[0].spot_price == 0.30);
  CHECK(types[1].spot_price == 0.5);
  CHECK(types[2].spot_price == 7.0);
}

TEST_CASE("A table of prices with a date that is none is an error with its line") {
  for (const std::string date : {"2026-02-30", "2026-2-3", "30.07.2026", ""}) {
    const WrittenTable file("machine_type,first_seen_date,usd_hour_spot\nsmall," + date + ",0.1\n");
    std::vector<VmType> types(1);
    CHECK_THROWS_AS(price_spot_types(types, file.path()), InputError);
  }
}

}  // namespace
}  // namespace scavenger::elastic
