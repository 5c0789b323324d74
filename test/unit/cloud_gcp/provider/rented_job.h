// A job that rents VMs and trains nothing: it wants K machines for a while, replaces what it loses,
// keeps below its cost limit, and gives all back.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cloud_gcp/provider/gcp_provider.h"
#include "runtime/net/asio.h"

namespace scavenger::gcp {

struct RentedJobPlan {
  std::string name;
  unsigned workers = 1;
  bool spot = true;
  double seconds = 1.0;     // ours, from the first VM on, if nobody keeps us from the processor
  double time_scale = 1.0;  // seconds of the cloud in one of ours
  double max_cost = 1e9;    // dollars
};

class RentedJob final : public ProviderListener {
 public:
  RentedJob(asio::io_context& io, const GcpSettings& settings, const RentedJobPlan& plan,
            const std::filesystem::path& folder);

  // `done` is called when everything has been given back.
  void start(std::function<void()> done);

  enum class End { kNone, kTarget, kCostLimit, kRefused };
  End end() const { return end_; }
  const std::string& message() const { return message_; }  // of a refusal
  double cost() const { return cost_; }  // dollars, from ready to released or lost
  int rented() const { return rented_; }
  int lost() const { return lost_; }
  const std::vector<std::string>& left() const { return left_; }
  const std::vector<std::string>& breaches() const {
    return breaches_;
  }  // of the provider's contract

 private:
  struct Rented {
    double since = 0.0;
    double per_hour = 0.0;
  };

  void on_ready(MachineId id, const Machine& machine) override;
  void on_delayed(MachineId, const Refusal&) override {}
  void on_refused(MachineId id, const Refusal& refusal) override;
  void on_notice(MachineId, const MachineNotice&) override {}
  void on_lost(MachineId id, const MachineLoss& loss) override;
  void on_released(MachineId id) override;

  void ask();
  void charge(MachineId id);
  double cost_so_far() const;
  awaitable<void> live();
  void stop(End end);

  asio::io_context& io_;
  const RentedJobPlan plan_;
  SteadyClock clock_;
  GcpProvider provider_;
  std::function<void()> done_;
  MachineId next_id_ = 1;
  std::set<MachineId> open_;  // asked for, and not ended
  std::map<MachineId, Rented> rented_now_;
  bool has_begun_ = false;
  bool has_machine_ = false;    // had one at least
  double lived_seconds_ = 0.0;  // since then
  End end_ = End::kNone;
  std::string message_;
  double cost_ = 0.0;
  int rented_ = 0;
  int lost_ = 0;
  std::vector<std::string> left_;
  std::vector<std::string> breaches_;
};

// Runs `io` until the job has given all back. What else `io` has to do stays undone.
void run_to_end(asio::io_context& io, RentedJob& job);

// Settings for a fake cloud that is faster by `time_scale`.
GcpSettings quick_settings(const std::string& endpoint, double time_scale);

}  // namespace scavenger::gcp
