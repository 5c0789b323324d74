#include "perfmodel/machines/machine_form.h"

#include <catch2/catch.hpp>
#include <cmath>

namespace scavenger::perfmodel {
namespace {

const MachineParameters kParameters = {std::log(0.02), std::log(0.001), std::log(0.05),
                                       std::log(0.3),  std::log(0.04),  std::log(0.5)};

TEST_CASE("The gradient of every machine form is its derivative") {
  for (const MachineForm& form : machine_forms(true, false, true))
    for (const MachineUse& use : {MachineUse{0, 1.0, 1.0, 16.0}, MachineUse{0, 4.0, 2.0, 64.0},
                                  MachineUse{0, 16.0, 1.0, 8.0}})
      for (std::size_t p = 0; p < kMachineParameters; ++p) {
        constexpr double kStep = 1e-5;
        MachineParameters up = kParameters, down = kParameters;
        up[p] += kStep;
        down[p] -= kStep;
        const double slope =
            (evaluate(form, up, use).log_seconds - evaluate(form, down, use).log_seconds) /
            (2.0 * kStep);
        INFO(describe(form) << ", parameter " << p);
        CHECK(evaluate(form, kParameters, use).gradient[p] == Approx(slope).margin(1e-7));
      }
}

TEST_CASE("One VM does not synchronise, and several workers on it cost the host's term") {
  const MachineForm form{LinkShape::kShard, 1.0, false};
  const MachineSeconds one = evaluate(form, kParameters, {0, 1.0, 1.0, 30.0});
  CHECK(std::exp(one.log_seconds) == Approx(0.05));
  CHECK(one.sync_share == Approx(0.0).margin(1e-12));
  const MachineSeconds four = evaluate(form, kParameters, {0, 1.0, 4.0, 30.0});
  CHECK(std::exp(four.log_seconds) == Approx(0.05 * 1.6));
  const MachineSeconds apart = evaluate(form, kParameters, {0, 5.0, 1.0, 30.0});
  CHECK(std::exp(apart.log_seconds) == Approx(0.05 + 4.0 * 0.04));
}

TEST_CASE("Workers of one VM synchronise by the host's link, or in one round of all workers") {
  MachineForm form{LinkShape::kShard, 1.0, false, false, HostLink::kAdds};
  const double compute = 0.05 * 1.6;  // four on a VM
  const MachineUse four{0, 1.0, 4.0, 30.0};
  CHECK(std::exp(evaluate(form, kParameters, four).log_seconds) ==
        Approx(compute + 0.04 * 0.5 * 3.0));
  const MachineUse eight{0, 2.0, 4.0, 30.0};
  CHECK(std::exp(evaluate(form, kParameters, eight).log_seconds) ==
        Approx(compute + 0.04 * (1.0 + 0.5 * 3.0)));
  form.host = HostLink::kWhole;
  CHECK(std::exp(evaluate(form, kParameters, eight).log_seconds) == Approx(compute + 0.04 * 7.0));
}

TEST_CASE("If the state is elsewhere one VM synchronises, too, unless compute was measured alone") {
  for (const MachineForm& form : machine_forms(false, true)) {
    const double one = evaluate(form, kParameters, {0, 1.0, 1.0, 30.0}).log_seconds;
    const MachineUse alone{
        .type = 0, .vms = 1.0, .per_vm = 1.0, .local_batch = 30.0, .is_alone = true};
    CHECK(std::exp(evaluate(form, kParameters, alone).log_seconds) == Approx(0.05));
    CHECK(std::exp(one) > 0.05);
    const double four = evaluate(form, kParameters, {0, 4.0, 1.0, 30.0}).log_seconds;
    if (form.shape == LinkShape::kSpread)  // each by its own link
      CHECK(four == Approx(one));
    else
      CHECK(four > one);
  }
}

TEST_CASE("Overlapped synchronisation is hidden until it is longer than compute") {
  MachineParameters parameters = kParameters;
  parameters[kLogSync] = std::log(0.005);
  const MachineForm form{LinkShape::kSpread, 4.0, false};
  CHECK(evaluate(form, parameters, {0, 8.0, 1.0, 30.0}).sync_share < 0.001);
  parameters[kLogSync] = std::log(0.5);
  CHECK(evaluate(form, parameters, {0, 8.0, 1.0, 30.0}).sync_share > 0.9);
}

}  // namespace
}  // namespace scavenger::perfmodel
