#include "runtime/collective/nccl_link.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>

#include "runtime/collective/nccl_plan.h"

namespace scavenger {
namespace {

// Period of polling what a GPU does, which cannot wake a thread. It is almost as fast as spinning,
// and lets other threads run.
constexpr auto kOperationPollPeriod = std::chrono::microseconds(20);
constexpr auto kConnectPollPeriod = std::chrono::milliseconds(1);

// NCCL and CUDA wake nobody. Whoever polls looks after each pause whether it is still wanted.
void pause(std::chrono::microseconds period) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable().wait_for(lock, period);
}

[[noreturn]] void no_longer_wanted() {
  throw std::runtime_error("interrupted");
}

class NcclWork final : public LinkWork {
 public:
  NcclWork(NcclCalls& calls, NcclCalls::Mark mark) : calls_(calls), mark_(std::move(mark)) {}

  // The host waits, not a stream: a stream would wait for ever for a peer that is gone.
  void wait(const StillWanted& wanted) override {
    while (!calls_.reached(mark_)) {
      if (!wanted()) no_longer_wanted();
      pause(kOperationPollPeriod);
    }
  }

 private:
  NcclCalls& calls_;
  const NcclCalls::Mark mark_;
};

class NcclLink final : public Link {
 public:
  struct Identity {
    std::string name;
    std::uint32_t rank = 0;
    std::uint32_t size = 0;
  };
  struct Finalising {
    const Clock& clock;
    double seconds = 0.0;
  };

  NcclLink(std::shared_ptr<NcclCalls> calls, NcclCalls::Communicator communicator,
           Identity identity, const Finalising& finalising)
      : calls_(std::move(calls)),
        identity_(std::move(identity)),
        finalising_(finalising),
        communicator_(communicator) {}

  const Identity& identity() const { return identity_; }

  std::unique_ptr<LinkWork> begin_sum(std::span<float> values, const StillWanted& wanted) override {
    return start(wanted, [&](NcclCalls::Communicator communicator) {
      calls_->all_reduce(communicator, values);
    });
  }
  std::unique_ptr<LinkWork> begin_broadcast(std::span<float> values, std::uint32_t source,
                                            const StillWanted& wanted) override {
    return start(wanted, [&](NcclCalls::Communicator communicator) {
      calls_->broadcast(communicator, values, static_cast<int>(source));
    });
  }

  void check() override {
    const std::lock_guard lock(mutex_);
    if (communicator_ != nullptr && calls_->state(communicator_) == NcclState::kFailed)
      throw std::runtime_error(calls_->last_error(communicator_));
  }

  void end(LinkEnd how) noexcept override {
    NcclCalls::Communicator ending = nullptr;
    {
      const std::lock_guard lock(mutex_);
      ending = std::exchange(communicator_, nullptr);
    }
    if (ending == nullptr) return;
    if (how == LinkEnd::kFinalise && finalised(ending))
      calls_->destroy(ending);
    else
      calls_->abort(ending);
  }

  // Makes a smaller communicator of this one, which stays.
  NcclCalls::Communicator shrink(const std::vector<int>& left, const StillWanted& wanted) {
    NcclCalls::Communicator child = nullptr;
    {
      const std::lock_guard lock(mutex_);
      calls_->shrink(required(), left, child);
    }
    try {
      poll(wanted, kConnectPollPeriod);
    } catch (...) {
      // NCCL writes to `child` until the parent is aborted, which also aborts what has begun.
      end(LinkEnd::kAbort);
      throw;
    }
    return child;
  }

 private:
  NcclCalls::Communicator required() const {
    if (communicator_ == nullptr) throw std::runtime_error("the communicator was ended");
    return communicator_;
  }

  void poll(const StillWanted& wanted, std::chrono::microseconds period) {
    for (;; pause(period)) {
      {
        const std::lock_guard lock(mutex_);
        const NcclState state = calls_->state(required());
        if (state == NcclState::kDone) return;
        if (state == NcclState::kFailed)
          throw std::runtime_error(calls_->last_error(communicator_));
      }
      if (!wanted()) no_longer_wanted();
    }
  }

  // An operation may have to establish connections first. An event that is recorded before that is
  // done would be reached too early.
  template <typename Launch>
  std::unique_ptr<LinkWork> start(const StillWanted& wanted, const Launch& launch) {
    {
      const std::lock_guard lock(mutex_);
      launch(required());
    }
    poll(wanted, kOperationPollPeriod);
    return std::make_unique<NcclWork>(*calls_, calls_->mark());
  }

  bool finalised(NcclCalls::Communicator ending) noexcept {
    try {
      calls_->finalise(ending);
      const double until_seconds = finalising_.clock.now_seconds() + finalising_.seconds;
      for (; finalising_.clock.now_seconds() < until_seconds; pause(kConnectPollPeriod)) {
        const NcclState state = calls_->state(ending);
        if (state != NcclState::kUnderWay) return state == NcclState::kDone;
      }
    } catch (const std::exception&) {
      // Aborted instead.
    }
    return false;
  }

