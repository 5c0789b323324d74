#include "elastic/vms/vm_calibration.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>

#include "elastic/vms/vm_plan.h"
#include "runtime/base/error.h"
#include "test/unit/elastic/plan/known_model.h"

namespace scavenger::elastic {
namespace {

std::filesystem::path fresh_file() {
  const auto file = std::filesystem::temp_directory_path() / "scavenger_vm_calibration_test.csv";
  std::filesystem::remove(file);
  return file;
}

VmType type_with_cores(const std::string& name, double cores) {
  VmType type;
  type.features.name = name;
  type.features.family = name;  // else the dearer of two that are alike is left out
  type.features.rate = cores;
  type.features.core_rate = 1.0;
  type.price = 0.1 * cores;
  return type;
}

TEST_CASE("A type that is calibrated again has its latest measurement alone") {
  const auto file = fresh_file();
  keep_calibration(file, {"small", 100.0, "2026-11-24T10:00:00Z"});
  keep_calibration(file, {"wide", 500.0, "2026-11-24T10:01:00Z"});
  keep_calibration(file, {"small", 125.5, "2026-11-24T10:02:00Z"});
  const std::vector<Calibration> all = read_calibrations(file);
  REQUIRE(all.size() == 2);
  CHECK(all[0].type == "wide");
  CHECK(all[1].samples_per_second == 125.5);
  CHECK(all[1].measured_utc == "2026-11-24T10:02:00Z");
}

TEST_CASE("A file that is none is refused with its line, and is not written over") {
  const auto file = fresh_file();
  const std::string header = "type,samples_per_second,measured\n";
  for (const std::string& text : {std::string("type,vcpu\na,1\n"), header + "a,fast,now\n",
                                  header + "a,-1,now\n", header + ",5,now\n", header + "a\n",
                                  header + "a,1x,now\n", header + "a,1e308,now\n", std::string()}) {
    std::ofstream(file) << text;
    INFO(text);
    CHECK_THROWS_AS(read_calibrations(file), InputError);
    CHECK_THROWS_AS(keep_calibration(file, {"b", 1.0, "now"}), InputError);
    CHECK(std::filesystem::file_size(file) == text.size());
  }
}

TEST_CASE("Whether a calibration can be kept is known before one is measured") {
  const auto file = fresh_file();
  try_calibrations(file);
  CHECK(read_calibrations(file).empty());
  keep_calibration(file, {"small", 100.0, "now"});
  try_calibrations(file);
  CHECK(read_calibrations(file).size() == 1);
  CHECK_THROWS_AS(try_calibrations(file / "below a file.csv"), Error);
}

TEST_CASE("Rates of calibrated types are what was measured, in the catalogue's unit") {
  std::vector<VmType> types = {type_with_cores("small", 2.0), type_with_cores("wide", 8.0),
                               type_with_cores("other", 4.0)};
  // "wide" does three times what "small" does, not four times.
  CHECK(apply_calibrations(types, {{"small", 200.0, ""}, {"wide", 600.0, ""}, {"no", 1.0, ""}}) ==
        2);
  CHECK(*types[1].features.rate / *types[0].features.rate == Approx(3.0));
  CHECK(*types[1].features.core_rate / *types[0].features.core_rate == Approx(0.75));
  // The others lie between: the unit is the middle of 100 and 75 samples for each core.
  CHECK(types[2].features.rate == 4.0);
  CHECK(*types[0].features.rate == Approx(200.0 / 87.5));
  CHECK(types[0].is_calibrated);
  CHECK(!types[2].is_calibrated);
}

TEST_CASE("One calibrated type alone says nothing") {
  std::vector<VmType> types = {type_with_cores("small", 2.0), type_with_cores("wide", 8.0)};
  CHECK(apply_calibrations(types, {{"wide", 600.0, ""}, {"elsewhere", 5.0, ""}}) == 0);
  CHECK(types[1].features.rate == 8.0);
  CHECK(!types[1].is_calibrated);
}

TEST_CASE("A plan on a type that the job never ran on says that it is calibrated") {
  std::vector<VmType> types = {type_with_cores("small", 2.0), type_with_cores("wide", 8.0)};
  const auto seconds_on_wide = [&] {
    VmQuestion question;
    question.most_vms = 1.0;
    const VmPlan plan = make_vm_plan(small_model(), types, question);
    const auto row =
        std::ranges::find(plan.rows, "wide", [](const VmRow& r) { return r.base().type; });
    return row->iteration_seconds;
  };
  const double catalogue = seconds_on_wide();
  apply_calibrations(types, {{"small", 200.0, ""}, {"wide", 200.0, ""}});
  const VmPlan plan = make_vm_plan(small_model(), types, {});
  for (const VmRow& row : plan.rows)
    CHECK((row.evidence == VmEvidence::kCalibrated) == (row.base().type == "wide"));
  CHECK(vm_plan_text(plan, "digits").find("calibrated") != std::string::npos);
  CHECK(seconds_on_wide() > 1.5 * catalogue);  // it was said to be four times as fast as "small"
}

}  // namespace
}  // namespace scavenger::elastic
