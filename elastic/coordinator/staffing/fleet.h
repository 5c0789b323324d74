// The machines of a job's workers: asks the provider for each, knows which worker is where, and
// writes down what happens to them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "elastic/events/event.h"
#include "runtime/provider/provider.h"

namespace scavenger::elastic {

// Writes an event into the job's log.
using LogEvent = std::function<void(RunEvent)>;

// Thread: the io_context's.
class FleetListener {
 public:
  virtual ~FleetListener() = default;
  // `worker` may be started there.
  virtual void on_machine_ready(std::uint32_t worker, const Machine& machine) = 0;
  virtual void on_machine_refused(std::uint32_t worker, const Refusal& refusal) = 0;
  virtual void on_machine_notice(std::uint32_t worker, const MachineNotice& notice) = 0;
  virtual void on_machine_lost(std::uint32_t worker, const MachineLoss& loss) = 0;
  // What became of a machine that was abandoned: how it was lost; nothing: it was there.
  virtual void on_machine_judged(std::uint32_t worker, const std::optional<MachineLoss>& loss) = 0;
};

// Thread: the io_context's.
class Fleet final : private ProviderListener {
 public:
  // All must outlive it. `logs_machines`: there is something to be told of them.
  Fleet(Provider& provider, LogEvent log, FleetListener& listener, bool spot, bool logs_machines);
  ~Fleet() override;

  void begin(Provider::BeginDone done) { provider_.begin(*this, std::move(done)); }
  // The type of the machines that are asked for from now on; empty: the provider decides. A worker
  // that needs another machine gets one of the type that it had. `others`: if no zone has one of
  // the type, these are asked for in their order. The first call, as the job begins, means that for
  // each worker. Later the job waits for the type as long as it has any machine.
  void prefer(std::string machine_type, std::vector<std::string> others = {});
  // Whether machines that are asked for from now on are spot machines.
  void ask_for_spot(bool spot) { spot_ = spot; }
  // Of the next one alone, unless something else is preferred before.
  void prefer_once(std::string machine_type) { next_type_ = std::move(machine_type); }
  // A machine for this worker: on_machine_ready follows, at once (within the call) if it has
  // one. `ticket`: for machines that start their worker by themselves.
  void want(std::uint32_t worker, const std::string& ticket);
  // It is no part of the job any more: another worker may get its index, and another type.
  void forget(std::uint32_t worker) { types_.erase(worker); }
  // The same of all workers that the job does not expect any more, since some of them never had a
  // process whose end could be told.
  void forget_unless(const std::function<bool(std::uint32_t)>& is_expected);
  // It needs none any more.
  void release(std::uint32_t worker);
  // The same after its worker was lost on a machine that starts no other: on_machine_judged()
  // follows, unless all is returned before.
  void abandon(std::uint32_t worker);
  // Its worker leaves, and another one is asked for.
  void note_leaving(std::uint32_t worker);
  // Returns null if it has none, or if its machine is not ready yet.
  const Machine* machine_of(std::uint32_t worker) const;
  // Returns what machines may cost beyond the bill if all were released now. One that was asked for
  // still comes, and is charged for its minimum.
  double dollars_to_return() const;
  // Returns all. `done` is called when nothing is charged any more.
  void end(std::function<void()> done);

 private:
  struct WorkerMachine {
    MachineId id = 0;
    MachinePrice asked_price;        // as far as it is known before it is ready
    std::optional<Machine> machine;  // once it is ready
    std::string ticket = {};
    std::size_t delays = 0;  // refusals in one zone
  };
  // What a worker's machine is asked for.
  struct AskedType {
    std::string name;
    bool is_particular = false;  // no other will do
  };

  // Machines that were released and are still charged for, with the worker that had each.
  struct LeavingMachine {
    std::uint32_t worker = 0;
    Machine machine;
    bool is_judged = false;  // the listener hears what became of it
  };

  // Returns nothing if it has none.
  std::optional<MachineId> let_go(std::uint32_t worker, bool is_judged);
  void on_ready(MachineId id, const Machine& machine) override;
  void on_delayed(MachineId id, const Refusal& refusal) override;
  void on_refused(MachineId id, const Refusal& refusal) override;
  void on_notice(MachineId id, const MachineNotice& notice) override;
  void on_lost(MachineId id, const MachineLoss& loss) override;
  void on_released(MachineId id) override;
  std::optional<std::uint32_t> worker_of(MachineId id) const;
  bool takes_another_type(std::uint32_t worker, const Refusal& refusal);
  void log(std::uint32_t worker, const Machine& machine, fact::MachineChange change,
           const std::string& reason);

  Provider& provider_;
  const LogEvent log_event_;
  FleetListener& listener_;
  bool spot_;
  const bool logs_machines_;
  MachineId next_id_ = 1;
  std::string preferred_type_;
  bool is_beginning_ = true;                  // nobody has preferred another type since
  std::optional<std::string> next_type_;      // of the next machine, in place of the preferred one
  std::vector<std::string> other_types_;      // if there is none of the preferred one
  std::map<std::uint32_t, AskedType> types_;  // by worker
  std::map<std::uint32_t, WorkerMachine> machines_;  // by worker
  std::map<MachineId, LeavingMachine> leaving_;
  bool ending_ = false;
};

std::string text_of(const Refusal& refusal);

}  // namespace scavenger::elastic
