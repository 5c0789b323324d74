// Machines and processes together: a worker gets a machine and runs there, and what happens to
// either is told in the controller's words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "elastic/coordinator/job/recorded_controller.h"
#include "elastic/coordinator/staffing/cluster.h"
#include "elastic/coordinator/staffing/fleet.h"
#include "runtime/config/job_config.h"

namespace scavenger::elastic {

// What processes say of their work, as ClusterListener, and the loss of one.
class WorkListener {
 public:
  virtual ~WorkListener() = default;
  virtual void on_joined(const ProcessName& process, const Joined& message) = 0;
  virtual void on_message(const ProcessName& process, const ControlMessage& message) = 0;
  virtual std::span<std::byte> state_destination(const ProcessName& process,
                                                 const FrameHeader& header) = 0;
  virtual void on_state(const ProcessName& process, const FrameHeader& header) = 0;
  // Before and after the controller hears of the loss.
  virtual void before_loss(const ProcessName& process) = 0;
  virtual void after_loss(const ProcessName& process) = 0;
};

// What has to do with the job as a whole.
class StaffingListener {
 public:
  virtual ~StaffingListener() = default;
  // For the controller: it may go on with fewer workers than were wanted.
  virtual void on_shortage(const ControllerEvent& event, const std::string& why) = 0;
  // All processes have ended and all machines are back.
  virtual void on_all_gone() = 0;
};

// Where the processes of a membership are, for those who have to find each other.
struct WorkerPlace {
  std::uint32_t index = 0;
  std::int64_t pid = 0;
  std::string address;
  std::uint32_t threads = 1;
};

// Thread: the event loop's. It has more than 25 methods: those of the two listeners that it is, and
// the few that its owner calls.
class Staffing final : private ClusterListener, private FleetListener {
 public:
  // Makes the processes' side, once the provider is there.
  using OpenCluster = std::function<std::unique_ptr<Cluster>(ClusterListener& listener)>;
  struct Settings {
    const JobConfig& config;  // must outlive the staffing
    std::uint32_t host_cores = 1;
    OpenCluster open_cluster;
  };

  // All references must outlive it.
  Staffing(Provider& provider, RecordedController& controller, LogEvent log,
           StaffingListener& listener, Settings settings);
  ~Staffing() override;

  // Gets the provider ready; then open() may be called, unless there is a problem.
  void begin(Provider::BeginDone done) { fleet_.begin(std::move(done)); }
  // Starts the first processes. `work`: hears what they say of it, and must outlive the staffing.
  void open(WorkListener& work, const std::vector<ProcessName>& first);
  bool is_open() const { return cluster_ != nullptr; }

  // Of the machines of workers that are started from now on, or of the next one alone (Fleet). The
  // types of workers that the job does not expect any more are forgotten.
  void prefer(std::string machine_type, std::vector<std::string> others, bool once = false);
  void ask_for_spot(bool spot) { fleet_.ask_for_spot(spot); }
  // Throws SystemError if it cannot be started.
  void start(const ProcessName& process);
  // A worker says that it will leave.
  void leave(const ProcessName& process, const std::string& reason);

  // Requires is_open().
  Cluster& cluster() { return *cluster_; }
  WorkerPlace place_of(std::uint32_t worker) const;
  double dollars_to_return() const { return fleet_.dollars_to_return(); }

  // Asks all processes to end, or kills them, and returns all machines; on_all_gone() follows.
  enum class Farewell { kInOrder, kAtOnce };
  void end(Farewell farewell);

 private:
  void start_at(const ProcessName& process, const ProcessPlace& place);
  std::uint32_t threads_for(std::uint32_t worker) const;

  void on_joined(const ProcessName& process, const Joined& message) override;
  void on_message(const ProcessName& process, const ControlMessage& message) override;
  std::span<std::byte> state_destination(const ProcessName& process,
                                         const FrameHeader& header) override;
  void on_state(const ProcessName& process, const FrameHeader& header) override;
  void on_lost(const LostProcess& lost) override;
  void on_left(const ProcessName& process) override;
  void on_all_ended() override;

  void on_machine_ready(std::uint32_t worker, const Machine& machine) override;
  void on_machine_refused(std::uint32_t worker, const Refusal& refusal) override;
  void on_machine_notice(std::uint32_t worker, const MachineNotice& notice) override;
  void on_machine_lost(std::uint32_t worker, const MachineLoss& loss) override;
  void on_machine_judged(std::uint32_t worker, const std::optional<MachineLoss>& loss) override;

  RecordedController& controller_;
  const LogEvent log_;
  StaffingListener& listener_;
  const Settings settings_;
  Fleet fleet_;
  WorkListener* work_ = nullptr;
  std::unique_ptr<Cluster> cluster_;
  // By worker, until the news of the worker's end has come.
  std::map<std::uint32_t, MachineLoss> machines_lost_;
  bool has_told_user_error_ = false;
};

}  // namespace scavenger::elastic
