#include "campaign/report/report_page.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "campaign/report/profile_drawing.h"
#include "campaign/report/report_document.h"
#include "test/unit/campaign/core/scripted_campaign.h"

namespace scavenger::campaign {
namespace {

TEST_CASE("The document counts what was simulated, and its sums are the bill", "[report]") {
  ScriptedCampaign script(small_config(2));
  script.begin();
  script.bring(1, 1, 3.6);
  script.feed(event::SegmentBegan{1});
  script.pass(10.0);
  script.feed(event::TaskFailed{1, "diverged", "exit code 3", "<b>NaN</b>"});
  const Json document = report_document(script.campaign(), script.seconds());
  CHECK(document.at("status") == "running");
  CHECK(document.at("diverged") == 1);
  CHECK(document.at("simulated") == 2);
  CHECK(document.at("spent").at("discarded").at("seconds").get<double>() == Approx(10.0));
  CHECK(document.at("spent").at("all").at("dollars").get<double>() == Approx(0.01));
  const std::string page = report_page(document, nullptr, {});
  CHECK_THAT(page, Catch::Contains("&lt;b&gt;NaN"));
  CHECK_THAT(page, !Catch::Contains("<b>NaN"));
}

TEST_CASE("Losses by age stand against what the model expects", "[report]") {
  CampaignConfig config = small_config(200);
  config.machines.count = 1;
  config.simulation.checkpoint.mean_life_hours = 1.0;
  ScriptedCampaign script(config);
  script.begin();
  CHECK_FALSE(report_document(script.campaign(), 0.0).at("lives").contains("curve"));
  // 30 machines: most are lost after 100 s, each third lives for 1,600 s.
  for (MachineId id = 1; id <= 30; ++id) {
    script.bring(id);
    script.pass(id % 3 == 0 ? 1600.0 : 100.0);
    script.feed(event::MachineLost{id, "preempted", true});
  }
  script.bring(31);
  script.pass(50.0);
  const Json document = report_document(script.campaign(), script.seconds());
  const Json& lives = document.at("lives");
  CHECK(lives.at("machines") == 31);
  CHECK(lives.at("losses") == 30);
  std::vector<int> losses;
  double lived = 0.0, expected = 0.0;
  for (const Json& bin : lives.at("ages")) {
    losses.push_back(bin.at("losses"));
    lived += bin.at("machine_seconds").get<double>();
    expected += bin.at("expected_losses").get<double>();
  }
  CHECK(losses == std::vector<int>{0, 20, 0, 0, 10});
  CHECK(lived == Approx(20 * 100.0 + 10 * 1600.0 + 50.0));
  // A constant rate: 31 losses, with that of the prior, in all that was lived and the prior's hour.
  CHECK(expected == Approx(lived * 31.0 / (lived - 50.0 + 3600.0)));
  CHECK(lives.at("curve").at("seen").at(30).get<double>() == Approx(1.0 / 3).margin(0.02));
  const std::string page = report_page(document, nullptr, {});
  CHECK_THAT(page, Catch::Contains("Of 31 machines 30 were taken away"));
}

TEST_CASE("A surrogate's errors, speed-up and predictions of the holdout are shown", "[report]") {
  CampaignConfig config = small_config(40);
  config.surrogate.emplace();
  ScriptedCampaign script(config);
  script.begin();
  script.bring(1);
  CHECK(report_document(script.campaign(), 0.0).at("surrogate").count("speed_up") == 0);
  const PointIndex point = script.campaign().simulations().begin()->first;
  double seconds = 0.0;
  for (; script.campaign().tasks().contains(1); seconds += 2.0)
    script.run_segment(1, 2.0, script.campaign().tasks().at(1).until);
  script.feed(event::Judged{point, "", ""});
  event::Advised advised;
  advised.results = 7;
  advised.profiles = 2;
  advised.rmse = 0.125;
  advised.most_rmse = 0.25;
  advised.seconds = 5.0;
  advised.predict_seconds = 0.5;
  script.feed(advised);
  script.feed(event::TrainingFailed{8, "no memory", 3.0});
  const Json document = report_document(script.campaign(), script.seconds());
  const Json& surrogate = document.at("surrogate");
  CHECK(surrogate.at("failed_trainings") == 1);
  CHECK(surrogate.at("trainings").size() == 1);
  // 40 simulations against 1 of them, 8 s of training and 40 predictions.
  CHECK(surrogate.at("speed_up").get<double>() == Approx(40.0 * seconds / (seconds + 8.0 + 20.0)));
  const ProfileColumns columns{"p.csv", "x", {"y"}, {}};
  const DrawnProfile drawn{"c=1", {{0, 1}, {{1, 2}}, {}}, Profile{{0, 1}, {{1, 3}}, {{0.1, 0.2}}}};
  const std::string page = report_page(document, &columns, {drawn, {"c=2", drawn.simulated, {}}});
  CHECK_THAT(page, Catch::Contains("<td>7</td><td>0.125</td><td>0.25</td>"));
  CHECK_THAT(page, Catch::Contains("y predicted"));
  const std::string none = report_page(document, &columns, {{"c=2", drawn.simulated, {}}});
  CHECK_THAT(none, !Catch::Contains("y predicted"));
}

TEST_CASE("A profile is drawn without what is no number", "[report]") {
  const Profile profile{{0.0, 1.0, 2.0}, {{1.0, NAN, 3.0}}, {{0.1, 0.1, NAN}}};
  const std::string svg = profile_svg(profile);
  CHECK_THAT(svg, !Catch::Contains("nan"));
  CHECK_THAT(svg, Catch::Contains("polyline"));
  CHECK(profile_svg({{}, {{}}, {}}) == "<p>no numbers</p>");
  CHECK_THAT(profile_svg({{1.0}, {{0.0}}, {}}), !Catch::Contains("nan"));
}

TEST_CASE("labels of a drawn profile have room, and nearly nothing is written as 0", "[report]") {
  const auto axis_of = [](const std::string& svg) {
    return std::stod(svg.substr(svg.find("d=\"M") + 4));
  };
  const std::string svg = profile_svg({{0.0, 1.0}, {{-0.00012, 3.0}}, {}});
  CHECK_THAT(svg, Catch::Contains("text-anchor=\"end\">0</text>"));
  const std::string wide = profile_svg({{0.0, 1.0}, {{-1.23e-5, 3.21e-5}}, {}});
  CHECK_THAT(wide, Catch::Contains(">-1.23e-05</text>"));
  CHECK(axis_of(wide) > 9 * 6.0 + 4.0);  // nine digits of 6 units
  CHECK(axis_of(svg) < 40.0);
}

}  // namespace
}  // namespace scavenger::campaign
