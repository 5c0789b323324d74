#include "runtime/collective/group_collective.h"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/error.h"

namespace scavenger {
namespace {

using Stage = GroupLife::Stage;

// How often the watchdog looks at a connection that works.
constexpr auto kCheckPeriod = std::chrono::milliseconds(100);

[[noreturn]] void give_up(std::string what) {
  throw ConnectionError({.what = std::move(what), .where = "all-reduce", .remedy = {}});
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

}  // namespace

struct GroupCollective::State {
  State(const Clock& time, const GroupLimits& limits) : clock(time), life(limits) {}

  double now() const { return clock.now_seconds(); }
  // Carries out what a change of `life` means for the others. Requires the mutex.
  void settle() {
    const bool wanted = life.wants(attempt_number) || life.stage() == Stage::kConnected;
    if (attempt != nullptr && !wanted) attempt->abandon();
    changed.notify_all();
  }
  std::string reason() const {
    if (life.interrupted()) return "interrupted";
    return life.problem().empty() ? "the group was left" : life.problem();
  }
  void watch(std::unique_lock<std::mutex>& lock);
  void end_link(std::unique_lock<std::mutex>& lock, LinkEnd how);
  void check_link(std::unique_lock<std::mutex>& lock);

  const Clock& clock;
  std::mutex mutex;
  std::condition_variable changed;
  // All below is protected by the mutex.
  GroupLife life;
  std::shared_ptr<Link> link;
  LinkAttempt* attempt = nullptr;
  std::uint64_t attempt_number = 0;
  bool is_closing = false;
};

// ---- Threads. ----

void GroupCollective::State::watch(std::unique_lock<std::mutex>& lock) {
  for (;;) {
    changed.wait_for(lock, kCheckPeriod, [this] { return life.has_end() || is_closing; });
    life.check(now());
    settle();
    if (const auto how = life.take_end(now()))
      end_link(lock, *how);
    else if (is_closing)
      return;
    else if (link)
      check_link(lock);
  }
}

void GroupCollective::State::end_link(std::unique_lock<std::mutex>& lock, LinkEnd how) {
  std::shared_ptr<Link> ending = std::move(link);
  link.reset();
  lock.unlock();
  ending->end(how);
  ending.reset();
  lock.lock();
  life.ended();
  settle();
}

void GroupCollective::State::check_link(std::unique_lock<std::mutex>& lock) {
  const std::shared_ptr<Link> checked = link;
  std::string problem;
  lock.unlock();
  try {
    checked->check();
  } catch (const std::exception& error) {
    problem = first_line(error.what());
  }
  lock.lock();
  if (!problem.empty() && link == checked) life.failed(problem, now());
  settle();
}

// Connects on a separate thread: a caller that stops waiting lets it end by itself.
class GroupCollective::Connecting final {
 public:
  Connecting(std::shared_ptr<State> state, std::unique_ptr<LinkAttempt> attempt,
             std::uint64_t number)
      : state_(std::move(state)),
        attempt_(std::move(attempt)),
        number_(number),
        thread_([this] { run(); }) {}
  // Waits until the library has given up.
  ~Connecting() { thread_.join(); }
  Connecting(const Connecting&) = delete;
  Connecting& operator=(const Connecting&) = delete;

  // Requires the mutex.
  bool ended() const { return ended_; }
  LinkAttempt& attempt() { return *attempt_; }

 private:
  void run() {
    std::shared_ptr<Link> link;
    std::string problem = "the library gave no connection";
    try {
      link = attempt_->connect();
    } catch (const std::exception& error) {
      problem = first_line(error.what());
    }
    std::unique_lock lock(state_->mutex);
    if (!link)
      state_->life.connecting_failed(number_, problem);
    else if (state_->life.connected(number_, state_->now()))
      state_->link = std::exchange(link, nullptr);
    if (link) {  // nobody wants it any more
      lock.unlock();
      link->end(LinkEnd::kAbort);
      link.reset();
      lock.lock();
    }
    ended_ = true;
    state_->settle();
  }

