#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <utility>

#include "runtime/base/clock.h"
#include "runtime/collective/group_collective.h"
#include "runtime/collective/nccl_link.h"
#include "runtime/torch/c10d/c10d.h"
#include "runtime/torch/c10d/c10d_backend.h"

namespace scavenger {
namespace {

// A communicator whose peers do not finalise it as well is aborted after this.
constexpr double kFinaliseSeconds = 2.0;
// Gloo only closes sockets at the end. If that takes longer, its event loop spins on one of them,
// and the worker is replaced.
constexpr double kGlooEndSeconds = 5.0;

class C10dStore final : public MeetingStore {
 public:
  explicit C10dStore(c10::intrusive_ptr<c10d::Store> store) : store_(std::move(store)) {}

  void set(const std::string& key, const std::string& value) override {
    store_->set(key, std::vector<std::uint8_t>(value.begin(), value.end()));
  }
  bool has(const std::string& key) override { return store_->check({key}); }
  std::string get(const std::string& key) override {
    const std::vector<std::uint8_t> value = store_->get(key);
    return {value.begin(), value.end()};
  }

 private:
  const c10::intrusive_ptr<c10d::Store> store_;
};

}  // namespace

std::chrono::milliseconds milliseconds_of(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000.0));
}

c10::intrusive_ptr<c10d::Store> store_of(const SyncGroup& group, const C10dOptions& options) {
  const ShardAddress& place = group.shards.at(0);
  c10d::TCPStoreOptions store_options;
  store_options.port = place.port;
  store_options.waitWorkers = false;
  store_options.timeout = milliseconds_of(options.connect_seconds);
  return c10::make_intrusive<c10d::PrefixStore>(
      options.key_prefix + "/" + std::to_string(group.membership.epoch),
      c10::make_intrusive<c10d::TCPStore>(place.host, store_options));
}

std::unique_ptr<Collective> make_c10d_collective(const C10dOptions& options) {
  static const SteadyClock clock;
  std::unique_ptr<Connector> connector;
  if (options.backend == SyncStrategy::kGloo) {
    connector = make_gloo_connector(options);
  } else {
    const auto open_store = [options](const SyncGroup& group) {
      return std::make_unique<C10dStore>(store_of(group, options));
    };
    connector = std::make_unique<NcclConnector>(make_nccl_calls(options.gpu), open_store, clock,
                                                kFinaliseSeconds);
  }
  GroupLimits limits{.connect_seconds = options.connect_seconds,
                     .operation_seconds = options.operation_seconds};
  if (options.backend == SyncStrategy::kGloo) limits.end_seconds = kGlooEndSeconds;
  return std::make_unique<GroupCollective>(std::move(connector), clock, limits);
}

}  // namespace scavenger
