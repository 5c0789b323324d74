#include "ps/host/host_uplink.h"

#include "runtime/base/check.h"

namespace scavenger::ps {
namespace {

constexpr double kUplinkSleepSeconds = 0.05;

}  // namespace

HostUplink::HostUplink(Segment& segment, TcpSynchroniser& connection)
    : segment_(segment), connection_(connection) {}

HostUplink::~HostUplink() {
  stop();
}

void HostUplink::start(std::vector<std::uint32_t> slots, std::vector<std::uint32_t> batch_sizes) {
  SCAVENGER_CHECK(!thread_.joinable() && slots.size() == batch_sizes.size());
  const std::vector<float> shares = batch_shares(batch_sizes);
  gradients_.clear();
  for (std::size_t i = 0; i < slots.size(); ++i)
    gradients_.push_back({segment_.gradient(slots[i]).data(), shares[i]});
  parts_ = gradients_;
  interrupted_ = false;
  stopped_ = false;
  thread_ = std::thread([this] { serve(); });
}

void HostUplink::stop() {
  interrupt();
  if (thread_.joinable()) thread_.join();
}

void HostUplink::interrupt() {
  interrupted_ = true;
  segment_.board().announce();
}

void HostUplink::serve() {
  while (bring_iteration(segment_.board().iteration())) {
  }
  stopped_ = true;
  segment_.board().announce();  // wakes the worker of this uplink, which notices the end
}

bool HostUplink::bring_iteration(std::uint64_t iteration) {
  ChunkBoard& board = segment_.board();
  connection_.begin(iteration);
  for (std::uint32_t brought = 0; brought < segment_.layout().chunk_count();) {
    if (interrupted_) return false;
    if (const auto chunk = board.take(iteration)) {
      sum(*chunk);
      const ChunkRange range = segment_.layout().range(*chunk);
      connection_.gradient_ready(range.first, range.last());
      ++brought;
    } else {
      board.sleep_unless([&] { return board.waiting_chunks() > 0 || interrupted_; },
                         kUplinkSleepSeconds);
    }
  }
  const auto result = connection_.finish();
  if (!result) return false;
  for (std::uint32_t chunk = 0; chunk < segment_.layout().chunk_count(); ++chunk) {
    segment_.sqr_norm(chunk) = chunk == 0 ? result->global_gradient_sqr_norm : 0.0;
    board.finish(iteration);
  }
  return true;
}

void HostUplink::sum(std::uint32_t chunk) {
  const ChunkRange range = segment_.layout().range(chunk);
  for (std::size_t k = 0; k < gradients_.size(); ++k)
    parts_[k].gradient = gradients_[k].gradient + range.first;
  reducer_.sum(parts_, segment_.gradient(kSumSlot).subspan(range.first, range.size),
               segment_.rank_sqr_norms(chunk).first(parts_.size()));
}

}  // namespace scavenger::ps
