#include "campaign/core/machine_lives.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "perfmodel/survival/bathtub.h"
#include "runtime/base/random.h"

namespace scavenger::campaign {
namespace {

const MachineKind kKind{"n2d", "a"};

TEST_CASE("Losses change what is assumed of machines' lives", "[machine_lives]") {
  MachineLives lives(36000.0);
  CHECK(lives.survival().mean_life_seconds() == Approx(36000.0));
  lives.add(kKind, 36000.0, false);
  CHECK(lives.survival().mean_life_seconds() == Approx(72000.0));
  lives.add(kKind, 0.0, true);
  CHECK(lives.survival().mean_life_seconds() == Approx(36000.0));
  RandomStream stream(1, "lives");
  for (int i = 0; i < 2000; ++i) lives.add(kKind, -100.0 * std::log1p(-stream.uniform()), true);
  CHECK(lives.survival().mean_life_seconds() == Approx(136.0).epsilon(0.05));
}

TEST_CASE("Early losses of many machines make early segments shorter", "[machine_lives]") {
  MachineLives lives(36000.0);
  RandomStream stream(1, "lives");
  for (int i = 0; i < 200; ++i) {
    const double mean = stream.uniform() < 0.4 ? 1800.0 : 72000.0;
    lives.add(kKind, -mean * std::log1p(-stream.uniform()), true);
  }
  CHECK(lives.survival().hazard(60.0) > 2.0 * lives.survival().hazard(36000.0));
}

TEST_CASE("A kind lives as its type, and a type as all, until it was seen", "[machine_lives]") {
  MachineLives lives(36000.0);
  for (int i = 0; i < 20; ++i) lives.add({"short", "a"}, 100.0, true);
  for (int i = 0; i < 20; ++i) lives.add({"short", "b"}, 1000.0, true);
  for (int i = 0; i < 5; ++i) lives.add({"long", "a"}, 50000.0, false);
  const auto mean = [&](const MachineKind& kind) {
    return lives.survival(kind).mean_life_seconds();
  };
  CHECK(mean({"short", "a"}) < 200.0);
  CHECK(mean({"short", "b"}) > 800.0);
  CHECK(mean({"short", "new"}) == Approx(lives.survival("short").mean_life_seconds()));
  CHECK(mean({"new", "a"}) == Approx(lives.survival().mean_life_seconds()));
  CHECK(mean({"long", "a"}) > 50000.0);
}

TEST_CASE("Machines that end late together make a bathtub, and an announced wall is none",
          "[machine_lives]") {
  const perfmodel::Bathtub truth({0.45, 3600.0, 2880.0, 86400.0});
  MachineLives lives(36000.0), walled(36000.0, 80000.0);
  RandomStream stream(1, "lives");
  for (int i = 0; i < 200; ++i) {
    lives.add(kKind, drawn_life_seconds(truth, 0.0, stream.uniform()), true);
    walled.add(kKind, std::min(-1e5 * std::log1p(-stream.uniform()), 80000.0), true);
  }
  CHECK(lives.survival().hazard(84000.0) > 5.0 * lives.survival().hazard(40000.0));
  CHECK(lives.survival().wall_seconds() == perfmodel::kNeverSeconds);
  CHECK(walled.survival().wall_seconds() == 80000.0);
  // What ended at the wall was not lost.
  CHECK(walled.survival().hazard(79000.0) < 2e-5);
}

}  // namespace
}  // namespace scavenger::campaign
