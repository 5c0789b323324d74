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

TEST_CASE("A profile is drawn without what is no number", "[report]") {
  const Profile profile{{0.0, 1.0, 2.0}, {{1.0, NAN, 3.0}}, {{0.1, 0.1, NAN}}};
  const std::string svg = profile_svg(profile);
  CHECK_THAT(svg, !Catch::Contains("nan"));
  CHECK_THAT(svg, Catch::Contains("polyline"));
  CHECK(profile_svg({{}, {{}}, {}}) == "<p>no numbers</p>");
  CHECK_THAT(profile_svg({{1.0}, {{0.0}}, {}}), !Catch::Contains("nan"));
}

}  // namespace
}  // namespace scavenger::campaign
