// All-reduce by the job's own connections: one worker of the group is the centre (star_hub.h),
// which adds up in the order of ranks and sends the sums back. They are encrypted between machines,
// as all that a job sends, and the bits do not depend on who came first. The centre's link carries
// what that of one shard of the parameter server would.
#pragma once

#include <boost/asio/cancellation_signal.hpp>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "ps/star/rank_sums.h"
#include "ps/star/star_hub.h"
#include "runtime/net/asio.h"
#include "runtime/net/authentication.h"
#include "runtime/net/frame_connection.h"
#include "runtime/training/collective.h"

namespace scavenger::ps {

// Thread: as Collective. The sockets belong to the io_context's thread, which must be another
// thread, and must outlive this object. The group meets at the address `group.shards[0]`, which is
// that of the worker of rank `group.source_rank`.
class StarCollective final : public Collective {
 public:
  // `hub`: of this worker.
  StarCollective(asio::io_context& io, StarHub& hub, const JobCredentials& credentials);
  ~StarCollective() override;

  void join(const SyncGroup& group) override;
  void leave() override;
  void begin_sum(std::span<float> values) override;
  void finish_sum() override;
  void broadcast(std::span<float> values, std::uint32_t source) override;
  void interrupt() override;
  void allow() override;

 private:
  template <typename Work>
  void on_io(Work work);  // returns when it is done
  void become_centre(const SyncGroup& group);
  void connect(const SyncGroup& group);
  awaitable<void> converse(Endpoint centre, std::uint32_t epoch, std::uint32_t rank);
  void bring(std::span<const float> values);
  void send(std::span<const float> values);
  RankSums::Sum next_sum();
  void require_group();
  void arrived(RankSums::Sum sum);
  void lost(std::string problem);

  asio::io_context& io_;
  StarHub& hub_;
  const JobCredentials credentials_;

  // Of the compute thread.
  std::uint32_t workers_ = 0;
  std::uint32_t rank_ = 0;
  bool is_centre_ = false;
  std::deque<std::span<float>> begun_;  // sums that finish_sum() is to finish

  // Of the io thread, and of peers of the centre alone.
  std::shared_ptr<FrameConnection> connection_;
  std::deque<std::span<const float>> outbox_;  // until there is a connection
  std::uint32_t epoch_ = 0;
  std::uint64_t rounds_sent_ = 0;
  asio::cancellation_signal stop_connecting_;

  std::mutex mutex_;
  std::condition_variable changed_;
  // State below is protected by mutex_.
  std::deque<RankSums::Sum> sums_;  // arrived
  std::string problem_;
  bool interrupted_ = false;
  bool converses_ = false;
};

}  // namespace scavenger::ps
