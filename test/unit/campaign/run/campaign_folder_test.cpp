#include "campaign/run/campaign_folder.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "test/support/temporary_folder.h"

namespace scavenger::campaign {
namespace {

namespace fs = std::filesystem;

CampaignConfig small(const fs::path& input) {
  CampaignConfig config;
  config.name = "small";
  config.space = {{"c", {{1.0}, {}, 0.0}}};
  config.simulation.command = {"x", "{until}"};
  config.simulation.steps = 10;
  config.simulation.checkpoint.files = {"s"};
  config.simulation.result.files = {"r"};
  config.simulation.files = {input};
  return config;
}

TEST_CASE("A run folder has copies of what the campaign needs", "[campaign_folder]") {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / "in");
  write_file_atomically(folder.path() / "in/a.txt", "a");
  const CampaignConfig config = small(folder.path() / "in");
  const CampaignFolder run = make_campaign_folder(config, folder.path() / "run");
  CHECK(read_file(run.files() / "in/a.txt") == "a");
  CHECK(config_of(run) == config);
  CHECK(is_campaign(run.path));
  CHECK(replay(run).steps == 0);
  CHECK_THROWS_WITH(make_campaign_folder(config, run.path), Catch::Contains("--resume"));
  CHECK_THROWS_AS(open_campaign_folder(folder.path()), InputError);
}

TEST_CASE("An input that cannot be copied or sent is refused, and no folder stays",
          "[campaign_folder]") {
  using Catch::Contains;
  const TemporaryFolder folder;
  const fs::path input = folder.path() / "in", run = folder.path() / "run";
  fs::create_directories(input);
  SECTION("one that is too large") {
    write_file_atomically(input / "large", "");
    fs::resize_file(input / "large", kMostFileBytes + 1);
    CHECK_THROWS_WITH(make_campaign_folder(small(input), run),
                      Contains("an input may have 64.0 MiB"));
    CHECK_THROWS_AS(make_campaign_folder(small(input / "large"), run), InputError);
  }
  SECTION("the folder of the run") {
    CHECK_THROWS_WITH(make_campaign_folder(small(folder.path()), run),
                      Contains("would contain the run folder"));
    CHECK_THROWS_AS(make_campaign_folder(small("/"), run), InputError);
  }
  SECTION("what is no file") {
    CHECK_THROWS_WITH(make_campaign_folder(small("/dev/null"), run), Contains("neither a file"));
  }
  CHECK_FALSE(fs::exists(run));
}

TEST_CASE("An input whose copy is gone is named", "[campaign_folder]") {
  const TemporaryFolder folder;
  write_file_atomically(folder.path() / "a.txt", "a");
  const CampaignConfig config = small(folder.path() / "a.txt");
  const CampaignFolder run = make_campaign_folder(config, folder.path() / "run");
  require_inputs(run, config);
  fs::remove(run.files() / "a.txt");
  CHECK_THROWS_WITH(require_inputs(run, config),
                    Catch::Contains("an input of the simulations is gone"));
}

TEST_CASE("What a killed process has written in part is cut off", "[campaign_folder]") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "log";
  write_file_atomically(path, "one\ntw");
  CampaignLog(path).write("three");
  CHECK(read_file(path) == "one\nthree\n");
  write_file_atomically(path, "on");
  CampaignLog(path).write("four");
  CHECK(read_file(path) == "four\n");
  CHECK_THROWS_AS(CampaignLog(folder.path() / "none"), SystemError);
}

}  // namespace
}  // namespace scavenger::campaign
