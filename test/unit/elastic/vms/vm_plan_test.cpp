#include "elastic/vms/vm_plan.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <utility>

#include "elastic/vms/vm_predictor.h"
#include "elastic/vms/vm_race_numbers.h"
#include "runtime/base/error.h"
#include "test/unit/elastic/plan/known_model.h"
#include "test/unit/elastic/vms/sample_vm_type.h"

namespace scavenger::elastic {
namespace {

// The job ran on "small"; "wide" has four times its cores at `price`.
std::vector<VmType> two_types(double price) {
  return {type_of("small", 2.0, 0.1), type_of("wide", 8.0, price)};
}

const VmRow& row_of(const VmPlan& plan, const std::string& type, bool spot = false) {
  const auto found = std::ranges::find_if(plan.rows, [&](const VmRow& row) {
    return !row.is_mix() && row.base().type == type && row.base().spot == spot;
  });
  REQUIRE(found != plan.rows.end());
  return *found;
}

TEST_CASE("A type where the job ran has narrower bars than one that the catalogue knows only") {
  KnownModel large = small_model();  // so large that the start of the machines does not count
  large.record.signature.samples_per_epoch = 100000000;
  const VmPlan plan = make_vm_plan(large, two_types(0.4), {});
  const VmRow& small = row_of(plan, "small");
  const VmRow& wide = row_of(plan, "wide");
  CHECK(small.evidence != VmEvidence::kCatalogue);
  CHECK(wide.evidence == VmEvidence::kCatalogue);
  CHECK(wide.log_variance > 4.0 * small.log_variance);
  CHECK(wide.outcome.cost.q90 / wide.outcome.cost.q10 >
        small.outcome.cost.q90 / small.outcome.cost.q10);
}

TEST_CASE("The cheapest plan is chosen, and a type that is given away is") {
  CHECK(make_vm_plan(small_model(), two_types(40.0), {}).rows[0].base().type == "small");
  const VmPlan plan = make_vm_plan(small_model(), two_types(0.001), {});
  REQUIRE(plan.choice);
  CHECK(plan.rows[*plan.choice].base().type == "wide");
  REQUIRE(!plan.fallbacks.empty());
  CHECK(plan.rows[plan.fallbacks[0]].base().type == "small");
}

TEST_CASE("A type that is not to choose from still tells of the others") {
  const std::vector<VmType> types = two_types(0.4), wide = {types[1]};
  VmQuestion question;
  question.most_vms = 1.0;
  question.batch = 64.0;
  const VmPlan both = make_vm_plan(small_model(), types, question);
  const VmPlan unknown = make_vm_plan(small_model(), wide, question);
  question.other_types = {types[0].features};
  const VmPlan known = make_vm_plan(small_model(), wide, question);
  CHECK(row_of(known, "wide").iteration_seconds == Approx(row_of(both, "wide").iteration_seconds));
  CHECK(known.notes == both.notes);
  CHECK(row_of(unknown, "wide").log_variance > row_of(both, "wide").log_variance);
  CHECK(unknown.notes.size() == both.notes.size() + 1);
}

TEST_CASE("VMs that were not measured are expected to wait for the slowest of them") {
  const KnownModel known = small_model();
  const std::vector<VmType> types = two_types(0.4);
  VmQuestion alike;
  alike.variance.between_vms = alike.variance.lemon_probability = 0.0;
  VmQuestion apart = alike;
  apart.variance.between_vms = 0.02;  // within the dead band, so that shares stay even
  const VmPredictor before(known, types, alike), after(known, types, apart);
  const auto longer = [&](std::size_t type, double vms) {
    const std::array<VmPart, 1> parts = {{{&types[type], false, vms}}};
    return after.row(parts, 64.0)->iteration_seconds / before.row(parts, 64.0)->iteration_seconds;
  };
  CHECK(longer(0, 4.0) == 1.0);  // measured
  CHECK(longer(0, 3.0) > 1.002);
  CHECK(longer(1, 4.0) > 1.002);
  CHECK(longer(1, 4.0) < 1.0206);  // E[max of 4 standard normals] = 1.029
}

TEST_CASE("A batch size that was asked for is in every row, also one that was not measured") {
  VmQuestion question;
  for (const double batch : {64.0, 128.0}) {
    question.batch = batch;
    for (const VmRow& row : make_vm_plan(small_model(), two_types(0.4), question).rows)
      CHECK(row.batch == batch);
  }
}

TEST_CASE("A limit that nothing keeps is named, with the plan that keeps it likeliest") {
  VmQuestion question;
  question.limits.max_seconds = 1.0;
  const VmPlan plan = make_vm_plan(small_model(), two_types(0.4), question);
  CHECK(!plan.choice);
  REQUIRE(plan.nearest);
  CHECK(plan.binding == std::vector<std::string>{"max-time"});
  CHECK(vm_plan_text(plan, "digits").find("max-time stands in the way") != std::string::npos);
}

TEST_CASE("Limits are kept by the choice with the confidence that was asked for") {
  VmQuestion free;
  const VmPlan cheapest = make_vm_plan(small_model(), two_types(0.4), free);
  VmQuestion hurried;
  hurried.limits.max_seconds = 0.8 * cheapest.rows[0].outcome.seconds.q50;
  const VmPlan plan = make_vm_plan(small_model(), two_types(0.4), hurried);
  if (plan.choice) CHECK(plan.rows[*plan.choice].outcome.within_both >= 0.9);
  for (const VmRow& row : plan.rows) CHECK(row.outcome.within_both <= row.outcome.within_time);
}

TEST_CASE("A probe of a type nobody tried is named if it is expected to repay itself") {
  const VmPlan hopeless = make_vm_plan(small_model(), two_types(400.0), {});
  CHECK((!hopeless.probe || hopeless.rows[hopeless.probe->row].base().type == "small"));
  // A job of seconds: nothing repays two minutes of a VM.
  CHECK(!make_vm_plan(small_model(), two_types(0.4), {}).probe);
  // Thousands of dollars of training are worth it, if the race is close: at a price at which the
  // medians would differ by 5 %.
  KnownModel large = small_model();
  large.record.signature.samples_per_epoch = 4000000000;
  const VmPlan apart = make_vm_plan(large, two_types(0.4), {});
  const double ratio =
      row_of(apart, "wide").outcome.cost.q50 / row_of(apart, "small").outcome.cost.q50;
  const VmPlan worth = make_vm_plan(large, two_types(0.4 * 1.05 / ratio), {});
  REQUIRE(worth.probe);
  CHECK(worth.rows[worth.probe->row].base().type == "wide");
  CHECK(worth.probe->dollars < 0.1);
  CHECK(worth.probe->gain > 0.01);
}

TEST_CASE("If no plan comes near, the nearest is the one whose medians are least beyond") {
  VmQuestion question;
  question.limits.max_seconds = 1e-3;
  const VmPlan plan = make_vm_plan(small_model(), two_types(0.4), question);
  REQUIRE(plan.nearest);
  for (const VmRow& row : plan.rows)
    CHECK(plan.rows[*plan.nearest].outcome.seconds.q50 <= row.outcome.seconds.q50);
}

TEST_CASE("Of each type the numbers of VMs that come nearest to a limit are told") {
  VmQuestion question;
  question.most_vms = 5;
  question.policy = Policy::kMinimumCost;  // of which one VM alone is best
  const VmPlan free = make_vm_plan(small_model(), two_types(0.4), question);
  question.limits.max_seconds = 1e-3;
  const VmPlan plan = make_vm_plan(small_model(), two_types(0.4), question);
  REQUIRE(plan.nearest);
  for (const VmRow& row : plan.rows) {
    const VmRow& cheap = row_of(free, row.base().type);
    INFO(name_text(row) << ", and without a limit " << name_text(cheap));
    CHECK(row.outcome.seconds.q50 < cheap.outcome.seconds.q50);
  }
}

TEST_CASE("Every number of VMs can be the best, the most that are allowed among them") {
  for (const double most : {5.0, 7.0, 13.0, 16.0, 40.0}) {
    VmQuestion question;
    question.most_vms = most;
    question.policy = Policy::kMinimumTime;
    question.batch = 1 << 20;  // of which each VM computes for so long that more are faster
    KnownModel large = small_model();
    large.record.signature.samples_per_epoch = 400000000;
    const VmPlan plan = make_vm_plan(large, {type_of("small", 2.0, 0.1)}, question);
    INFO(name_text(plan.rows.front()));
    CHECK(plan.rows.front().vms() == most);
  }
}

TEST_CASE("Spot machines are rows of their own, and lose some of their machines") {
  VmQuestion question;
  question.spot = true;
  question.spot_losses_per_hour = 2.0;
  KnownModel large = small_model();
  large.record.signature.samples_per_epoch = 10000000;
  const VmPlan plan = make_vm_plan(large, two_types(0.4), question);
  const VmRow& spot = row_of(plan, "small", true);
  CHECK(spot.outcome.losses > 0.0);
  CHECK(spot.outcome.cost.q50 < row_of(plan, "small").outcome.cost.q50);
}

TEST_CASE("A loss takes as long as a running job has seen: a pause at the loss, and one after it") {
  RunNumbers numbers;
  CHECK_FALSE(standstill_seconds(numbers));
  numbers.recoveries.seconds.add(1.0);
  numbers.recoveries.seconds.add(2.0);
  CHECK(standstill_seconds(numbers) == 3.0);

  VmQuestion question;
  question.spot = true;
  question.spot_losses_per_hour = 20.0;
  KnownModel large = small_model();
  large.record.signature.samples_per_epoch = 10000000;
  const auto spot_seconds = [&](double standstill) {
    question.standstill_seconds = standstill;
    const VmPlan plan = make_vm_plan(large, two_types(0.4), question);
    const VmRow& spot = row_of(plan, "small", true);
    return std::pair(spot.outcome.seconds.q50, spot.outcome.losses);
  };
  const auto [none, losses] = spot_seconds(0.0);
  CHECK(losses > 1.0);
  CHECK(spot_seconds(10.0).first - none == Approx(10.0 * losses).epsilon(0.3));
}

TEST_CASE("A probe that costs more than its budget is not named") {
  KnownModel large = small_model();
  large.record.signature.samples_per_epoch = 4000000000;
  const VmPlan apart = make_vm_plan(large, two_types(0.4), {});
  const double ratio =
      row_of(apart, "wide").outcome.cost.q50 / row_of(apart, "small").outcome.cost.q50;
  VmQuestion question;
  REQUIRE(make_vm_plan(large, two_types(0.4 * 1.05 / ratio), question).probe);
  question.profile_budget = 1e-4;
  CHECK(!make_vm_plan(large, two_types(0.4 * 1.05 / ratio), question).probe);
}

// Of one "wide" beside four "small".
double probe_dollars(const std::vector<VmType>& types, const VmQuestion& question) {
  const KnownModel known = small_model();
  const VmPredictor predictor(known, types, question);
  const std::array parts = {VmPart{&types[1], false, 1.0}};
  return predictor.probe_dollars(predictor.row(parts, 64.0)->base());
}

TEST_CASE("A probe in a running job costs what all its workers wait for a slower link") {
  std::vector<VmType> types = two_types(0.4);
  VmQuestion question;
  const double alone = (question.start_seconds + question.probe_seconds) / 3600.0 * 0.4;
  VmQuestion::Running running;
  running.batch = 64.0;
  running.iterations = 1e6;
  running.present = "small";
  running.workers = 4.0;
  running.price_per_hour = 0.4;
  question.running = running;
  CHECK(probe_dollars(types, question) == Approx(alone).epsilon(0.01));
  types[1].features.link = 0.1;  // a hundredth
  CHECK(probe_dollars(types, question) > 2.0 * alone);
  // A probe beside no job makes nobody wait.
  question.running.reset();
  CHECK(probe_dollars(types, question) == Approx(alone));
}

TEST_CASE("What runs saw of losses weighs by its hours against the assumption") {
  VmQuestion question;
  question.spot = true;
  question.spot_losses_per_hour = 0.05;
  KnownModel large = small_model();
  large.record.signature.samples_per_epoch = 10000000;
  const double assumed =
      row_of(make_vm_plan(large, two_types(0.4), question), "small", true).outcome.losses;
  large.spot["small"] = {.vm_hours = 180.0, .losses = 179.0};  // one an hour, with the prior
  const double seen =
      row_of(make_vm_plan(large, two_types(0.4), question), "small", true).outcome.losses;
  CHECK(seen > 5.0 * assumed);
}

TEST_CASE("Machines that are lost when young cost a short job more than their mean rate says") {
  VmQuestion question;
  question.spot = true;
  KnownModel large = small_model();
  large.record.signature.samples_per_epoch = 10000000;
  // The same losses and hours: two in five after a quarter of an hour; or all after their mean.
  KnownModel early = large, even = large;
  for (int i = 0; i < 100; ++i) {
    const bool dies_young = i % 5 < 2;
    early.spot["small"].add({dies_young ? 900.0 + i : 18000.0 + i, dies_young || i % 2 == 0});
  }
  even.spot["small"].vm_hours = early.spot["small"].vm_hours;
  even.spot["small"].losses = early.spot["small"].losses;
  const auto losses = [&](const KnownModel& model) {
    const VmPlan plan = make_vm_plan(model, two_types(0.4), question);
    const VmRow& row = row_of(plan, "small", true);
    return row.outcome.losses / row.vms() / row.outcome.seconds.q50;
  };
  CHECK(losses(early) > 1.3 * losses(even));
}

TEST_CASE("A spot plan under a limit of time says when it has to go on demand") {
  VmQuestion question;
  question.spot = true;
  KnownModel large = small_model();
  large.record.signature.samples_per_epoch = 10000000;
  const VmPlan free = make_vm_plan(large, two_types(0.4), question);
  const double needed = row_of(free, "small").outcome.seconds.q90;
  question.limits.max_seconds = 3.0 * needed;
  const VmPlan plan = make_vm_plan(large, two_types(0.4), question);
  const VmRow& spot = row_of(plan, "small", true);
  REQUIRE(spot.guard);
  CHECK(spot.guard->slack_seconds > 0.0);
  CHECK(spot.guard->slack_seconds < *question.limits.max_seconds);
  CHECK(spot.guard->on_demand_cost > spot.outcome.cost.q90);
  CHECK(!row_of(plan, "small").guard);
  if (plan.rows[*plan.choice].guard)
    CHECK(vm_plan_text(plan, "digits").find("Deadline:") != std::string::npos);
}

TEST_CASE("The machine of the controller and its shards is part of the cost") {
  VmQuestion question;
  const VmPlan without = make_vm_plan(small_model(), two_types(0.4), question);
  question.fixed_price_per_hour = 10.0;
  const VmPlan with = make_vm_plan(small_model(), two_types(0.4), question);
  CHECK(row_of(with, "small").outcome.cost.q50 > 10.0 * row_of(without, "small").outcome.cost.q50);
}

TEST_CASE("The last seconds of a running job cost new machines their least bill, not its own") {
  VmQuestion question;
  question.start_seconds = 0.0;
  question.running = VmQuestion::Running{};
  question.running->batch = 64.0;
  question.running->iterations = 10.0;
  question.running->present = "small";
  std::vector<VmType> types = two_types(0.1);
  const VmPlan plan = make_vm_plan(small_model(), types, question);
  const VmRow& small = row_of(plan, "small");
  CHECK(small.outcome.cost.q50 < 5.0 / 3600.0 * small.price_per_hour);
  const VmRow& wide = row_of(plan, "wide");
  CHECK(wide.outcome.cost.q50 == Approx(60.0 / 3600.0 * wide.price_per_hour));
  types[1].minimum_seconds = 0.0;  // as most providers charge
  const VmPlan exact = make_vm_plan(small_model(), types, question);
  const VmRow& other = row_of(exact, "wide");
  CHECK(other.outcome.cost.q50 < 5.0 / 3600.0 * other.price_per_hour);
}

TEST_CASE("A machine that the catalogue lacks is told") {
  const std::vector<VmType> others = {type_of("wide", 8.0, 0.4)};
  const VmPlan plan = make_vm_plan(small_model(), others, {});
  REQUIRE(plan.notes.size() == 1);
  CHECK(plan.notes[0].find("small") != std::string::npos);
  CHECK(plan.rows.size() == 1);
}

TEST_CASE("A limit that is not there, or was set aside, has no probability") {
  VmQuestion question;
  question.limits.max_seconds = 1e9;
  const auto rows_of = [](const VmPlan& plan) {
    return nlohmann::json::parse(vm_plan_json(plan, "digits")).at("rows");
  };
  const VmPlan limited = make_vm_plan(small_model(), two_types(0.4), question);
  CHECK(vm_plan_text(limited, "digits").find("100 %        -  ") != std::string::npos);
  CHECK(rows_of(limited)[0].at("probability_max_time") == 1.0);
  CHECK(rows_of(limited)[0].at("probability_max_cost").is_null());
  CHECK(rows_of(limited)[0].at("probability_both") == 1.0);

  KnownModel unknown_epochs = small_model();
  unknown_epochs.record.epochs.clear();
  unknown_epochs.record.noise.clear();
  const VmPlan aside = make_vm_plan(unknown_epochs, two_types(0.4), question);
  const std::string text = vm_plan_text(aside, "digits"), page = vm_plan_page(aside, "digits");
  CHECK(text.find("limits were set aside") != std::string::npos);
  CHECK(text.find("100 %") == std::string::npos);
  CHECK(page.find("limits hold") == std::string::npos);
  CHECK(page.find("<td>-</td><td>-</td>") != std::string::npos);
  for (const char* name : {"probability_max_time", "probability_max_cost", "probability_both"})
    CHECK(rows_of(aside)[0].at(name).is_null());
}

TEST_CASE("The document has every row, and nothing to choose from is an error") {
  const auto document = nlohmann::json::parse(
      vm_plan_json(make_vm_plan(small_model(), two_types(0.4), {}), "digits"));
  CHECK(document.at("rows").size() == 2);
  CHECK(document.at("rows")[0].at("cost").at("q50") > 0.0);
  CHECK(document.at("choice") == 0);
  CHECK_THROWS_AS(make_vm_plan(small_model(), {}, {}), InputError);
}

}  // namespace
}  // namespace scavenger::elastic
