#include "elastic/planning/plan_request.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "test/unit/elastic/plan/known_model.h"

namespace scavenger::elastic {
namespace {

std::vector<double> workers_of(const perfmodel::PlanRequest& request) {
  std::vector<double> workers;
  for (const perfmodel::Configuration& candidate : request.candidates)
    if (std::ranges::find(workers, candidate.workers) == workers.end())
      workers.push_back(candidate.workers);
  return workers;
}

}  // namespace

TEST_CASE("A request has what was measured, and the candidates that follow from it") {
  const DescribedRequest made = make_request({}, small_model());
  CHECK(made.request.times.size() == 6);
  CHECK(made.request.epochs.size() == 2);
  CHECK(made.request.noise_scale == Approx(300.0));
  CHECK(made.request.samples_per_epoch == 10000.0);
  CHECK(made.request.runs.size() == 2);
  CHECK(made.request.policy == Policy::kKnee);
  CHECK(made.request.plans_without_noise);
  CHECK(workers_of(made.request) == std::vector<double>{1, 2, 3, 4});
  CHECK(made.details == "machine small, target test accuracy 0.9");
}

TEST_CASE("What the question names takes the place of what was measured") {
  PlanQuestion question;
  question.workers = {2, 8};
  question.batch_sizes = {4, 512};
  question.samples_per_epoch = 500.0;
  question.noise_scale = 70.0;
  question.constraints.max_cost = 3.0;
  question.needs_noise = true;
  const perfmodel::PlanRequest request = make_request(question, small_model()).request;
  CHECK(request.candidates ==
        std::vector<perfmodel::Configuration>{{2, 4}, {2, 512}, {8, 512}});  // B is at least K
  CHECK(request.samples_per_epoch == 500.0);
  CHECK(request.noise_scale == 70.0);
  CHECK(request.constraints.max_cost == 3.0);
  CHECK_FALSE(request.plans_without_noise);
}

TEST_CASE(
    "A price is the named one, else the recorded one, else a dollar that is said to be none") {
  KnownModel model = small_model();
  CHECK(make_request({}, model).request.price.worker_per_hour == 1.0);
  CHECK(make_request({}, model).request.price_is_assumed);
  model.record.price_per_worker_hour = 0.25;
  CHECK(make_request({}, model).request.price.worker_per_hour == 0.25);
  CHECK_FALSE(make_request({}, model).request.price_is_assumed);
  PlanQuestion question;
  question.prices = {.per_worker = 0.5, .fixed = 0.1, .bills_exactly = true};
  const DescribedRequest made = make_request(question, model);
  CHECK(made.request.price.worker_per_hour == 0.5);
  CHECK(made.request.price.fixed_per_hour == 0.1);
  CHECK(made.details == "machine small, target test accuracy 0.9, $0.5 per worker and hour");
}

TEST_CASE("Machines have prices if one of them is named with a price, not if they have speeds") {
  PlanQuestion question;
  question.machines = parse_machines("small:2:0.5,large:2:2");
  CHECK(make_request(question, small_model()).request.price_is_assumed);
  question.machines = parse_machines("small:2:0.5:0.04,large:2:2");
  CHECK_FALSE(make_request(question, small_model()).request.price_is_assumed);
}

TEST_CASE("On unequal machines there are as many workers as machines, and each type's end counts") {
  PlanQuestion question;
  question.machines = parse_machines("small:3:1,large:9:2");
  const perfmodel::PlanRequest request = make_request(question, small_model()).request;
  CHECK(workers_of(request) == std::vector<double>{1, 2, 3, 4, 12});
  question.machines = parse_machines("small:2:1");
  CHECK(workers_of(make_request(question, small_model()).request) == std::vector<double>{1, 2});
}

TEST_CASE("The memory that workers measured bounds their shares, but not those they trained with") {
  KnownModel model = small_model();
  CHECK_FALSE(make_request({}, model).request.constraints.max_local_batch);
  model.room_samples = 1000;
  const DescribedRequest made = make_request({}, model);
  CHECK(made.request.constraints.max_local_batch == 1000.0);
  CHECK_THAT(made.details, Catch::EndsWith("memory for 1000 samples of a worker"));
  model.room_samples = 100;
  CHECK(make_request({}, model).request.constraints.max_local_batch == 256.0);
  PlanQuestion question;
  question.constraints.max_local_batch = 40.0;
  CHECK(make_request(question, model).request.constraints.max_local_batch == 40.0);
  CHECK(make_request(question, model).details == "machine small, target test accuracy 0.9");
}

}  // namespace scavenger::elastic