  const std::shared_ptr<State> state_;
  const std::unique_ptr<LinkAttempt> attempt_;
  const std::uint64_t number_;
  bool ended_ = false;
  std::thread thread_;  // last, since it uses all the others
};

// ---- Groups. ----

GroupCollective::GroupCollective(std::unique_ptr<Connector> connector, const Clock& clock,
                                 const GroupLimits& limits)
    : connector_(std::move(connector)),
      state_(std::make_shared<State>(clock, limits)),
      watchdog_([state = state_] {
        std::unique_lock lock(state->mutex);
        state->watch(lock);
      }) {}

GroupCollective::~GroupCollective() {
  interrupt();
  bool is_stuck = false;
  try {
    leave();
  } catch (const Error&) {
    is_stuck = true;
  }
  {
    const std::lock_guard lock(state_->mutex);
    state_->is_closing = true;
    state_->settle();
  }
  // A watchdog that hangs in the library keeps its state, and ends with the process.
  is_stuck ? watchdog_.detach() : watchdog_.join();
}

std::shared_ptr<Link> GroupCollective::take_previous(const SyncGroup& group,
                                                     std::uint64_t& completed) {
  const std::lock_guard lock(state_->mutex);
  if (!connector_->reuses_links() || group.membership.workers() == 1) return nullptr;
  completed = state_->life.completed();
  return state_->life.release_idle() ? std::exchange(state_->link, nullptr) : nullptr;
}

void GroupCollective::join(const SyncGroup& group) {
  std::uint64_t completed = 0;
  std::shared_ptr<Link> previous = take_previous(group, completed);
  leave();
  size_ = group.membership.workers();
  {
    const std::lock_guard lock(state_->mutex);
    abandoned_.remove_if([](const auto& connecting) { return connecting->ended(); });
    if (state_->life.interrupted() && !previous) give_up("interrupted");
  }
  if (size_ > 1) connect(group, std::move(previous), completed);
}

void GroupCollective::connect(const SyncGroup& group, std::shared_ptr<Link> previous,
                              std::uint64_t completed) {
  std::unique_ptr<LinkAttempt> attempt = connector_->prepare(group, std::move(previous), completed);
  std::unique_lock lock(state_->mutex);
  const auto number = state_->life.begin_connecting(state_->now());
  if (!number) {
    lock.unlock();
    attempt.reset();  // ends the previous connection
    give_up("interrupted");
  }
  auto connecting = std::make_unique<Connecting>(state_, std::move(attempt), *number);
  state_->attempt = &connecting->attempt();
  state_->attempt_number = *number;
  state_->changed.wait(lock, [&] { return !state_->life.wants(*number); });
  state_->settle();
  state_->attempt = nullptr;
  const bool is_connected = state_->life.stage() == Stage::kConnected;
  const std::string reason = state_->reason();
  abandoned_.push_back(std::move(connecting));  // it may not have ended yet
  if (!is_connected) give_up(reason);
}

void GroupCollective::leave() {
  std::unique_lock lock(state_->mutex);
  state_->life.leave(state_->now());
  state_->settle();
  while (state_->life.stage() == Stage::kEnding) {
    state_->changed.wait_for(lock, kCheckPeriod);
    state_->life.check(state_->now());
  }
  if (state_->life.stage() == Stage::kStuck) give_up(state_->life.problem());
  lock.unlock();
  sums_.clear();
}

void GroupCollective::interrupt() {
  const std::lock_guard lock(state_->mutex);
  state_->life.interrupt(state_->now());
  state_->settle();
}

void GroupCollective::allow() {
  const std::lock_guard lock(state_->mutex);
  state_->life.allow();
}

// ---- Operations. ----

StillWanted GroupCollective::operates() const {
  return [state = state_] {
    const std::lock_guard lock(state->mutex);
    return state->life.operates();
  };
}

void GroupCollective::fail(const std::string& problem) {
  std::unique_lock lock(state_->mutex);
  if (state_->life.operates()) state_->life.failed(problem, state_->now());
  state_->settle();
  const std::string reason = state_->reason();
  lock.unlock();
  give_up(reason);
}

template <typename Begin>
std::unique_ptr<LinkWork> GroupCollective::begin(const Begin& operation) {
  std::shared_ptr<Link> link;
  {
    const std::lock_guard lock(state_->mutex);
    if (!state_->life.begin_operation(state_->now())) give_up(state_->reason());
    link = state_->link;
  }
  std::string problem;
  try {
    return operation(*link, operates());
  } catch (const std::exception& error) {
    problem = first_line(error.what());
  }
  link.reset();
  fail(problem);
}

void GroupCollective::finish(LinkWork& work) {
  try {
    work.wait(operates());
  } catch (const std::exception& error) {
    fail(first_line(error.what()));
  }
  // An operation of a connection that is being aborted may end as if it were complete.
  const std::lock_guard lock(state_->mutex);
  if (!state_->life.operates()) give_up(state_->reason());
  state_->life.complete_operation(state_->now());
}

void GroupCollective::begin_sum(std::span<float> values) {
  if (size_ == 1) return;
  sums_.push_back(
      begin([&](Link& link, const StillWanted& wanted) { return link.begin_sum(values, wanted); }));
}

void GroupCollective::finish_sum() {
  if (size_ == 1) return;
  SCAVENGER_CHECK(!sums_.empty());
  finish(*sums_.front());
  sums_.pop_front();
}

void GroupCollective::broadcast(std::span<float> values, std::uint32_t source) {
  if (size_ == 1) return;
  const std::unique_ptr<LinkWork> work = begin([&](Link& link, const StillWanted& wanted) {
    return link.begin_broadcast(values, source, wanted);
  });
  finish(*work);
}

}  // namespace scavenger
