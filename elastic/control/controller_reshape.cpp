// The controller's part that changes K and B: workers are started while the others train, and taken
// in at a boundary when they are ready; those that leave finish the iteration.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "elastic/control/controller.h"
#include "runtime/base/check.h"

namespace scavenger::elastic {
namespace {

// Newcomers wait so long for each other, to be taken in together.
constexpr double kCompanySeconds = 5.0;

}  // namespace

void Controller::on_reshape_wanted(const ReshapeWanted& event) {
  SCAVENGER_CHECK(event.workers > 0 && event.workers <= event.batch_size);
  if (state() == JobState::kEnding) return;
  wanted_workers_ = event.workers;
  wanted_batch_size_ = event.batch_size;
  wanted_rate_factor_ = event.rate_factor;
  wanted_reason_ = event.reason;
  is_look_ = event.is_look.value_or(false);
  if (ending_) return;  // unless what was reached is lost again
  staff();
  if (!is_look_) release_those_who_wait();
  go_on_with_those_there();
}

// Once nobody is waited for any more, a membership that was being made can be made; one that trains
// may change at the next boundary.
void Controller::go_on_with_those_there() {
  if (state() == JobState::kGathering) return gather();
  if (state() == JobState::kTraining && reshape_is_due()) go_to_boundary();
}

void Controller::on_rate_factor_wanted(const RateFactorWanted& event) {
  if (state() == JobState::kEnding || event.batch_size != wanted_batch_size_) return;
  wanted_rate_factor_ = event.factor;
  rate_reason_.clear();
  if (!has_begun_ || ending_ || wanted_rate_factor_ == membership_.rate_factor) return;
  rate_reason_ = event.reason;
  if (state() == JobState::kTraining) go_to_boundary();
}

void Controller::on_shares_wanted(const SharesWanted& event) {
  if (state() == JobState::kEnding) return;
  auto pinned = std::move(share_rule_.pinned);
  share_rule_ = event.rule;
  share_rule_.pinned = std::move(pinned);
  change_shares(event.reason);
}

void Controller::on_share_pinned(const SharePinned& event) {
  if (state() == JobState::kEnding) return;
  share_rule_.pinned.clear();
  if (event.share > 0) share_rule_.pinned[event.worker] = event.share;
  change_shares(event.reason);
}

void Controller::change_shares(const std::string& reason) {
  shares_reason_.clear();
  if (!has_begun_ || ending_) return;
  if (shares_of(share_rule_, membership_.batch_size, ranks_) == membership_.shares) return;
  shares_reason_ = reason;
  if (state() == JobState::kTraining) go_to_boundary();
}

void Controller::on_workers_dismissed(const WorkersDismissed& event) {
  if (state() == JobState::kEnding) return;
  for (const std::uint32_t index : event.workers) {
    const ProcessName worker{Role::kWorker, index};
    if (roster_.knows(worker) && roster_.has_joined(worker)) roster_.leave(worker);
  }
}

// Starts who is missing, and sends those away who have not come yet and are not needed. Who takes
// part leaves at the boundary.
void Controller::staff() {
  std::vector<std::uint32_t> active = roster_.active_workers();
  std::uint32_t free_index = 0;
  for (auto count = static_cast<std::uint32_t>(active.size()); count < wanted_workers_; ++count) {
    free_index = roster_.free_worker_index(free_index);
    const ProcessName worker{Role::kWorker, free_index};
    roster_.start(worker, now_seconds_);
    actions_.push_back(StartProcess{worker});
  }
  // Whatever its index, one that has not come goes before one that trains.
  const auto joined = std::ranges::stable_partition(
      active, [this](std::uint32_t index) { return roster_.has_joined({Role::kWorker, index}); });
  for (auto to_come = joined.size(); to_come > 0 && active.size() > wanted_workers_; --to_come) {
    const ProcessName last{Role::kWorker, active.back()};
    active.pop_back();
    if (!roster_.is_starting(last)) {  // it is gone, and is not asked for again
      roster_.forget(last);
      continue;
    }
    release(last);
  }
}

void Controller::on_process_left(const ProcessLeft& event) {
  if (state() == JobState::kEnding) return;
  roster_.forget(event.process);
  if (state() == JobState::kHalting)
    gather();  // its halt may have been the last that is waited for
}

void Controller::on_process_leaving(const ProcessLeaving& event) {
  const ProcessName& worker = event.process;
  const bool comes = roster_.is_starting(worker);
  const bool is_there = roster_.has_joined(worker) && !roster_.is_leaving(worker);
  if (state() == JobState::kEnding || !(comes || is_there)) return;
  actions_.push_back(Announce{fmt::format("{} leaves: {}", worker.text(), event.reason)});
  if (comes)
    release(worker);
  else
    roster_.leave(worker);
  if (plan_.faults.on_worker_loss == OnWorkerLoss::kShrink && wanted_workers_ > 1)
    --wanted_workers_;
  if (ending_) return;
  staff();
  go_on_with_those_there();
}

// The joined ones of lowest index, as many as are wanted. Who leaves is among them only where
// nobody else is there yet.
std::vector<std::uint32_t> Controller::next_ranks() const {
  std::vector<std::uint32_t> ranks = roster_.staying_workers();
  if (ranks.empty()) ranks = roster_.joined_workers();
  if (ranks.size() > wanted_workers_) ranks.resize(wanted_workers_);
  return ranks;
}

std::size_t Controller::next_worker_count() const {
  const std::size_t staying = roster_.staying_worker_count();
  const std::size_t there = staying > 0 ? staying : roster_.joined_worker_count();
  return std::min<std::size_t>(there, wanted_workers_);
}

bool Controller::reshape_is_due() const {
  if (!shares_reason_.empty() || !rate_reason_.empty()) return true;
  const std::vector<std::uint32_t> ranks = next_ranks();
  if (ranks == ranks_ && wanted_batch_size_ == membership_.batch_size) return false;
  const auto leaves = [&](std::uint32_t index) {
    return roster_.is_leaving({Role::kWorker, index}) &&
           std::ranges::find(ranks, index) == ranks.end();
  };
  if (std::ranges::any_of(ranks_, leaves)) return true;
  const bool all_have_come =
      roster_.active_workers().size() <= roster_.staying_worker_count() + roster_.deferred_count();
  return all_have_come ||
         (ranks.size() > ranks_.size() && now_seconds_ - newcomer_seconds_ > kCompanySeconds);
}

std::string Controller::reshape_reason() const {
  if (next_ranks() == ranks_ && wanted_batch_size_ == membership_.batch_size)
    return shares_reason_.empty() ? rate_reason_ : shares_reason_;
  const std::size_t workers = next_ranks().size();
  std::string change = workers > ranks_.size() ? "a worker has come" : "a worker leaves";
  if (workers == ranks_.size() || wanted_batch_size_ != membership_.batch_size)
    change = fmt::format("batch size {} to {}", membership_.batch_size, wanted_batch_size_);
  return wanted_reason_.empty() ? change : wanted_reason_;
}

// Who takes part from now on, and with how much. All have halted, or nothing has begun.
void Controller::take_ranks() {
  ranks_ = next_ranks();
  // Where workers hold the state, one that has all of it must stay until the others have it too.
  if (plan_.state_home == StateHome::kWorkers && source_ == StateSource::kPresent) {
    const auto is_source = [this](std::uint32_t index) {
      const ProcessName worker{Role::kWorker, index};
      return roster_.has_weights(worker) && roster_.iteration_of(worker) == work_.done();
    };
    const auto joined = roster_.joined_workers();
    const auto source = std::ranges::find_if(joined, is_source);
    if (std::ranges::none_of(ranks_, is_source) && source != joined.end()) ranks_.back() = *source;
    std::ranges::sort(ranks_);
  }
  if (wanted_batch_size_ != membership_.batch_size) replans_ = true;
  membership_.batch_size = wanted_batch_size_;
  membership_.rate_factor = wanted_rate_factor_;
  const auto count = static_cast<std::uint32_t>(ranks_.size());
  membership_.shares = shares_of(share_rule_, membership_.batch_size, ranks_);
  shares_reason_.clear();
  rate_reason_.clear();
  work_.forget_pace();
  if (count == wanted_workers_) wanted_reason_.clear();
  release_the_others();
}

void Controller::release(const ProcessName& process) {
  roster_.release(process);
  actions_.push_back(ReleaseProcess{process});
}

// The way back from a look must not wait until workers have started again.
void Controller::release_the_others() {
  for (const std::uint32_t index : roster_.joined_workers()) {
    if (std::ranges::find(ranks_, index) != ranks_.end()) continue;
    const ProcessName worker{Role::kWorker, index};
    if (is_look_ && !roster_.is_leaving(worker))
      roster_.wait(worker);
    else
      release(worker);
  }
}

// The look is over, and the job does without them. Those who are just asked to halt, or are taken
// in, are released when the next membership is made.
void Controller::release_those_who_wait() {
  if (state() == JobState::kHalting) return;
  const std::vector<std::uint32_t> next = next_ranks();
  const auto is_among = [](const std::vector<std::uint32_t>& ranks, std::uint32_t index) {
    return std::ranges::find(ranks, index) != ranks.end();
  };
  for (const std::uint32_t index : roster_.joined_workers()) {
    const ProcessName worker{Role::kWorker, index};
    if (roster_.is_waiting(worker) && !is_among(next, index) && !is_among(ranks_, index))
      release(worker);
  }
}

std::string Controller::state_name() const {
  switch (state()) {
    case JobState::kGathering:
    case JobState::kRestoring:
    case JobState::kLoading:
    case JobState::kConnecting:
      return has_trained_ ? "coming together again" : "starting";
    case JobState::kHalting:
      return "halting";
    case JobState::kTraining:
      return paused_ ? "paused" : "training";
    case JobState::kEvaluating:
      return "evaluating";
    case JobState::kSnapshotting:
    case JobState::kDraining:
      return "checkpointing";
    case JobState::kEnding:
    case JobState::kEnded:
      return "ending";
  }
  return {};
}

}  // namespace scavenger::elastic
