// Plans of two types.
#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "elastic/vms/vm_plan.h"
#include "elastic/vms/vm_predictor.h"
#include "test/unit/elastic/plan/known_model.h"
#include "test/unit/elastic/vms/sample_vm_type.h"

namespace scavenger::elastic {
namespace {

KnownModel large_model() {
  KnownModel large = small_model();
  large.record.signature.samples_per_epoch = 10000000;
  return large;
}

const VmRow* mix_of(const VmPlan& plan) {
  const auto found = std::ranges::find_if(plan.rows, &VmRow::is_mix);
  return found == plan.rows.end() ? nullptr : &*found;
}

TEST_CASE("Shares in a mix are such that both types finish together") {
  const KnownModel known = large_model();
  const std::vector<VmType> types = {type_of("small", 2.0, 0.1), type_of("wide", 8.0, 0.4)};
  const VmQuestion question;
  const VmPredictor predictor(known, types, question);
  const std::vector<VmPart> parts = {{&types[0], false, 2.0}, {&types[1], false, 1.0}};
  const auto row = predictor.row(parts, 256.0);
  REQUIRE(row);
  const VmGroup& small = row->groups[0];
  const VmGroup& wide = row->groups[1];
  CHECK(2.0 * small.share + wide.share == Approx(256.0));
  CHECK(wide.share > 2.0 * small.share);
  const auto seconds = [&](const VmGroup& group) {
    return std::exp(predictor.model().predict({group.type_index, 3.0, 1.0, group.share}).log_mean);
  };
  CHECK(seconds(small) == Approx(seconds(wide)).epsilon(0.02));
  CHECK(row->iteration_seconds >= 0.99 * seconds(small));
  CHECK(row->price_per_hour == Approx(0.6));
  // Faster than its parts alone, of which neither has the whole cluster's work to share.
  const std::vector<VmPart> pair = {{&types[0], false, 2.0}};
  CHECK(row->iteration_seconds < predictor.row(pair, 256.0)->iteration_seconds);
}

TEST_CASE(
    "In a mix of a fast and a slow link both types compute as long and wait for the slow one") {
  constexpr double kSlowLinkSeconds = 0.06;
  KnownModel known = large_model();
  for (perfmodel::TimeRow row : small_record().times) {
    row.machine = "far";
    if (row.workers > 1.0) row.seconds += kSlowLinkSeconds;
    known.record.times.push_back(row);
  }
  std::vector<VmType> types = {type_of("small", 2.0, 0.1), type_of("far", 2.0, 0.05)};
  types[1].features.link = 0.5;  // of 10
  const VmQuestion question;
  const VmPredictor predictor(known, types, question);
  const std::vector<VmPart> parts = {{&types[0], false, 1.0}, {&types[1], false, 1.0}};
  const auto row = predictor.row(parts, 256.0);
  REQUIRE(row);
  CHECK(row->groups[0].share == Approx(128.0).epsilon(0.1));
  CHECK(row->iteration_seconds == Approx(seconds_at(2.0, 256.0) + kSlowLinkSeconds).epsilon(0.05));
}

TEST_CASE("A mix is offered only if it is better than the best of one type beyond its error") {
  VmQuestion question;
  question.most_types = 2;
  question.policy = Policy::kMinimumCost;
  // Nothing binds: the cheapest of one type is as good as any mix of it.
  CHECK(mix_of(make_vm_plan(large_model(), {type_of("small", 2.0, 0.1), type_of("wide", 8.0, 0.9)},
                            question)) == nullptr);
}

TEST_CASE("If a quota binds, machines of a second type are added") {
  std::vector<VmType> types = {type_of("small", 2.0, 0.1), type_of("medium", 3.0, 0.16)};
  types[0].max_count = 2.0;
  types[1].max_count = 2.0;
  VmQuestion question;
  question.policy = Policy::kMinimumTime;
  const VmPlan pure = make_vm_plan(large_model(), types, question);
  question.most_types = 2;
  // The job ran on both, so that the error is small.
  KnownModel known = large_model();
  for (perfmodel::TimeRow row : small_record().times) {
    row.machine = "medium";
    row.seconds *= 0.7;
    known.record.times.push_back(row);
  }
  const VmPlan plan = make_vm_plan(known, types, question);
  const VmRow* mix = mix_of(plan);
  REQUIRE(mix != nullptr);
  CHECK(mix->vms() > 2.0);
  CHECK(mix == &plan.rows[*plan.choice]);
  CHECK(mix->outcome.seconds.q50 < pure.rows[0].outcome.seconds.q50);
  const auto document = nlohmann::json::parse(vm_plan_json(plan, "digits"));
  CHECK(document.at("rows")[0].at("groups").size() == 2);
  CHECK(vm_plan_text(plan, "digits").find(" + ") != std::string::npos);
}

TEST_CASE("Of a quota of vCPUs no plan takes more") {
  VmQuestion question;
  question.most_types = 2;
  question.policy = Policy::kMinimumTime;
  std::vector<VmType> types = {type_of("small", 2.0, 0.1), type_of("wide", 8.0, 0.4)};
  types[0].vcpus = 2.0;
  types[1].vcpus = 8.0;
  question.most_vcpus = 12.0;
  for (const VmRow& row : make_vm_plan(large_model(), types, question).rows) {
    double vcpus = 0.0;
    for (const VmGroup& group : row.groups)
      vcpus += group.vms * (group.type == "small" ? 2.0 : 8.0);
    CHECK(vcpus <= 12.0);
  }
}

TEST_CASE("In a mix with spot machines only those are lost, and the share of them is told") {
  const KnownModel known = large_model();
  const std::vector<VmType> types = {type_of("small", 2.0, 0.1)};
  VmQuestion question;
  question.spot = true;
  question.spot_losses_per_hour = 1.0;
  const VmPredictor predictor(known, types, question);
  const std::vector<VmPart> mixed = {{&types[0], false, 1.0}, {&types[0], true, 3.0}};
  const std::vector<VmPart> spot = {{&types[0], true, 4.0}};
  const auto some = predictor.row(mixed, 256.0);
  const auto all = predictor.row(spot, 256.0);
  REQUIRE((some && all));
  CHECK(some->spot_share() == Approx(0.75));
  CHECK(all->spot_share() == 1.0);
  CHECK(some->outcome.losses == Approx(0.75 * all->outcome.losses).epsilon(0.15));
  CHECK(some->outcome.cost.q50 > all->outcome.cost.q50);
}

}  // namespace
}  // namespace scavenger::elastic