  const std::shared_ptr<NcclCalls> calls_;
  const Identity identity_;
  const Finalising finalising_;
  std::mutex mutex_;  // one call for a communicator at a time; none waits while it holds this
  NcclCalls::Communicator communicator_;  // null when it is being ended
};

class NcclAttempt final : public LinkAttempt {
 public:
  NcclAttempt(std::shared_ptr<NcclCalls> calls, NcclConnector::OpenStore open_store,
              SyncGroup group, const NcclLink::Finalising& finalising)
      : calls_(std::move(calls)),
        open_store_(std::move(open_store)),
        group_(std::move(group)),
        finalising_(finalising) {}
  ~NcclAttempt() override { end_previous(); }

  void keep(std::shared_ptr<NcclLink> previous, std::uint64_t completed) {
    previous_ = std::move(previous);
    completed_ = completed;
  }

  void abandon() override { is_abandoned_ = true; }

  std::shared_ptr<Link> connect() override {
    const std::unique_ptr<MeetingStore> store = open_store_(group_);
    const NcclPlan plan = agree(*store);
    if (plan.way == NcclPlan::Way::kKeep) return std::exchange(previous_, nullptr);
    if (plan.way == NcclPlan::Way::kShrink) {
      const std::string name =
          previous_->identity().name + "/" + std::to_string(group_.membership.epoch);
      NcclCalls::Communicator child =
          previous_->shrink(plan.left, [this] { return !is_abandoned_; });
      std::shared_ptr<Link> link = link_of(child, name);
      end_previous();
      return link;
    }
    end_previous();
    return connect_anew(*store);
  }

 private:
  std::uint32_t size() const { return group_.membership.workers(); }
  std::shared_ptr<NcclLink> link_of(NcclCalls::Communicator communicator, std::string name) {
    return std::make_shared<NcclLink>(calls_, communicator,
                                      NcclLink::Identity{std::move(name), group_.rank, size()},
                                      finalising_);
  }

  std::string wait_for(MeetingStore& store, const std::string& key) const {
    while (!store.has(key)) {
      if (is_abandoned_) no_longer_wanted();
      pause(kConnectPollPeriod);
    }
    return store.get(key);
  }

  // It also shows that all workers have come, before NCCL waits for them.
  NcclPlan agree(MeetingStore& store) const {
    std::optional<KeptCommunicator> mine;
    if (previous_) {
      const NcclLink::Identity& identity = previous_->identity();
      mine = KeptCommunicator{identity.name, completed_, identity.rank, identity.size};
    }
    store.set("kept/" + std::to_string(group_.rank), text_of(mine));
    std::vector<std::optional<KeptCommunicator>> answers;
    for (std::uint32_t rank = 0; rank < size(); ++rank)
      answers.push_back(kept_from_text(wait_for(store, "kept/" + std::to_string(rank))));
    return plan_communicator(answers);
  }

  std::shared_ptr<Link> connect_anew(MeetingStore& store) {
    NcclId id;
    if (group_.rank == group_.source_rank) {
      id = calls_->make_id();
      store.set("id", {id.bytes.data(), id.bytes.size()});
    } else {
      const std::string bytes = wait_for(store, "id");
      if (bytes.size() != id.bytes.size()) throw std::runtime_error("a damaged unique id came");
      std::ranges::copy(bytes, id.bytes.begin());
    }
    NcclCalls::Communicator communicator =
        calls_->init(id, static_cast<int>(size()), static_cast<int>(group_.rank));
    std::shared_ptr<NcclLink> link =
        link_of(communicator, "epoch-" + std::to_string(group_.membership.epoch));
    await(*link, communicator);
    return link;
  }

  void await(NcclLink& link, NcclCalls::Communicator communicator) {
    try {
      for (NcclState state{}; (state = calls_->state(communicator)) != NcclState::kDone;
           pause(kConnectPollPeriod)) {
        if (state == NcclState::kFailed) throw std::runtime_error(calls_->last_error(communicator));
        if (is_abandoned_) no_longer_wanted();
      }
    } catch (...) {
      link.end(LinkEnd::kAbort);
      throw;
    }
  }

  void end_previous() {
    if (previous_) previous_->end(LinkEnd::kFinalise);
    previous_.reset();
  }

  const std::shared_ptr<NcclCalls> calls_;
  const NcclConnector::OpenStore open_store_;
  const SyncGroup group_;
  const NcclLink::Finalising finalising_;
  std::shared_ptr<NcclLink> previous_;
  std::uint64_t completed_ = 0;
  std::atomic<bool> is_abandoned_{false};
};

}  // namespace

NcclConnector::NcclConnector(std::shared_ptr<NcclCalls> calls, OpenStore open_store,
                             const Clock& clock, double finalise_seconds)
    : calls_(std::move(calls)),
      open_store_(std::move(open_store)),
      clock_(clock),
      finalise_seconds_(finalise_seconds) {}

std::unique_ptr<LinkAttempt> NcclConnector::prepare(const SyncGroup& group,
                                                    std::shared_ptr<Link> previous,
                                                    std::uint64_t completed) {
  auto attempt = std::make_unique<NcclAttempt>(calls_, open_store_, group,
                                               NcclLink::Finalising{clock_, finalise_seconds_});
  if (previous) attempt->keep(std::static_pointer_cast<NcclLink>(std::move(previous)), completed);
  return attempt;
}

}  // namespace scavenger
