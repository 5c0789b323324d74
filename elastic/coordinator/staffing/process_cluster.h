// The real cluster: starts processes here and by the launch words of other machines, and talks to
// them over authenticated connections.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "elastic/coordinator/staffing/cluster.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/config/job_config.h"
#include "runtime/net/job_listener.h"
#include "runtime/process/child_process.h"
#include "runtime/process/launch_ticket.h"
#include "runtime/protocol/control_channel.h"

namespace scavenger::elastic {

// Thread: the io_context's, which is one. The destructor kills what still runs. It has more than 25
// methods: those of its port, and one for each step on the way to a process's end.
class ProcessCluster final : public Cluster {
 public:
  struct Settings {
    std::filesystem::path program_folder;  // where scavenger-ps and scavenger-worker are
    std::filesystem::path log_folder;
    JobConfig config;
    std::string config_json;  // the job's resolved configuration, for the processes
    std::string address;      // of this machine, for processes elsewhere
    std::uint32_t state_payload_limit_bytes = 0;
    int shared_file = -1;  // for all processes to inherit, if they share memory
  };

  // Listens at cluster.port of the settings' address. The references must outlive the cluster.
  ProcessCluster(asio::io_context& io, const Clock& clock, ClusterListener& listener,
                 JobCredentials credentials, Settings settings);
  ~ProcessCluster() override;

  std::int64_t start(const ProcessName& process, const ProcessPlace& place, std::uint32_t threads,
                     std::uint16_t listen_port) override;
  std::string expect(const ProcessName& process) override;
  std::int64_t pid_of(const ProcessName& process) const override;
  std::string address_of_shard(std::uint32_t shard) const override;
  std::filesystem::path log_of(const ProcessName& process) const override;
  double seconds_since_start(const ProcessName& process) const override;
  void send(const ProcessName& process, const ControlMessage& message) override;
  void send_state(const ProcessName& process, StatePart part) override;
  void release(const ProcessName& process) override;
  void kill(const ProcessName& process, const std::string& why) override;
  void check_signs_of_life() override;
  void end_all() override;
  void kill_all() override;

 private:
  struct Member {
    explicit Member(asio::io_context& io) : news_timer(io) {}

    ProcessName name;
    std::unique_ptr<ChildProcess> child;  // null: it was not started from here, at least not yet
    std::shared_ptr<FrameConnection> connection;  // null before it has joined
    std::int64_t pid = 0;                         // as it says itself
    std::uintmax_t log_begin = 0;  // what is before it in its log is another process's
    double start_seconds = 0.0;
    double last_sign_seconds = 0.0;
    bool is_read = false;         // its connection is
    std::string failure;          // what its Failed message said
    bool failed_by_peer = false;  // its failure is only that somebody else is gone
    bool bad_input = false;       // its failure is in what the user gave
    std::string traceback;        // and was an exception there
    std::string why_ended;        // by us: killed, or refused
    bool refused = false;         // for what it said
    bool released = false;
    std::optional<ExitStatus> status;  // it has ended
    asio::steady_timer news_timer;     // waits for its last words, or its end
  };
  using MemberPointer = std::shared_ptr<Member>;

  LaunchTicket ticket_for(const ProcessName& process) const;
  awaitable<void> serve(std::shared_ptr<FrameConnection> connection);
  awaitable<void> serve_member(MemberPointer member);
  void note_early_failure(const Failed& message);
  void await_last_words(const MemberPointer& member);
  MemberPointer admit(const Joined& message, const std::shared_ptr<FrameConnection>& connection);
  void on_exit(const MemberPointer& member, const ExitStatus& status);
  void on_disconnected(const MemberPointer& member, const Error& failure);
  void announce_loss(const MemberPointer& member);
  void dismiss(const MemberPointer& member);
  void forget(const MemberPointer& member);
  void end_hard(const MemberPointer& member);
  void end_stranger(const MemberPointer& member, const std::string& why);
  bool any_running() const;

  asio::io_context& io_;
  const Clock& clock_;
  ClusterListener& listener_;
  const JobCredentials credentials_;
  const Settings settings_;
  JobListener control_;
  std::optional<double> checked_seconds_;  // when signs of life were last looked for
  std::map<ProcessName, MemberPointer> members_;
  bool ending_ = false;
  bool ends_in_order_ = false;  // the job is done, and nobody is killed for it
  asio::steady_timer kill_timer_;
};

}  // namespace scavenger::elastic
