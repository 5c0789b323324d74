#include "elastic/plan/plan_output.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace scavenger;
using namespace scavenger::elastic;

namespace {

perfmodel::Plan small_plan(double max_seconds = 0.0) {
  perfmodel::PlanRequest request;
  for (const double batch : {64.0, 256.0}) {
    for (const double workers : {1.0, 2.0, 4.0})
      request.times.push_back({{workers, batch}, 0.01 + 0.001 * batch / workers + 0.002 * workers});
    request.epochs.push_back({batch, 4.0 + batch / 100.0});
  }
  request.runs.push_back({{4.0, 64.0}, 4.6, 100.0});
  request.samples_per_epoch = 10000.0;
  request.price.worker_per_hour = 0.5;
  request.candidates = {{1, 64}, {2, 64}, {4, 64}, {8, 64}, {4, 256}};
  if (max_seconds > 0.0) request.constraints.max_seconds = max_seconds;
  return perfmodel::make_plan(request);
}

std::size_t count(const std::string& text, const std::string& word) {
  std::size_t found = 0;
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("the table of a plan has a row per configuration, its marks and the choice") {
  const std::string text = plan_text(small_plan(), {"runs/job", "machine e2", {"a remark"}});

  CHECK_THAT(text, Catch::StartsWith("runs/job\nmachine e2\n"));
  CHECK(count(text, "<= chosen") == 1);
  CHECK(count(text, "extrapolated") == 1);
  CHECK(count(text, "pareto") >= 2);
  CHECK_THAT(text, Catch::Contains("knee: K = "));
  CHECK_THAT(text, Catch::Contains("nothing could be held out"));
  CHECK_THAT(text, Catch::Contains("note: a remark"));
}

TEST_CASE("on unequal machines each row says which, and what they get of the batch") {
  perfmodel::PlanRequest request;
  for (const double batch : {64.0, 256.0}) {
    for (const double workers : {1.0, 2.0})
      request.times.push_back({{workers, batch}, 0.001 * batch / workers});
    request.epochs.push_back({batch, 4.0});
  }
  request.samples_per_epoch = 10000.0;
  request.machines = {{{1.0, 1.0, 1.0, 0.1, "small"}, {2.0, 3.5, 1.0, 0.2, "large"}},
                      perfmodel::Sharing::kDynamic};
  request.candidates = {{3, 256}};
  const perfmodel::Plan plan = perfmodel::make_plan(request);

  CHECK_THAT(plan_text(plan, {}), Catch::Contains("1 small b 32, 2 large b 112"));
  const auto machines = nlohmann::json::parse(plan_json(plan, {})).at("rows").at(0).at("machines");
  CHECK(machines.at(1).at("type") == "large");
  CHECK(machines.at(1).at("count") == 2.0);
  CHECK(machines.at(1).at("share") == Approx(112.0));
}

TEST_CASE("where nothing is feasible the text says what stands in the way") {
  CHECK_THAT(plan_text(small_plan(0.5), {}), Catch::Contains("max_seconds stands in the way"));
  const auto json = nlohmann::json::parse(plan_json(small_plan(0.5), {}));
  CHECK(json.at("decision").at("binding") == nlohmann::json{"max_seconds"});
}

TEST_CASE("the JSON of a plan has every number of the table") {
  const perfmodel::Plan plan = small_plan();
  const auto json = nlohmann::json::parse(plan_json(plan, {"title", "", {}}));

  REQUIRE(json.at("rows").size() == 5);
  for (std::size_t i = 0; i < plan.rows.size(); ++i) {
    const auto& row = json.at("rows")[i];
    const perfmodel::JobPrediction& p = plan.rows[i].prediction;
    CHECK(row.at("workers") == p.configuration.workers);
    CHECK(row.at("seconds").at("value").get<double>() == Approx(p.seconds.value));
    CHECK(row.at("cost").at("high").get<double>() == Approx(p.cost.high));
    CHECK(row.at("extrapolated") == p.extrapolated);
  }
  CHECK(json.at("rows")[2].at("actual_epochs") == 4.6);
  CHECK(json.at("rows")[0].at("actual_epochs").is_null());
  CHECK(json.at("statistical_model").at("form") == "noise_scale");
}

TEST_CASE("the page needs no other file, has a curve per batch size, and escapes names") {
  const std::string html = plan_html(small_plan(), {"runs/<job>&", "", {}});
  CHECK(count(html, "<polyline") == 2);
  CHECK(count(html, "<circle") == 5);
  CHECK_THAT(html, Catch::Contains("runs/&lt;job&gt;&amp;"));
  CHECK_THAT(html, !Catch::Contains("<job>"));
  CHECK(count(html, "http") == 0);
  CHECK(count(html, "<script") == 0);
}
