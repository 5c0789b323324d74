#include "apps/command_line/user_program.h"

#include <catch2/catch.hpp>

namespace scavenger {

TEST_CASE("A message begins with the program's name, once") {
  CHECK(told_by("scavenger-plan", "a.csv: is no table") == "scavenger-plan: a.csv: is no table");
  CHECK(told_by("scavenger-plan", "scavenger-plan vms: nothing was measured") ==
        "scavenger-plan vms: nothing was measured");
  CHECK(told_by("scavenger-plan", "scavenger-plan: no") == "scavenger-plan: no");
  CHECK(told_by("scavenger-plan", "scavenger-planner is no program") ==
        "scavenger-plan: scavenger-planner is no program");
}

}  // namespace scavenger
