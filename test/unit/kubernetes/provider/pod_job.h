// A job that leases Pods and trains nothing: it wants K of them for a while, replaces what it
// loses, and gives all back.
#pragma once

#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "kubernetes/provider/kubernetes_provider.h"

namespace scavenger::kubernetes {

struct PodJobPlan {
  std::string name = "job";
  unsigned workers = 1;
  bool spot = false;
  double seconds = 1.0;  // from its first Pod on
};

class PodJob final : public ProviderListener {
 public:
  PodJob(asio::io_context& io, const KubernetesSettings& settings, const PodJobPlan& plan,
         const std::filesystem::path& folder);

  // `done` is called when everything has been given back.
  void start(std::function<void()> done);

  bool was_refused() const { return !message_.empty(); }
  const std::string& message() const { return message_; }
  int leased() const { return leased_; }
  int lost() const { return lost_; }
  int notices() const { return notices_; }
  const std::vector<std::string>& left() const { return left_; }
  const std::vector<std::string>& breaches() const { return breaches_; }  // of the contract

 private:
  void on_ready(MachineId id, const Machine& machine) override;
  void on_delayed(MachineId, const Refusal&) override {}
  void on_refused(MachineId id, const Refusal& refusal) override;
  void on_notice(MachineId id, const MachineNotice& notice) override;
  void on_lost(MachineId id, const MachineLoss& loss) override;
  void on_released(MachineId id) override;

  void ask();
  void stop();

  SteadyClock clock_;
  const PodJobPlan plan_;
  KubernetesProvider provider_;
  asio::steady_timer end_;
  std::function<void()> done_;
  MachineId next_id_ = 1;
  std::set<MachineId> open_;   // asked for, and not ended
  std::set<MachineId> ready_;  // of these
  bool is_ending_ = false;
  std::string message_;
  int leased_ = 0;
  int lost_ = 0;
  int notices_ = 0;
  std::vector<std::string> left_;
  std::vector<std::string> breaches_;
};

// Runs `io` until the job has given all back. What else `io` has to do stays undone.
void run_to_end(asio::io_context& io, PodJob& job);

}  // namespace scavenger::kubernetes
