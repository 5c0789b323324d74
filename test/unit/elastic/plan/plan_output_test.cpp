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
  CHECK_THAT(text, Catch::Contains("predicted / actual - 1"));
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

namespace {

perfmodel::PlanRequest request_without_epochs() {
  perfmodel::PlanRequest request;
  for (const double batch : {64.0, 256.0})
    for (const double workers : {1.0, 2.0, 4.0})
      request.times.push_back({{workers, batch}, 0.01 + 0.001 * batch / workers + 0.002 * workers});
  request.samples_per_epoch = 10000.0;
  request.price.worker_per_hour = 1.0;
  request.price_is_assumed = true;
  request.plans_without_noise = true;
  request.candidates = {{1, 64}, {2, 64}, {4, 256}};
  return request;
}

}  // namespace

TEST_CASE("headings and units say what times and costs are of") {
  perfmodel::PlanRequest request = request_without_epochs();
  const perfmodel::Plan epoch = perfmodel::make_plan(request);
  request.noise_scale = 500.0;
  request.price_is_assumed = false;
  const perfmodel::Plan relative = perfmodel::make_plan(request);

  CHECK_THAT(plan_text(small_plan(), {}), Catch::Contains("cost $ "));
  const std::string text = plan_text(relative, {});
  CHECK_THAT(text, Catch::Contains("seconds*") && Catch::Contains("cost $*") &&
                       Catch::Contains("for each epoch that the job takes at B = 500") &&
                       !Catch::Contains(" cost $ "));
  const auto json = nlohmann::json::parse(plan_json(relative, {}));
  CHECK(json.at("basis") == "reference_epoch");
  CHECK(json.at("time_unit") == "seconds for each epoch that the job takes at B = 500");
  CHECK_THAT(plan_html(relative, {}), Catch::Contains("dollars for each epoch that the job takes"));
  CHECK_THAT(plan_text(epoch, {}), Catch::Contains("w.h/epoch") && Catch::Contains("samples/s") &&
                                       Catch::Contains("efficiency"));
}

TEST_CASE("without noise the plan says what a noise scale would add, and whose price is assumed") {
  const perfmodel::Plan plan = perfmodel::make_plan(request_without_epochs());

  const std::string text = plan_text(plan, {});
  CHECK_THAT(text, Catch::Contains("A noise scale (--noise-scale"));
  CHECK_THAT(text, Catch::Contains("a worker-hour counts as a dollar"));
  CHECK_THAT(text, Catch::Contains("worker-hours (") && !Catch::Contains("$"));
  const auto json = nlohmann::json::parse(plan_json(plan, {}));
  CHECK(json.at("basis") == "epoch");
  CHECK(json.at("price_is_assumed") == true);
  CHECK(json.at("statistical_model").at("form").is_null());
  const auto& row = json.at("rows").at(1);
  CHECK(row.at("samples_per_second").at("low") < row.at("samples_per_second").at("high"));
  CHECK(row.at("efficiency").at("value").get<double>() < 1.0);
  CHECK_THAT(plan_html(plan, {}), Catch::Contains("worker-hours for one epoch"));
}

TEST_CASE("beside the choice stand a fit that misses its points, and limits that took no part") {
  perfmodel::PlanRequest request = request_without_epochs();
  request.noise_scale = 500.0;
  request.constraints.max_seconds = 1.0;
  perfmodel::Plan plan = perfmodel::make_plan(request);
  plan.fit_errors = {-0.72, 1.63};

  const std::string text = plan_text(plan, {});
  CHECK_THAT(text, Catch::Contains("by -72% to +163%"));
  CHECK_THAT(text, Catch::Contains("--max-time took no part in the choice"));
  const auto json = nlohmann::json::parse(plan_json(plan, {}));
  CHECK(json.at("warnings").size() == 2);
  CHECK(json.at("time_model").at("fit_is_bad") == true);
  CHECK(json.at("limits_not_compared") == nlohmann::json{"max_seconds"});
  CHECK(count(plan_html(plan, {}), "class=\"warning\"") == 2);
  CHECK(count(plan_html(small_plan(), {}), "class=\"warning\"") == 0);
}

TEST_CASE("the page follows the reader's choice of light or dark, curves and all") {
  const std::string html = plan_html(small_plan(), {});
  CHECK_THAT(html, Catch::Contains("prefers-color-scheme: dark"));
  CHECK_THAT(html, !Catch::Contains("\"white\"") && !Catch::Contains("#000000"));
}
