// Trains a campaign's surrogate beside its simulations: one scavenger-train after the other, as
// child processes of this one, which end with it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "campaign/core/campaign.h"
#include "campaign/run/campaign_folder.h"
#include "campaign/run/surrogate_folder.h"
#include "runtime/net/event_loop.h"
#include "runtime/process/child_process.h"

namespace scavenger::campaign {

// Thread: the io_context's; arithmetic is done on another one. The destructor ends a training.
class SurrogateTraining final {
 public:
  using Told = std::variant<event::Advised, event::TrainingFailed>;

  // The references must outlive it. `told` is called once for each training.
  SurrogateTraining(asio::io_context& io, EventLoop& loop, CampaignFolder folder,
                    CampaignConfig config, std::filesystem::path program_folder,
                    std::function<void(const Told&)> told);
  ~SurrogateTraining();

  bool is_running() const { return round_ != nullptr; }
  // From all results of now. Requires that none is running.
  void begin(const Campaign& campaign);
  // Nothing is told of it any more.
  void stop();

 private:
  struct Round;

  void read_results();
  void train_next();
  void run_program(const std::vector<std::string>& words, std::function<void()> then);
  void advise();
  void fail(const std::string& reason);
  void tell(const Told& told);
  std::filesystem::path member_folder(std::size_t index) const;

  asio::io_context& io_;
  EventLoop& loop_;
  const CampaignFolder folder_;
  const CampaignConfig config_;
  const Space space_;
  const std::filesystem::path program_folder_;
  const std::function<void(const Told&)> told_;
  std::shared_ptr<Round> round_;
  std::unique_ptr<ChildProcess> child_;
  std::unique_ptr<BackgroundThread> thread_;
};

}  // namespace scavenger::campaign
