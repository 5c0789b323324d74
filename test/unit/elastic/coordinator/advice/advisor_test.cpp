#include <catch2/catch.hpp>
#include <variant>

#include "elastic/coordinator/advice/batching_advisor.h"
#include "elastic/coordinator/advice/rate_advisor.h"
#include "elastic/coordinator/advice/search_advisor.h"
#include "elastic/coordinator/advice/vm_advisor.h"
#include "elastic/search/search_grid.h"
#include "test/unit/elastic/search/virtual_job.h"
#include "test/unit/elastic/vms/sample_vm_type.h"

using namespace scavenger;
using namespace scavenger::elastic;

namespace {

ControllerPlan plan_of(std::uint32_t workers, std::uint32_t batch_size) {
  ControllerPlan plan;
  plan.membership = {1, batch_size, std::vector(workers, batch_size / workers), 0, 0};
  plan.samples_per_epoch = 60000;
  return plan;
}

}  // namespace

TEST_CASE("A search advises on K and B after measurements, and not after other events") {
  const JobConfig config = searching_config(SearchMode::kPartial, Policy::kKnee);
  const VirtualJob job(config, {}, 1);
  const Controller controller(plan_of(1, 64), 0.0);
  const JobView view{job.numbers(), controller};
  SearchAdvisor search({config, search_grid(config.search), {}, {}});

  CHECK(search.begin(view).is_empty());
  CHECK(search.observe(fact::Warning{}, view).is_empty());
  const Advice first = search.observe(fact::Iterations{}, view);
  REQUIRE_FALSE(first.events.empty());
  CHECK(std::holds_alternative<fact::SearchStep>(first.events.back()));
  const auto& step = std::get<fact::SearchStep>(first.events.back());
  const bool moves = step.workers != 1 || step.batch_size != 64;
  CHECK(first.shape.has_value() == moves);
}

TEST_CASE("A search ends if somebody else decides on K and B") {
  const JobConfig config = searching_config(SearchMode::kPartial, Policy::kKnee);
  VirtualJob job(config, {}, 1);
  job.train(1.0);
  const Controller controller(plan_of(1, 64), 0.0);
  SearchAdvisor search({config, search_grid(config.search), {}, {}});

  const Advice advice =
      search.overrule({4, 256, "resized by the user"}, {job.numbers(), controller});

  REQUIRE(advice.events.size() == 1);
  const auto& step = std::get<fact::SearchStep>(advice.events[0]);
  CHECK(step.phase == fact::SearchPhase::kEnded);
  CHECK(step.workers == 4);
  CHECK(step.reason == "resized by the user");
  CHECK_FALSE(advice.shape);  // it is made by who has decided
}

TEST_CASE("A search whose job was killed before its last step was carried out does that first") {
  const JobConfig config = searching_config(SearchMode::kFull, Policy::kKnee);
  SearchAdvisor search({config, search_grid(config.search), {}, {}});
  RunSummary summary;
  summary.apply({0.0, fact::Start{}});
  fact::SearchStep step;
  step.phase = fact::SearchPhase::kProfiling;
  step.workers = 1;
  step.batch_size = 128;
  summary.apply({1.0, step});
  step.workers = 2;
  summary.apply({2.0, step});
  const auto at = [](std::uint32_t workers) { return Controller(plan_of(workers, 128), 0.0); };
  const Controller as_sought = at(2), before = at(1), others = at(3);

  CHECK(search.begin({summary.numbers(), as_sought}).is_empty());
  CHECK_FALSE(search.begin({summary.numbers(), others}).events.empty());  // the user has decided
  CHECK(search.begin({summary.numbers(), before}).is_empty());
  const Advice advice = search.observe(fact::Iterations{}, {summary.numbers(), before});
  CHECK(advice.events.empty());
  REQUIRE(advice.shape.has_value());
  CHECK(advice.shape->workers == 2);
  CHECK(advice.shape->batch_size == 128);
  CHECK_FALSE(search.observe(fact::Iterations{}, {summary.numbers(), as_sought}).shape);
}

