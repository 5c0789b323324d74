#include "elastic/batching/batch_controller.h"

#include <catch2/catch.hpp>

#include "elastic/batching/machine_power.h"
#include "test/unit/elastic/batching/simulated_workers.h"

namespace scavenger::elastic {
namespace {

std::uint32_t sum_of(const std::vector<std::uint32_t>& shares) {
  return std::accumulate(shares.begin(), shares.end(), 0U);
}

TEST_CASE("In every mix the workers' times come within ten percent in a few adjustments") {
  // The paper's mixes of 39 cores: heterogeneity 1, 2, 6, 10.
  const std::vector<double> speeds =
      GENERATE(std::vector{13.0, 13.0, 13.0}, std::vector{9.0, 12.0, 18.0},
               std::vector{3.5, 14.5, 21.0}, std::vector{2.0, 17.0, 20.0});
  const double overhead = GENERATE(0.0, 10.0, 20.0);
  const double noise = GENERATE(0.0, 0.03);
  SimulatedWorkers workers(
      3, 768, affine_law({100 * speeds[0], 100 * speeds[1], 100 * speeds[2]}, overhead));
  workers.noise = noise;
  CAPTURE(speeds, overhead, noise, workers.reasons());

  workers.run(200);

  CHECK(workers.spread() < 1.10);
  CHECK(workers.adjustments() <= 4);
  CHECK(sum_of(workers.shares()) == 768);
  SECTION("and stay as they are") {
    const std::uint32_t adjustments = workers.adjustments();
    workers.run(500);
    CHECK(workers.adjustments() == adjustments);
  }
}

TEST_CASE("In a steady cluster of equals nothing is adjusted") {
  const std::uint32_t count = GENERATE(2U, 4U, 16U);
  std::uint32_t adjustments = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SimulatedWorkers workers(count, 64 * count, affine_law(std::vector(count, 5000.0)), {}, seed);
    workers.noise = 0.05;
    workers.held_up = 0.02;
    workers.run(500);
    adjustments += workers.adjustments();
  }
  CHECK(adjustments == 0);
}

TEST_CASE("The controller follows a worker that is throttled, and one that is freed") {
  const auto equals = affine_law(std::vector(3, 5000.0), 10.0);
  const auto law = [&](std::uint32_t worker, double share, std::uint64_t iteration) {
    const bool throttled = worker == 1 && iteration >= 300 && iteration < 900;
    return equals(worker, share, iteration) * (throttled ? 4.0 : 1.0);
  };
  SimulatedWorkers workers(3, 384, law);
  workers.noise = 0.05;
  workers.run(300);
  REQUIRE(workers.adjustments() == 0);

  workers.run(40);
  CAPTURE(workers.reasons());
  CHECK(workers.spread() < 1.25);
  CHECK(workers.shares()[1] < 60);
  workers.run(560);
  workers.run(150);
  CHECK(workers.spread() < 1.25);
  CHECK(workers.shares()[1] > 110);
}

TEST_CASE("A difference that noise hides for long is seen in the end") {
  // Iterations scatter so much that fifty of them cannot tell a quarter from chance.
  const auto law = affine_law({5000.0, 6250.0, 5000.0});
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SimulatedWorkers workers(3, 384, law, {}, seed);
    workers.noise = 0.5;
    workers.run(1500);
    CAPTURE(seed, workers.shares(), workers.reasons());
    CHECK(workers.adjustments() >= 1);
    CHECK(workers.adjustments() <= 3);
    CHECK(workers.spread() < 1.16);
  }
  SECTION("and what is over is not answered") {
    const auto passing = [](std::uint32_t worker, double share, std::uint64_t iteration) {
      const bool slow = worker == 0 && iteration >= 200 && iteration < 240;
      return share / 5000.0 * (slow ? 1.3 : 1.0);
    };
    SimulatedWorkers workers(3, 384, passing);
    workers.noise = 0.5;
    workers.run(1500);
    CHECK(workers.adjustments() == 0);
  }
}

TEST_CASE("What a change costs is weighed against what it saves") {
  // Iterations of 0.1 ms, of which a change would save a quarter, and 20 ms for a change.
  SimulatedWorkers workers(2, 64, affine_law({300'000.0, 500'000.0}));
  workers.run(500);
  CHECK(workers.adjustments() == 0);
  workers.run(1500);
  CHECK(workers.adjustments() == 1);
}

