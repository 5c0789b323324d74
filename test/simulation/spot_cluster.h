// A job on rented machines, on a virtual clock: the real controller and the real search decide, and
// machines come late, are refused, and are taken away with and without notice.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "elastic/control/controller.h"
#include "elastic/decisions/decision_log.h"
#include "elastic/history/run_summary.h"
#include "elastic/search/search.h"
#include "runtime/base/random.h"
#include "test/unit/elastic/search/virtual_job.h"

namespace scavenger::elastic {

struct Market {
  double price_per_hour = 0.1;
  double mean_life_seconds = 0.0;  // of a machine, exponential; 0: it lives for ever
  double notice_share = 0.5;       // of losses: the others come without
  double notice_seconds = 30.0;
  double refusal_share = 0.1;  // of requests
};

struct JobOutcome {
  EndJob end;
  double seconds = 0.0;
  double cost = 0.0;
  double charged_per_hour_after = 0.0;
  std::uint64_t iterations = 0;
  std::uint64_t iterations_begun_again = 0;
  std::optional<std::uint64_t> last_checkpoint;
  std::uint32_t machines = 0;
  std::uint32_t notices = 0;
  std::uint32_t losses_in_flight = 0;  // of workers that took part
  std::uint32_t workers = 0;           // at the end
  std::uint32_t batch_size = 0;
};

class SpotCluster final {
 public:
  // `epochs` of a small batch reach the target; those of a larger one are as the truth says.
  // Decisions are recorded in `decisions`, where given.
  SpotCluster(JobConfig config, Truth truth, double epochs, Market market, std::uint64_t seed,
              const std::filesystem::path& decisions = {});

  // Checks the job's invariants all the way.
  JobOutcome run();
  const std::vector<LoggedEvent>& events() const { return events_; }
  const SearchSetting& setting() const { return setting_; }

 private:
  // A worker's machine, and its process there.
  struct Worker {
    std::uint64_t machine = 0;  // 0: none; else the number of its request
    bool has_machine = false;   // it is ready
    bool runs = false;          // its process does
    bool is_released = false;
  };

  const Membership& membership() const { return controller_.membership(); }
  void after(double seconds, std::function<void()> what);
  void feed(const ControllerEvent& event);
  void log(RunEvent event);
  void log_machine(std::uint32_t worker, std::uint64_t machine, fact::MachineChange change);
  void tick();
  void continue_search();
  void log_series();

  void request_machine(std::uint32_t worker);
  void begin_worker(std::uint32_t worker, std::uint64_t machine);
  void take_machine(std::uint32_t worker, std::uint64_t machine);
  void return_machine(std::uint32_t worker);
  void begin_iteration();
  void end_iteration(std::uint64_t try_number, double seconds);
  bool takes_part(std::uint32_t worker) const;

  void carry_out(const StartProcess& action);
  void carry_out(const ReleaseProcess& action);
  void carry_out(const KillProcess& action);
  void carry_out(const HaltProcesses& action);
  void carry_out(const FindCheckpoint& action);
  void carry_out(const ConfigureShards& action);
  void carry_out(const ConfigureWorkers& action);
  void carry_out(const GrantIterations& action);
  void carry_out(const EvaluateModel& action);
  void carry_out(const TakeCheckpoint& action);
  void carry_out(const TellRecovery& action);
  void carry_out(const EndProcesses& action);
  void carry_out(const EndJob& action);
  void carry_out(const Announce&) {}

  const Truth truth_;
  const double epochs_;
  const Market market_;
  const SearchSetting setting_;
  RandomStream random_;
  ControllerPlan plan_;
  Controller controller_;
  std::optional<DecisionLog> decisions_;
  RunSummary summary_;
  std::vector<LoggedEvent> events_;

  double now_ = 0.0;
  std::multimap<double, std::function<void()>> agenda_;
  std::map<std::uint32_t, Worker> workers_;
  std::uint64_t requests_ = 0;
  bool trains_ = false;
  bool computes_ = false;
  std::uint64_t try_number_ = 0;  // of iterations: those of before a halt do not count
  std::uint64_t granted_ = 0;
  std::uint64_t done_ = 0;
  std::uint64_t begun_ = 0;  // iterations that were begun at least once
  std::uint64_t position_ = 0;
  double progress_ = 0.0;  // 1: the target is reached
  std::uint64_t checkpointing_ = 0;
  std::optional<fact::Iterations> series_;
  bool ended_ = false;
  JobOutcome outcome_;
};

}  // namespace scavenger::elastic
