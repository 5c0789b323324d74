#include "noise/stability.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace scavenger::noise {
namespace {

std::filesystem::path shared_data() {
  const char* set = std::getenv("SCAVENGER_SHARED_DATA");
  return set != nullptr ? set : SCAVENGER_SHARED_DATA_DEFAULT;
}

// The paper's gamma at each step 1, 2, ...: the figure's points, joined by lines.
std::vector<double> read_series(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  std::vector<double> values;
  double last_step = 0.0, last_value = 0.0;
  while (std::getline(file, line)) {
    double step = 0.0, value = 0.0;
    char comma = 0;
    std::istringstream(line) >> step >> comma >> value;
    while (static_cast<double>(values.size()) + 1.0 <= step) {
      const double at = static_cast<double>(values.size()) + 1.0;
      const double share = last_step == 0.0 ? 1.0 : (at - last_step) / (step - last_step);
      values.push_back(last_step == 0.0 ? value : last_value + share * (value - last_value));
    }
    last_step = step;
    last_value = value;
  }
  return values;
}

std::uint64_t stable_after(const std::vector<double>& series, StabilityOptions options) {
  StabilityDetector detector(options);
  for (const double gamma : series) {
    detector.add(gamma, 1.0);
    if (detector.stable()) return detector.iterations();
  }
  return 0;
}

}  // namespace

TEST_CASE("A measure is stable once two successive windows agree") {
  StabilityDetector detector({.window_iterations = 4, .tolerance = 0.1});
  const auto window = [&](double value) {
    for (int i = 0; i < 4; ++i) detector.add(value, 1.0);
    return detector.stable();
  };

  CHECK_FALSE(window(1.0));
  CHECK_FALSE(window(2.0));
  CHECK(window(2.1));
  CHECK(window(5.0));  // once settled, stable until reset

  detector.reset();
  CHECK_FALSE(detector.stable());
  CHECK_FALSE(window(5.0));
  CHECK(window(5.0));
}

TEST_CASE("On the paper's noise series the default criterion fires after 1,000 to 3,000 steps") {
  const auto folder = shared_data() / "scavenger_paper";
  if (!std::filesystem::exists(folder)) {
    WARN("skipped: no " << folder);
    return;
  }
  for (const std::string model : {"ResNet18", "ResNet50"})
    for (const std::string workers : {"8", "12", "16"}) {
      const auto series = read_series(folder / ("fig6_noise_" + model + "_K" + workers + ".csv"));
      const auto after = stable_after(series, {});
      CAPTURE(model, workers, after, series.size());
      CHECK(after >= 1000);
      CHECK(after <= 3000);
    }
}

}  // namespace scavenger::noise
