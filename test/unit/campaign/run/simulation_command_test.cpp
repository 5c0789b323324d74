#include "campaign/run/simulation_command.h"

#include <catch2/catch.hpp>
#include <csignal>

namespace scavenger::campaign {
namespace {

CampaignConfig ions() {
  CampaignConfig config;
  config.seed = 5;
  config.space = {{"Z", {{}, {4.0, 5.0}, 0.2}}, {"c", {{0.5, 1.0}, {}, 0.0}}};
  config.simulation.command = {"md", "--slit={Z}", "{c}", "{from}", "{until}", "{steps}", "{seed}"};
  config.simulation.stop.signal = "TERM";
  config.simulation.templates = {"in.txt"};
  return config;
}

TEST_CASE("A command has the point's values and the segment's steps", "[simulation_command]") {
  const CampaignConfig config = ions();
  const message::Run run = segment_command(config, Space(config.space), 3, 3, 100, 250);
  const std::string seed = std::to_string(seed_of(5, 3));
  CHECK(run.words == std::vector<std::string>{"md", "--slit=4.2", "1", "100", "250", "150", seed});
  CHECK(run.stop_signal == SIGTERM);
}

TEST_CASE("Seeds follow from the campaign's seed and the point", "[simulation_command]") {
  CHECK(seed_of(1, 0) == seed_of(1, 0));
  CHECK(seed_of(1, 0) != seed_of(1, 1));
  CHECK(seed_of(1, 0) != seed_of(2, 0));
  for (PointIndex point = 0; point < 1000; ++point) {
    CHECK(seed_of(1, point) >= 1);
    CHECK(seed_of(1, point) <= 2147483646);
  }
}

TEST_CASE("Only templates are filled", "[simulation_command]") {
  const CampaignConfig config = ions();
  const auto files =
      filled_files(config, Space(config.space), 0,
                   {{"in.txt", "{{Z}} {{c}}", false, false}, {"other.txt", "{{Z}}", false, false}});
  CHECK(files[0].content == "4 0.5");
  CHECK(files[1].content == "{{Z}}");
}

}  // namespace
}  // namespace scavenger::campaign
