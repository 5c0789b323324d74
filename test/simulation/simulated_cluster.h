// The processes of a job on a virtual clock: shards that hold the state, and workers that train it.
// They answer as the real ones do, crash, hang, and check what they are told.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "elastic/coordinator/staffing/cluster.h"
#include "runtime/base/random.h"
#include "runtime/config/job_config.h"
#include "test/simulation/virtual_loop.h"
#include "test/unit/elastic/search/virtual_job.h"

namespace scavenger::elastic {

// What happens to processes; 0: never.
struct Mishaps {
  double mean_seconds_to_crash = 0.0;  // of a worker
  double mean_seconds_to_hang = 0.0;   // of a worker: silent, or busy for ever
  double mean_seconds_to_shard_crash = 0.0;
  double early_crash_share = 0.0;  // of processes that start
};

// What the model does.
struct SimulatedModel {
  Truth truth;
  double epochs = 20.0;  // with a small batch, to the target
  std::uint64_t samples = 50000;
  std::uint64_t buffers = 0;  // floats
};

// What a test asks afterwards.
struct ClusterCounts {
  std::uint64_t iterations = 0;  // that were done, also those that were lost with the state
  std::uint64_t interrupted = 0;
  std::uint32_t crashes = 0;
  std::uint32_t hangs = 0;
  std::uint64_t messages = 0;
  std::vector<std::string> faults;  // invariants that did not hold
};

// It has more than 25 methods: those of its port, and one for each message that a process gets.
class SimulatedCluster final : public Cluster {
 public:
  struct Settings {
    JobConfig config;
    std::uint32_t shards = 2;
    SimulatedModel model;
    Mishaps mishaps;
    std::uint64_t seed = 0;
    bool encodes = false;  // messages are encoded and decoded as on a wire
  };

  // The references must outlive it.
  SimulatedCluster(VirtualLoop& loop, ClusterListener& listener, Settings settings,
                   ClusterCounts& counts);

  std::int64_t start(const ProcessName& process, const ProcessPlace& place, std::uint32_t threads,
                     std::uint16_t listen_port) override;
  std::string expect(const ProcessName& process) override;
  std::int64_t pid_of(const ProcessName& process) const override;
  std::string address_of_shard(std::uint32_t) const override { return "controller"; }
  std::filesystem::path log_of(const ProcessName& process) const override;
  double seconds_since_start(const ProcessName& process) const override;
  void send(const ProcessName& process, const ControlMessage& message) override;
  void send_state(const ProcessName& process, StatePart part) override;
  void release(const ProcessName& process) override;
  void kill(const ProcessName& process, const std::string& why) override;
  void check_signs_of_life() override;
  void end_all() override;
  void kill_all() override;

  // A machine is gone, with its process.
  void lose_machine(const std::string& address);
  bool is_any_running() const;

 private:
  // What a shard has.
  struct State {
    bool is_there = false;
    std::uint64_t iteration = 0;
    std::uint64_t samples = 0;
  };
  struct Process {
    ProcessName name;
    std::int64_t pid = 0;  // 0: it was not started yet
    double start_seconds = 0.0;
    std::string address;
    bool runs = false;
    bool has_joined = false;
    bool is_released = false;
    bool is_gone = false;  // and it was told
    std::string why;       // it ended
    std::optional<double> silent_since;
    bool is_busy = false;      // for ever
    double speaks_at = 0.0;    // its last message so far
    std::uint64_t task = 0;    // what was begun before the last halt does not count
    State state;               // of a shard
    bool has_weights = false;  // a worker
    IterationStats stats;      // to be reported
    double reported_seconds = 0.0;
  };
  using ProcessPointer = std::shared_ptr<Process>;
  // The membership that trains.
  struct Group {
    Membership membership;
    std::vector<std::uint32_t> slots;
    std::uint64_t done = 0;
    std::uint64_t granted = 0;
    bool computes = false;
  };

  void require(bool holds, const std::string& what);
  bool answers(const Process& process) const;
  void say(const ProcessPointer& process, ControlMessage message, double seconds);
  void after_task(const ProcessPointer& process, double seconds, std::function<void()> what);
  void plan_mishaps(const ProcessPointer& process);
  double when(double mean_seconds);
  void hang(Process& process);
  void die(const ProcessPointer& process, const std::string& why, double news_seconds);
  void announce(const ProcessPointer& process);
  void leave(const ProcessPointer& process);
  void end_if_all_have();
  void note_stuck_workers();

  void receive(const ProcessPointer& process, const ConfigureShard& message);
  void receive(const ProcessPointer& process, const ConfigureWorker& message);
  void receive(const ProcessPointer& process, const Train& message);
  void receive(const ProcessPointer& process, const Halt& message);
  void receive(const ProcessPointer& process, const Evaluate& message);
  void receive(const ProcessPointer& process, const SendBuffers& message);
  void receive(const ProcessPointer& process, const Snapshot& message);
  template <typename Other>
  void receive(const ProcessPointer&, const Other&) {}

  void send_pieces(const ProcessPointer& shard, const State& state);
  void begin_iteration();
  void end_iteration();
  void append_stats(Process& worker, std::uint32_t rank, double seconds);
  void report(const ProcessPointer& worker);
  double accuracy() const;

  VirtualLoop& loop_;
  ClusterListener& listener_;
  const Settings settings_;
  ClusterCounts& counts_;
  RandomStream random_;
  TensorLayout parameters_;
  TensorLayout buffers_;
  std::map<ProcessName, ProcessPointer> processes_;
  std::int64_t pids_ = 0;
  Group group_;
  std::uint64_t try_number_ = 0;          // of iterations: those before a halt do not count
  std::vector<double> progress_ = {0.0};  // by iterations done; 1: the target is reached
  bool ending_ = false;
  bool ended_ = false;
};

}  // namespace scavenger::elastic
