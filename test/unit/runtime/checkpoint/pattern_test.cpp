#include "runtime/checkpoint/pattern.h"

#include <catch2/catch.hpp>

namespace scavenger {

TEST_CASE("A star stands for any characters, also for none and for dots") {
  CHECK(fits_pattern("layer1.0.conv1.weight", "layer1.*"));
  CHECK(fits_pattern("layer1.0.conv1.weight", "*.weight"));
  CHECK(fits_pattern("layer1.0.conv1.weight", "layer*conv*weight*"));
  CHECK(fits_pattern("fc.bias", "fc.bias"));
  CHECK(fits_pattern("", "*"));
  CHECK(fits_pattern("aab", "*ab"));  // the first try of the star takes too little
}

TEST_CASE("What differs elsewhere does not fit") {
  CHECK_FALSE(fits_pattern("layer10.weight", "layer1.*"));
  CHECK_FALSE(fits_pattern("fc.bias", "fc"));
  CHECK_FALSE(fits_pattern("fc", "fc.*"));
  CHECK_FALSE(fits_pattern("a", ""));
  CHECK(fits_any("fc.bias", {"conv.*", "fc.*"}));
  CHECK_FALSE(fits_any("fc.bias", {}));
}

}  // namespace scavenger
