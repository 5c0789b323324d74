#include "elastic/providers/left_machines.h"

#include <memory>
#include <optional>

#include "elastic/providers/job_provider.h"

namespace scavenger::elastic {
namespace {

// Nothing is requested, so nothing is told.
class NoRequests final : public ProviderListener {
 public:
  void on_ready(MachineId, const Machine&) override {}
  void on_delayed(MachineId, const Refusal&) override {}
  void on_refused(MachineId, const Refusal&) override {}
  void on_notice(MachineId, const MachineNotice&) override {}
  void on_lost(MachineId, const MachineLoss&) override {}
  void on_released(MachineId) override {}
};

}  // namespace

std::vector<std::string> end_left_machines(const JobConfig& earlier, const ProviderHost& host) {
  asio::io_context io;
  NoRequests nobody;
  const std::unique_ptr<Provider> provider =
      provider_factory(earlier.provider.type).make(io, earlier, host);
  std::optional<Refusal> problem;
  std::vector<std::string> left;
  bool is_done = false;
  const auto run_until_done = [&] {
    while (!is_done && io.run_one() > 0) {
    }
  };
  provider->begin(nobody, [&](std::optional<Refusal> found) {
    problem = std::move(found);
    is_done = true;
  });
  run_until_done();
  if (problem) return {Error(problem->problem).what()};
  is_done = false;
  provider->end([&](const std::vector<std::string>& names) {
    left = names;
    is_done = true;
  });
  run_until_done();
  return left;
}

}  // namespace scavenger::elastic
