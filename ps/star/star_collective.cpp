#include "ps/star/star_collective.h"

#include <algorithm>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/use_future.hpp>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/error.h"

namespace scavenger::ps {
namespace {

constexpr double kConnectSeconds = 20.0;

[[noreturn]] void give_up(std::string what) {
  throw ConnectionError({.what = std::move(what), .where = "all-reduce", .remedy = {}});
}

// Calls what(part) for the parts of a vector that are a round each.
template <typename Do>
void for_rounds(std::span<float> values, const Do& what) {
  for (std::size_t first = 0; first < values.size(); first += kRoundFloats)
    what(values.subspan(first, std::min(kRoundFloats, values.size() - first)));
}

}  // namespace

StarCollective::StarCollective(asio::io_context& io, StarHub& hub,
                               const JobCredentials& credentials)
    : io_(io), hub_(hub), credentials_(credentials) {}

StarCollective::~StarCollective() {
  leave();
}

template <typename Work>
void StarCollective::on_io(Work work) {
  asio::post(io_, asio::use_future(std::move(work))).get();
}

// ---- Groups. ----

void StarCollective::join(const SyncGroup& group) {
  leave();
  workers_ = group.membership.workers();
  rank_ = group.rank;
  is_centre_ = group.rank == group.source_rank;
  require_group();
  if (workers_ == 1) return;
  is_centre_ ? become_centre(group) : connect(group);
  // A round to which nobody brings anything ends when all have come.
  bring({});
  next_sum();
}

void StarCollective::become_centre(const SyncGroup& group) {
  on_io([this, &group] {
    hub_.open({.epoch = group.membership.epoch,
               .workers = workers_,
               .rank = rank_,
               .summed = [this](RankSums::Sum sum) { arrived(std::move(sum)); },
               .lost = [this](std::string problem) { lost(std::move(problem)); }});
  });
}

void StarCollective::connect(const SyncGroup& group) {
  SCAVENGER_CHECK(!group.shards.empty());
  const Endpoint centre{group.shards[0].host, group.shards[0].port};
  {
    const std::lock_guard lock(mutex_);
    converses_ = true;
  }
  on_io([this, centre, epoch = group.membership.epoch] {
    asio::co_spawn(io_, converse(centre, epoch, rank_),
                   asio::bind_cancellation_slot(stop_connecting_.slot(),
                                                [this](const std::exception_ptr& failure) {
                                                  std::string problem = "the connection has ended";
                                                  try {
                                                    if (failure) std::rethrow_exception(failure);
                                                  } catch (const std::exception& error) {
                                                    problem = error.what();
                                                  }
                                                  connection_.reset();
                                                  lost(std::move(problem));
                                                  const std::lock_guard lock(mutex_);
                                                  converses_ = false;
                                                  changed_.notify_all();
                                                }));
  });
}

void StarCollective::leave() {
  on_io([this] {
    stop_connecting_.emit(asio::cancellation_type::all);
    if (connection_) connection_->close();
    outbox_.clear();
    rounds_sent_ = 0;
    if (is_centre_) hub_.close();
  });
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !converses_; });
  sums_.clear();
  begun_.clear();
  problem_.clear();
  workers_ = 0;
  is_centre_ = false;
}

// Thread: the io thread, to its end.
awaitable<void> StarCollective::converse(Endpoint centre, std::uint32_t epoch, std::uint32_t rank) {
  epoch_ = epoch;
  JobSocket socket = co_await connect_authenticated(centre, credentials_, kConnectSeconds);
  connection_ = std::make_shared<FrameConnection>(std::move(socket), SIZE_MAX);
  const auto connection = connection_;
  FrameHeader hello;
  hello.type = FrameType::kPull;
  hello.membership_epoch = epoch;
  hello.rank = rank;
  connection->post(hello, {});
  for (const auto& values : std::exchange(outbox_, {})) send(values);
  for (std::uint64_t round = 0;; ++round) {
    const FrameHeader header = co_await connection->receive_header(kRoundBytes);
    if (!is_of_round(header, FrameType::kWeights, epoch, round))
      throw ProtocolError(
          {.what = "the centre sent a frame that is not due", .where = "all-reduce", .remedy = {}});
    auto sum = std::make_shared<FloatBuffer>(header.payload_bytes / sizeof(float));
    if (sum->size() > 0) co_await connection->receive_payload(std::as_writable_bytes(sum->span()));
    arrived(std::move(sum));
  }
}

// ---- Rounds. ----

// The values must stay as they are until the round's sum has arrived.
void StarCollective::bring(std::span<const float> values) {
  if (!is_centre_) {
    asio::post(io_, [this, values] { connection_ ? send(values) : outbox_.push_back(values); });
    return;
  }
  auto part = std::make_shared<FloatBuffer>(values.size());
  std::ranges::copy(values, part->span().begin());
  asio::post(io_, [this, part] { hub_.bring(std::move(*part)); });
}

void StarCollective::send(std::span<const float> values) {
  FrameHeader header;
  header.type = FrameType::kGradient;
  header.membership_epoch = epoch_;
  header.iteration = rounds_sent_++;
  connection_->post(header, std::as_bytes(values));
}

RankSums::Sum StarCollective::next_sum() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return interrupted_ || !sums_.empty() || !problem_.empty(); });
  if (interrupted_) give_up("interrupted");
  if (sums_.empty()) give_up(problem_);
  RankSums::Sum sum = std::move(sums_.front());
  sums_.pop_front();
  return sum;
}

void StarCollective::require_group() {
  const std::lock_guard lock(mutex_);
  if (interrupted_) give_up("interrupted");
  if (!problem_.empty()) give_up(problem_);
}

void StarCollective::arrived(RankSums::Sum sum) {
  const std::lock_guard lock(mutex_);
  sums_.push_back(std::move(sum));
  changed_.notify_all();
}

void StarCollective::lost(std::string problem) {
  const std::lock_guard lock(mutex_);
  if (problem_.empty()) problem_ = std::move(problem);
  changed_.notify_all();
}

// ---- Operations. ----

void StarCollective::begin_sum(std::span<float> values) {
  if (workers_ == 1) return;
  require_group();
  begun_.push_back(values);
  for_rounds(values, [this](std::span<float> part) { bring(part); });
}

void StarCollective::finish_sum() {
  if (workers_ == 1) return;
  SCAVENGER_CHECK(!begun_.empty());
  const std::span<float> values = begun_.front();
  begun_.pop_front();
  for_rounds(values, [this](std::span<float> part) {
    const RankSums::Sum sum = next_sum();
    if (sum->size() != part.size()) give_up("a sum of another length came");
    std::ranges::copy(sum->span(), part.begin());
  });
}

void StarCollective::broadcast(std::span<float> values, std::uint32_t source) {
  if (workers_ == 1) return;
  require_group();
  SCAVENGER_CHECK(begun_.empty());
  for_rounds(values, [this, source](std::span<float> part) {
    bring(rank_ == source ? part : std::span<float>());
    const RankSums::Sum sum = next_sum();
    if (sum->size() != part.size()) give_up("a broadcast of another length came");
    std::ranges::copy(sum->span(), part.begin());
  });
}

// Any thread.
void StarCollective::interrupt() {
  const std::lock_guard lock(mutex_);
  interrupted_ = true;
  changed_.notify_all();
}

void StarCollective::allow() {
  const std::lock_guard lock(mutex_);
  interrupted_ = false;
}

}  // namespace scavenger::ps
