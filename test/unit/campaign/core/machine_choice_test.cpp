#include "campaign/core/machine_choice.h"

#include <catch2/catch.hpp>

#include "test/unit/campaign/core/scripted_campaign.h"

namespace scavenger::campaign {
namespace {

using Types = std::vector<std::string>;

CatalogueEntry entry_of(const std::string& type, double price, double cores = 1.0) {
  CatalogueEntry entry;
  entry.type = type;
  entry.cores = cores;
  entry.on_demand = MachinePrice{.per_hour = price, .minimum_seconds = 0.0, .source = {}};
  return entry;
}

const MachineCatalogue kThree{
    {entry_of("dear", 1.5), entry_of("cheap", 1.0), entry_of("huge", 9.0)},
    MachineCatalogue::Order::kAsListed};

}  // namespace

TEST_CASE("Types are tried, the cheapest first, and then the cheapest per simulation is asked for",
          "[machine_choice]") {
  MachineChoice choice(kThree, small_config());
  const MachineLives lives(36000.0);
  const MachineChoice::Now now{lives, 0.0, 1.0, 20.0};
  CHECK(choice.next_type(now, {}) == "cheap");
  CHECK(choice.next_type(now, Types{"cheap"}) == "dear");
  // Even if it were twice as fast, "huge" would cost more.
  CHECK(choice.next_type(now, Types{"cheap", "dear"}) == "cheap");
  // Where few simulations are left a trial costs more than it can bring.
  CHECK(choice.next_type({lives, 0.0, 1.0, 2.0}, Types{"cheap"}) == "cheap");
  for (PointIndex point = 0; point < 3; ++point) {
    choice.add_rate("cheap", point, 600.0);
    choice.add_rate("dear", point + 3, 300.0);
  }
  CHECK(choice.next_type(now, Types{"cheap", "dear"}) == "dear");
  REQUIRE(choice.measured(now).size() == 2);
  CHECK(choice.measured(now)[0].type == "dear");
  CHECK(choice.measured(now)[0].value.dollars_per_task ==
        Approx(300.0 * 1.5 / 3600.0).epsilon(0.3));
  // A type that is refused is not asked for until later, and longer each time.
  choice.refuse("dear", 0.0);
  CHECK(choice.next_type(now, {}) == "cheap");
  CHECK(choice.next_type({lives, 61.0, 1.0, 20.0}, {}) == "dear");
  choice.refuse("dear", 61.0);
  CHECK(choice.next_type({lives, 170.0, 1.0, 20.0}, {}) == "cheap");
}

TEST_CASE("Without prices, or with one type, any machine is asked for", "[machine_choice]") {
  const MachineLives lives(36000.0);
  const MachineChoice::Now now{lives, 0.0, 1.0, 20.0};
  MachineChoice one({{entry_of("only", 1.0)}, MachineCatalogue::Order::kAsListed}, small_config());
  CHECK(one.next_type(now, {}).empty());
  MachineChoice free({{entry_of("a", 0.0), entry_of("b", 0.0)}, MachineCatalogue::Order::kAsListed},
                     small_config());
  CHECK(free.next_type(now, {}).empty());
}

TEST_CASE("A machine of a dear type goes if what is left pays for another's start",
          "[machine_choice]") {
  MachineChoice choice(kThree, small_config());
  const MachineLives lives(36000.0);
  choice.add_start(150.0);
  for (PointIndex point = 0; point < 3; ++point) {
    CHECK(choice.is_worth_keeping({lives, 0.0, 1.0, 20.0}, {"cheap", ""}, 10.0));
    choice.add_rate("cheap", point, 600.0);
    choice.add_rate("dear", point, 300.0);
  }
  // 600 s x $1/h against 300 s x $1.5/h: $0.042 are saved by each simulation; a start costs
  // more.
  CHECK_FALSE(choice.is_worth_keeping({lives, 0.0, 1.0, 20.0}, {"cheap", ""}, 10.0));
  CHECK(choice.is_worth_keeping({lives, 0.0, 1.0, 1.0}, {"cheap", ""}, 10.0));
  CHECK(choice.is_worth_keeping({lives, 0.0, 1.0, 20.0}, {"dear", ""}, 10.0));
}

TEST_CASE("An old machine takes no simulation that a new one ends earlier", "[machine_choice]") {
  MachineChoice choice(kThree, small_config());
  const MachineLives lives(36000.0, 10000.0);  // each ends after 10,000 s
  const MachineChoice::Now now{lives, 0.0, 5.0, 20.0};
  choice.add_start(20.0);
  CHECK(choice.is_worth_keeping(now, {"cheap", ""}, 9990.0));  // nothing is known yet
  choice.add_rate("cheap", 0, 600.0);
  CHECK(choice.is_worth_keeping(now, {"cheap", ""}, 100.0));
  CHECK(choice.is_worth_keeping(now, {"cheap", ""}, 9000.0));
  CHECK_FALSE(choice.is_worth_keeping(now, {"cheap", ""}, 9990.0));
}

TEST_CASE("A campaign tries types, and returns a machine of the dear one", "[machine_choice]") {
  CampaignConfig config = small_config(60);
  config.machines.count = 2;
  config.simulation.checkpoint.interval_seconds = 1000.0;
  config.provider.type = ProviderType::kEmulated;
  ScriptedCampaign script(config, kThree);
  CHECK(script.begin() == Lines{"request 1: cheap", "request 2: dear"});
  const auto bring = [&](MachineId id, const std::string& type, double price) {
    event::MachineReady ready;
    ready.machine = id;
    ready.type = type;
    ready.price_per_hour = ready.on_demand_price_per_hour = price;
    script.feed(ready);
    script.pass(10.0);
    script.feed(event::HostJoined{id});
  };
  bring(1, "cheap", 1.0);
  bring(2, "dear", 1.5);
  // Whole simulations: 1,000 s on "cheap" and 100 s on "dear".
  std::map<std::string, double> seconds{{"cheap", 1000.0}, {"dear", 100.0}};
  Lines returning;
  const auto look_at = [&](const Lines& lines) {
    if (std::ranges::count(lines, "release 1") > 0) returning = lines;
  };
  for (int i = 0; i < 12 && returning.empty(); ++i) {
    for (const auto& [id, task] : std::map(script.campaign().tasks())) {
      const std::string type = script.campaign().machines().at(task.machine).facts.type;
      const double share = static_cast<double>(task.until - task.from) / 1000.0;
      const PointIndex point = task.point;
      const Lines lines = script.run_segment(id, share * seconds.at(type), task.until);
      look_at(lines);
      if (std::ranges::count(lines, "judge") > 0)
        look_at(script.feed(event::Judged{point, "", ""}));
    }
  }
  CHECK(std::ranges::count(returning, "request 3: dear") == 1);
  CHECK(script.campaign().measured_types().front().type == "dear");
  script.feed(event::MachineReleased{1});
  // The same from the log.
  CHECK(replay_log(script.plan(), script.log(), "log").campaign.losses() == 0);
  // Refused: the other type is asked for at once.
  CHECK(script.feed(event::MachineRefused{3, "none left", 5.0}) == Lines{"request 4: cheap"});
}

TEST_CASE("A type that no zone has is left for another one", "[machine_choice]") {
  CampaignConfig config = small_config(60);
  MachineCatalogue catalogue{
      {entry_of("cheap", 1.0), entry_of("cheap", 1.0), entry_of("dear", 1.5)},
      MachineCatalogue::Order::kCheapestFirst};
  catalogue.entries[1].zone = "b";
  ScriptedCampaign script(config, catalogue);
  CHECK(script.begin() == Lines{"request 1: cheap"});
  CHECK(script.feed(event::MachineDelayed{1, "zone a: stock-out"}).empty());
  CHECK(script.feed(event::MachineDelayed{1, "zone b: stock-out"}) ==
        Lines{"release 1", "request 2: dear"});
  script.feed(event::MachineReleased{1});
  // Where there is nothing else, it is waited for.
  CHECK(script.feed(event::MachineDelayed{2, "stock-out"}).empty());
  CHECK(script.campaign().status() == "running");
}

TEST_CASE("No segment goes across the end that a provider has announced", "[machine_choice]") {
  CampaignConfig config = small_config(4);
  config.simulation.checkpoint.interval_seconds = 0.0;
  ScriptedCampaign script(config, MachineCatalogue{{entry_of("only", 1.0)}, {}}, 600.0);
  script.begin();
  script.bring(1);
  script.run_segment(1, 15.0, 15);  // a second each step
  const TaskRecord& task = script.campaign().tasks().at(1);
  CHECK(task.until < 600);
  script.feed(event::SegmentBegan{1});
  script.pass(590.0 - script.seconds());
  script.feed(event::SegmentEnded{1});
  script.pass(9.5);
  // What is left of the machine is not worth a checkpoint: it is returned, and another one comes.
  CHECK(script.feed(event::SegmentKept{1, task.until}) == Lines{"end 1", "release 1", "request 2"});
}

}  // namespace scavenger::campaign