TEST_CASE("A share with which a worker gets slower is not given to it again") {
  // Worker 0 has room for 100 samples: beyond, it does half as much.
  const auto law = [](std::uint32_t worker, double share, std::uint64_t) {
    if (worker == 1) return share / 1000.0;
    return share <= 100.0 ? share / 4000.0 : share / 400.0;
  };
  SimulatedWorkers workers(2, 128, law);
  workers.noise = 0.02;
  workers.run(400);
  CAPTURE(workers.shares(), workers.reasons());
  CHECK(workers.shares()[0] <= 100);
  CHECK(workers.rule().learned_bounds.at(0) == 64);
  const std::uint32_t adjustments = workers.adjustments();
  workers.run(500);
  CHECK(workers.adjustments() == adjustments);
  SECTION("for some time") {
    workers.run(3000);
    CHECK(workers.adjustments() > adjustments);
  }
}

TEST_CASE("A machine that slows down for all just when a share grew is no bound for that share") {
  // A neighbour comes as the first shares change, at iteration 9 or so, and stays.
  const auto law = [](std::uint32_t worker, double share, std::uint64_t iteration) {
    const double neighbour = iteration < 10 ? 1.0 : 2.0;
    return neighbour * share / (worker == 0 ? 3000.0 : 1000.0);
  };
  SimulatedWorkers workers(3, 384, law);
  workers.noise = 0.02;
  workers.run(400);
  CAPTURE(workers.shares(), workers.reasons());
  REQUIRE(workers.adjustments() >= 1);
  CHECK(workers.rule().learned_bounds.empty());
  CHECK(workers.spread() < 1.1);
}

