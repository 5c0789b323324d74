// The processes of a job, on this machine and on others: starts them, talks to them, notices when
// one is lost, ends them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "elastic/control/job_events.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/config/job_config.h"
#include "runtime/net/job_listener.h"
#include "runtime/process/child_process.h"
#include "runtime/process/launch_ticket.h"
#include "runtime/protocol/control_channel.h"

namespace scavenger::elastic {

// Throws InputError where this machine has no address cluster.listen_address, or the controller or
// a shard beside it could not listen at its configured port.
void check_endpoints_are_free(const JobConfig& config);

// Where a process is to run.
struct ProcessPlace {
  std::string address;                        // at which the others reach it
  std::vector<std::string> launch;            // words before its command; none: on this machine
  std::filesystem::path program_folder = {};  // empty: as here
};

struct LostProcess {
  ProcessName process;
  std::int64_t pid = 0;
  std::string how;         // "was killed by signal 9 (Killed)"
  std::string log_tail;    // its last words
  bool by_itself = false;  // it found an error, and ended: another one would do the same
  bool has_joined = false;
  bool bad_input = false;  // it says that the error is in what the user gave
};

// What the cluster tells its owner, always on the io_context's thread.
class ClusterListener {
 public:
  virtual ~ClusterListener() = default;
  virtual void on_joined(const ProcessName& process, const Joined& message) = 0;
  virtual void on_message(const ProcessName& process, const ControlMessage& message) = 0;
  // Where the payload of a kState frame is to be written, exactly as long as the frame says.
  virtual std::span<std::byte> state_destination(const ProcessName& process,
                                                 const FrameHeader& header) = 0;
  virtual void on_state(const ProcessName& process, const FrameHeader& header) = 0;
  // It has ended, and will not be heard of before it is started again.
  virtual void on_lost(const LostProcess& lost) = 0;
  // One that was released has ended.
  virtual void on_left(const ProcessName& process) = 0;
  virtual void on_all_ended() = 0;
};

// Thread: the io_context's, which is one. The destructor kills what still runs.
class Cluster final {
 public:
  struct Settings {
    std::filesystem::path program_folder;  // where scavenger-ps and scavenger-worker are
    std::filesystem::path log_folder;
    JobConfig config;
    std::string address;  // of this machine, for processes elsewhere
    LimitsConfig limits;
    std::uint32_t state_payload_limit_bytes = 0;
    int shared_file = -1;  // for all processes to inherit, where they share memory
  };

  // Listens at cluster.port of the settings' address. The references must outlive the cluster.
  Cluster(asio::io_context& io, const Clock& clock, ClusterListener& listener,
          JobCredentials credentials, Settings settings);
  ~Cluster();

  // Starts a process, the first time or in place of one that was lost; returns its pid. `config`:
  // the job's resolved configuration, JSON.
  std::int64_t start(const ProcessName& process, const ProcessPlace& place, std::uint32_t threads,
                     std::uint16_t listen_port, const std::string& config);
  // For a worker that may not be started from here: what it has to be told, and that it may come.
  std::string ticket_of_stranger(const ProcessName& process, const std::string& config) const;
  void expect(const ProcessName& process);
  // The process's own, on its host; after it has joined.
  std::int64_t pid_of(const ProcessName& process) const;
  // Where the others reach a shard.
  std::string address_of_shard(std::uint32_t shard) const;
  std::filesystem::path log_of(const ProcessName& process) const;

  void send(const ProcessName& process, const ControlMessage& message);
  FrameConnection& connection(const ProcessName& process);
  std::shared_ptr<FrameConnection> shared_connection(const ProcessName& process);
  double seconds_since_start(const ProcessName& process) const;

  // A moment later asks a process to end that is not needed any more, and kills it where it does
  // not within limits.stop_seconds; on_left() follows.
  void release(const ProcessName& process);
  // Kills a process; on_lost() follows, and says why.
  void kill(const ProcessName& process, const std::string& why);
  // Kills who is silent. Call about once a second.
  void check_signs_of_life();

  // Asks all to end; who has not after limits.stop_seconds is killed. on_all_ended() follows.
  void end_all();
  // Kills all. on_all_ended() follows.
  void kill_all();

 private:
  struct Member {
    explicit Member(asio::io_context& io) : news_timer(io) {}

    ProcessName name;
    std::unique_ptr<ChildProcess> child;  // null: it was not started from here, at least not yet
    std::shared_ptr<FrameConnection> connection;  // null before it has joined
    std::int64_t pid = 0;                         // as it says itself
    double start_seconds = 0.0;
    double last_sign_seconds = 0.0;
    bool is_read = false;         // its connection is
    std::string failure;          // what its Failed message said
    bool failed_by_peer = false;  // its failure is only that somebody else is gone
    bool bad_input = false;       // its failure is in what the user gave
    std::string why_ended;        // by us: killed, or refused
    bool refused = false;         // for what it said
    bool released = false;
    std::optional<ExitStatus> status;  // it has ended
    asio::steady_timer news_timer;     // waits for its last words, or its end
  };
  using MemberPointer = std::shared_ptr<Member>;

  LaunchTicket ticket_for(const ProcessName& process, const std::string& config) const;
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
  asio::steady_timer kill_timer_;
};

}  // namespace scavenger::elastic