TEST_CASE("The learning rate follows the batch size by its rule") {
  OptimizerConfig optimizer;
  optimizer.batch_size_rule = BatchSizeRule::kLinear;
  optimizer.reference_batch_size = 64;
  const Controller controller(plan_of(2, 128), 0.0);
  const RunNumbers numbers;
  RateAdvisor rate(optimizer, false);

  CHECK(rate.factor_for(256, numbers).factor == Approx(4.0));
  const Advice advice = rate.begin({numbers, controller});
  REQUIRE(advice.wishes.size() == 1);
  const auto& wish = std::get<RateFactorWanted>(advice.wishes[0]);
  CHECK(wish.batch_size == 128);
  CHECK(wish.factor == Approx(2.0));
  CHECK(RateAdvisor(optimizer, true).begin({numbers, controller}).is_empty());
  CHECK(rate.observe(fact::Iterations{}, {numbers, controller}).is_empty());
}

TEST_CASE("Shares follow what a machine can do as soon as it is ready") {
  BatchingSettings settings;
  settings.machine_powers = {{"small", 1.0}, {"large", 3.0}};
  BatchingAdvisor batching(settings);
  const RunNumbers numbers;
  const Controller controller(plan_of(2, 64), 0.0);
  const JobView view{numbers, controller};
  fact::Machine machine;
  machine.change = fact::MachineChange::kRequested;
  CHECK(batching.observe(machine, view).is_empty());

  machine.change = fact::MachineChange::kReady;
  machine.machine_type = "small";
  CHECK_FALSE(batching.observe(machine, view).is_empty());
  machine.worker = 1;
  machine.machine_type = "large";
  const Advice advice = batching.observe(machine, view);

  REQUIRE(advice.wishes.size() == 1);
  const auto& rule = std::get<SharesWanted>(advice.wishes[0]).rule;
  const std::vector<std::uint32_t> ranks = {0, 1};
  CHECK(shares_of(rule, 64, ranks) == std::vector<std::uint32_t>{16, 48});
}

TEST_CASE("A search for the machine type ends if the job is resumed with another K or B") {
  fact::VmStep step;
  step.machine_type = "small";
  step.workers = 2;
  step.batch_size = 64;
  RunSummary summary;
  summary.apply({0.0, fact::Start{}});
  summary.apply({1.0, step});
  step.phase = fact::VmPhase::kAudition;
  step.machine_type = "large";
  step.workers = 3;
  step.worker = 2;
  summary.apply({2.0, step});
  VmRaceSetting setting;
  setting.types = {type_of("small", 1.0, 0.1), type_of("large", 4.0, 0.5)};
  VmAdvisor search(setting);
  const auto phase_with = [&](std::uint32_t workers, std::uint32_t batch_size) {
    const Controller controller(plan_of(workers, batch_size), 0.0);
    const Advice advice = search.begin({summary.numbers(), controller});
    REQUIRE(advice.events.size() == 1);
    CHECK(advice.machine_type == "small");
    return std::get<fact::VmStep>(advice.events[0]).phase;
  };
  CHECK(phase_with(3, 66) == fact::VmPhase::kEnded);
  CHECK(phase_with(4, 64) == fact::VmPhase::kEnded);
  // Killed before or after the third worker was wanted.
  CHECK(phase_with(2, 64) == fact::VmPhase::kDismissed);
}

TEST_CASE("A resumed search goes on with another type if there is none of its own") {
  fact::VmStep step;
  step.machine_type = "small";
  step.workers = 2;
  step.batch_size = 64;
  step.phase = fact::VmPhase::kSettled;
  RunSummary summary;
  summary.apply({0.0, fact::Start{}});
  summary.apply({1.0, step});
  summary.apply({2.0, fact::Start{}});
  const Controller controller(plan_of(2, 64), 0.0);
  VmRaceSetting setting;
  setting.types = {type_of("small", 1.0, 0.1), type_of("large", 4.0, 0.5),
                   type_of("huge", 8.0, 2.0)};
  const Advice same = VmAdvisor(setting).begin({summary.numbers(), controller});
  CHECK(same.events.empty());
  CHECK(same.machine_type == "small");
  CHECK(same.other_types == std::vector<std::string>{"large", "huge"});

  setting.types.erase(setting.types.begin());  // the configuration does not offer it any more
  const Advice without = VmAdvisor(setting).begin({summary.numbers(), controller});
  REQUIRE(without.events.size() == 1);
  const auto& begun = std::get<fact::VmStep>(without.events[0]);
  CHECK(begun.phase == fact::VmPhase::kBegun);
  CHECK(begun.reason == "resumed without small: goes on with large");
  CHECK(without.machine_type == "large");
  CHECK(without.other_types == std::vector<std::string>{"huge"});
}