TEST_CASE("Workers whose speeds change just when their shares do end up in balance") {
  // Half the work is fixed, which cannot be seen: worker 1 is freed as the others are throttled.
  const auto law = [](std::uint32_t worker, double share, std::uint64_t iteration) {
    const bool before = iteration < 10;
    return (60.0 + share) / (!before ? 10'000.0 : worker == 1 ? 2'000.0 : 20'000.0);
  };
  SimulatedWorkers workers(3, 384, law);
  workers.noise = 0.02;
  workers.run(400);
  CAPTURE(workers.shares(), workers.reasons());
  for (const std::uint32_t share : workers.shares()) CHECK(share == Approx(128.0).epsilon(0.1));
}

TEST_CASE("A worker that is throttled just when its share grew gets its share back later") {
  const auto law = [](std::uint32_t worker, double share, std::uint64_t iteration) {
    const bool throttled = worker == 0 && iteration >= 10 && iteration < 200;
    return share / (worker == 1 ? 1000.0 : throttled ? 300.0 : 3000.0);
  };
  SimulatedWorkers workers(2, 128, law);
  workers.run(100);
  CAPTURE(workers.reasons());
  REQUIRE(workers.adjustments() >= 2);
  workers.run(500);
  CHECK(workers.shares() == std::vector<std::uint32_t>{96, 32});
}

TEST_CASE(
    "Whatever the speeds, joins, leaves and bounds: the shares sum to B and hold the bounds") {
  std::mt19937 random(11);
  for (int round = 0; round < 60; ++round) {
    std::vector<double> speeds;
    for (int k = 0; k < 12; ++k)
      speeds.push_back(1000.0 * std::exp(2.3 * std::generate_canonical<double, 24>(random)));
    BatchingSettings settings;
    settings.bounds.smallest_share = 1 + random() % 4;
    settings.bounds.largest_shares = {static_cast<std::uint32_t>(200 + random() % 200)};
    SimulatedWorkers workers(4, 512, affine_law(speeds, random() % 2 == 0 ? 0.0 : 40.0), settings,
                             random());
    workers.noise = 0.05;
    for (int step = 0; step < 6; ++step) {
      std::vector<std::uint32_t> members;
      for (std::uint32_t worker = 0; worker < 12; ++worker)
        if (random() % 2 == 0 || worker < 2) members.push_back(worker);
      const std::uint32_t batch_size = static_cast<std::uint32_t>(members.size()) *
                                       static_cast<std::uint32_t>(16 + random() % 100);
      workers.reshape(batch_size, members);
      workers.run(100);
      CAPTURE(round, step, workers.shares());
      REQUIRE(sum_of(workers.shares()) == batch_size);
      REQUIRE(workers.shares().size() == members.size());
      REQUIRE(*std::ranges::min_element(workers.shares()) >= settings.bounds.smallest_share);
      REQUIRE(*std::ranges::max_element(workers.shares()) <= settings.bounds.largest_shares[0]);
    }
  }
}

TEST_CASE("Speeds that are known are used at once after workers have come and gone") {
  SimulatedWorkers workers(3, 384, affine_law({1000.0, 3000.0, 4000.0}));
  workers.run(100);
  workers.reshape(256, {0, 1});
  CHECK(workers.shares() == std::vector<std::uint32_t>{64, 192});
  workers.reshape(800, {0, 1, 2});
  CHECK(workers.spread() < 1.05);
}

// ---- What is known of machines. ----

fact::Machine machine_of(std::uint32_t worker, std::string type) {
  fact::Machine machine;
  machine.change = fact::MachineChange::kReady;
  machine.worker = worker;
  machine.machine_type = std::move(type);
  return machine;
}

std::vector<std::uint32_t> shares_by(const BatchController& controller,
                                     const std::vector<std::uint32_t>& workers) {
  return shares_of(controller.rule(), 390, workers);
}

BatchingSettings three_types() {
  BatchingSettings settings;
  settings.machine_powers = {{"small", 0.2}, {"medium", 1.7}, {"large", 2.0}};
  return settings;
}

TEST_CASE("Before anything was measured shares follow what machines can do") {
  BatchController controller(three_types());
  controller.observe(machine_of(0, "small"));
  controller.observe(machine_of(1, "medium"));
  controller.observe(machine_of(2, "large"));
  CHECK(shares_by(controller, {0, 1, 2}) == std::vector<std::uint32_t>{20, 170, 200});
  SECTION("a machine of a type that nobody knows counts as the mean") {
    controller.observe(machine_of(1, "strange"));
    CHECK(shares_by(controller, {0, 1, 2}) == std::vector<std::uint32_t>{23, 130, 237});
  }
  SECTION("only one that is there counts") {
    fact::Machine requested = machine_of(0, "large");
    requested.change = fact::MachineChange::kRequested;
    controller.observe(requested);
    CHECK(shares_by(controller, {0, 1, 2}) == std::vector<std::uint32_t>{20, 170, 200});
  }
}

TEST_CASE("What was measured counts more than what machines should do") {
  SimulatedWorkers workers(3, 390, affine_law({1000.0, 1000.0, 2000.0}), three_types());
  BatchController& controller = workers.controller();
  for (const std::uint32_t worker : {0U, 1U, 2U})
    controller.observe(machine_of(worker, worker == 2 ? "large" : "small"));
  workers.run(50);
  REQUIRE(shares_by(controller, {0, 1, 2}) == std::vector<std::uint32_t>{98, 97, 195});
  SECTION("for its worker on another machine of the type, too") {
    controller.observe(machine_of(1, "small"));
    CHECK(shares_by(controller, {0, 1, 2}) == std::vector<std::uint32_t>{98, 97, 195});
  }
  SECTION("but not on a machine of another type") {
    // A core was seen to do (1000 + 2000) / 2.2 samples a second.
    controller.observe(machine_of(1, "large"));
    CHECK(shares_by(controller, {0, 1}) == std::vector<std::uint32_t>{104, 286});
  }
  SECTION("and a newcomer's speed is told in the same measure") {
    controller.observe(machine_of(3, "medium"));
    CHECK(shares_by(controller, {2, 3})[1] ==
          Approx(390.0 * 1.7 * 4000.0 / 2.4 / (2000.0 + 1.7 * 4000.0 / 2.4)).margin(1.0));
  }
}

TEST_CASE("The catalogue says what machines can do") {
  MachineCatalogue catalogue;
  CHECK(machine_powers(catalogue, 0).empty());
  catalogue.entries = {{.type = "a", .cores = 0.5}, {.type = "b", .cores = 3.0}};
  CHECK(machine_powers(catalogue, 0) == std::map<std::string, double>{{"a", 0.5}, {"b", 3.0}});
  CHECK(machine_powers(catalogue, 2) == std::map<std::string, double>{{"a", 0.5}, {"b", 2.0}});
  SECTION("but not if one of them has GPUs") {
    catalogue.entries[1].gpus = 1.0;
  }
  SECTION("nor if it is not known how many cores they have") {
    catalogue.entries[0].cores = 0.0;
  }
  SECTION("nor if they are not told apart") {
    catalogue.entries[0].type = "";
  }
  SECTION("nor if there are none") {
    catalogue.entries.clear();
  }
  CHECK(machine_powers(catalogue, 0).empty());
}

// ---- Events that are not what is expected, and replays. ----

fact::Membership membership_of(std::uint32_t epoch, std::vector<std::uint32_t> shares) {
  fact::Membership membership;
  membership.membership_epoch = epoch;
  membership.workers = static_cast<std::uint32_t>(shares.size());
  membership.batch_size = sum_of(shares);
  for (std::uint32_t k = 0; k < shares.size(); ++k) membership.indices.push_back(k);
  membership.shares = std::move(shares);
  return membership;
}

fact::Iterations iterations_of(std::uint32_t epoch, std::uint32_t count,
                               const std::vector<double>& seconds) {
  fact::Iterations iterations;
  iterations.membership_epoch = epoch;
  iterations.count = count;
  iterations.loss = iterations.seconds = iterations.global_sqr_norm =
      std::vector<double>(count, 1.0);
  for (std::uint32_t k = 0; k < seconds.size(); ++k) {
    fact::WorkerSeries worker;
    worker.rank = k;
    worker.data_wait = worker.sync_wait = worker.local_sqr_norm = std::vector<double>(count, 0.0);
    worker.forward = worker.backward = std::vector<double>(count, seconds[k] / 2.0);
    iterations.workers.push_back(worker);
  }
  return iterations;
}

TEST_CASE("One worker, lost workers and other memberships decide nothing") {
  BatchController controller({});
  controller.observe(membership_of(1, {64}));
  CHECK_FALSE(controller.observe(iterations_of(1, 100, {1.0})));
  controller.observe(membership_of(2, {32, 32}));
  CHECK_FALSE(controller.observe(iterations_of(1, 100, {1.0, 9.0})));
  CHECK_FALSE(controller.observe(iterations_of(2, 100, {1.0})));
  CHECK_FALSE(controller.observe(iterations_of(2, 100, {1.0, NAN})));
  CHECK(controller.observe(iterations_of(2, 100, {1.0, 9.0})));
  SECTION("and one proposal is enough until it is taken up") {
    CHECK_FALSE(controller.observe(iterations_of(2, 100, {1.0, 9.0})));
  }
}

TEST_CASE("A proposal says why") {
  BatchController controller({});
  controller.observe(membership_of(1, {32, 32}));
  const auto proposal = controller.observe(iterations_of(1, 100, {0.1, 0.3}));
  REQUIRE(proposal);
  CHECK(proposal->reason ==
        "worker 1 takes 3 times as long as the fastest: shares for 150 ms an iteration in place of "
        "300 ms");
}

TEST_CASE("Of iterations that were logged as a block some tell who is slow") {
  const auto block_of = [](std::uint32_t epoch, const std::vector<double>& seconds) {
    fact::IterationBlock block;
    block.membership_epoch = epoch;
    block.count = 1600;
    for (std::uint64_t i = 0; i < 16; ++i) block.pace.push_back({i, seconds});
    return block;
  };
  BatchController controller({});
  controller.observe(membership_of(1, {32, 32}));
  CHECK_FALSE(controller.observe(block_of(2, {0.001, 0.003})));
  CHECK_FALSE(controller.observe(block_of(1, {0.001})));
  CHECK_FALSE(controller.observe(block_of(1, {0.001, 0.001})));
  std::optional<ShareProposal> proposal;
  for (int blocks = 0; !proposal && blocks < 10; ++blocks)
    proposal = controller.observe(block_of(1, {0.001, 0.003}));
  REQUIRE(proposal);
  CHECK(proposal->rule.speeds.at(0) > 2.0 * proposal->rule.speeds.at(1));
}

}  // namespace
}  // namespace scavenger::elastic
