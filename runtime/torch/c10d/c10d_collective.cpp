#include <ATen/ops/from_blob.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <utility>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/base/error.h"
#include "runtime/torch/c10d/c10d.h"
#include "runtime/torch/c10d/c10d_backend.h"
#include "runtime/torch/c10d/new_sockets.h"

namespace scavenger {
namespace {

using BackendPointer = c10::intrusive_ptr<c10d::Backend>;

// Period of polling a GPU's work, which cannot wake a thread. It is almost as fast as spinning, and
// lets other threads run.
constexpr auto kPollPeriod = std::chrono::microseconds(20);

[[noreturn]] void give_up(std::string what) {
  throw ConnectionError({.what = std::move(what), .where = "all-reduce", .remedy = {}});
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

// Connects on a separate thread, since c10d's connecting cannot be interrupted: a caller that stops
// waiting lets it end by itself.
class Connecting final {
 public:
  Connecting(C10dOptions options, SyncGroup group)
      : options_(std::move(options)), group_(std::move(group)), thread_([this] { run(); }) {}
  // Waits until c10d has given up.
  ~Connecting() { thread_.join(); }

  void abandon() {
    const std::lock_guard lock(mutex_);
    abandoned_ = true;
    changed_.notify_all();
  }
  // Throws ConnectionError.
  BackendPointer wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ended_ || abandoned_; });
    if (abandoned_) give_up("interrupted");
    if (!backend_) give_up(problem_);
    return std::move(backend_);
  }
  bool ended() {
    const std::lock_guard lock(mutex_);
    return ended_;
  }

 private:
  void run() {
    BackendPointer backend;
    std::string problem;
    try {
      backend = connect();
    } catch (const std::exception& error) {
      problem = first_line(error.what());
    }
    const std::lock_guard lock(mutex_);
    if (!abandoned_) backend_ = std::move(backend);
    problem_ = std::move(problem);
    ended_ = true;
    changed_.notify_all();
  }

  BackendPointer connect() const {
    const ShardAddress& place = group_.shards.at(0);
    c10d::TCPStoreOptions store_options;
    store_options.port = place.port;
    store_options.waitWorkers = false;
    store_options.timeout =
        std::chrono::milliseconds(static_cast<std::int64_t>(options_.connect_seconds * 1000.0));
    const C10dPlace mine{c10::make_intrusive<c10d::PrefixStore>(
                             options_.key_prefix + "/" + std::to_string(group_.membership.epoch),
                             c10::make_intrusive<c10d::TCPStore>(place.host, store_options)),
                         static_cast<int>(group_.rank),
                         static_cast<int>(group_.membership.workers())};
    return options_.backend == SyncStrategy::kGloo ? connect_gloo(mine, options_)
                                                   : connect_nccl(mine, options_);
  }

  const C10dOptions options_;
  const SyncGroup group_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool abandoned_ = false;
  bool ended_ = false;
  BackendPointer backend_;
  std::string problem_;
  std::thread thread_;  // last, since it uses all the others
};

class C10dCollective final : public Collective {
 public:
  explicit C10dCollective(const C10dOptions& options)
      : options_(options),
        device_(options.backend == SyncStrategy::kGloo
                    ? at::Device(at::kCPU)
                    : at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(options.gpu))) {}
  ~C10dCollective() override { leave(); }

  void join(const SyncGroup& group) override;
  void leave() override;
  void begin_sum(std::span<float> values) override;
  void finish_sum() override;
  void broadcast(std::span<float> values, std::uint32_t source) override;
  void interrupt() override;
  void allow() override;

 private:
  using WorkPointer = c10::intrusive_ptr<c10d::Work>;

  void cut();  // requires mutex_
  std::vector<at::Tensor> tensor_of(std::span<float> values) const;
  template <typename Begin>
  WorkPointer begin(const Begin& operation);
  void finish(const WorkPointer& work);

  const C10dOptions options_;
  const at::Device device_;

  // State of the group; there is no backend if the group has one worker.
  std::uint32_t size_ = 0;
  std::deque<WorkPointer> sums_;
  std::list<std::unique_ptr<Connecting>> abandoned_;

  // Protects what interrupt() accesses from another thread.
  std::mutex mutex_;
  std::condition_variable cut_;
  bool interrupted_ = false;
  BackendPointer backend_;
  Connecting* connecting_ = nullptr;
  std::optional<NewSockets> sockets_;  // until the connections are shut down
};

// ---- Groups. ----

void C10dCollective::join(const SyncGroup& group) {
  leave();
  abandoned_.remove_if([](const auto& connecting) { return connecting->ended(); });
  size_ = group.membership.workers();
  std::unique_ptr<Connecting> connecting;
  {
    const std::lock_guard lock(mutex_);
    if (interrupted_) give_up("interrupted");
    if (size_ == 1) return;
    sockets_.emplace();
    connecting = std::make_unique<Connecting>(options_, group);
    connecting_ = connecting.get();
  }
  BackendPointer backend;
  std::exception_ptr failure;
  try {
    backend = connecting->wait();
  } catch (const ConnectionError&) {
    failure = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  connecting_ = nullptr;
  if (!connecting->ended()) abandoned_.push_back(std::move(connecting));
  if (failure) std::rethrow_exception(failure);
  backend_ = std::move(backend);
}

void C10dCollective::leave() {
  BackendPointer backend;
  {
    const std::lock_guard lock(mutex_);
    cut();
    backend = std::move(backend_);
    backend_.reset();
  }
  // Operations that still run fail, since their connections are closed; then their threads end.
  sums_.clear();
  if (backend) backend->shutdown();
}

void C10dCollective::cut() {
  if (connecting_ != nullptr) connecting_->abandon();
  // Only once, since sockets that are opened later belong to workers that connect for the next
  // group.
  if (sockets_) sockets_->shut_down();
  sockets_.reset();
  if (backend_) backend_->abort();
}

void C10dCollective::interrupt() {
  const std::lock_guard lock(mutex_);
  interrupted_ = true;
  cut_.notify_all();
  cut();
}

void C10dCollective::allow() {
  const std::lock_guard lock(mutex_);
  interrupted_ = false;
}

// ---- Operations. ----

std::vector<at::Tensor> C10dCollective::tensor_of(std::span<float> values) const {
  return {at::from_blob(values.data(), {static_cast<std::int64_t>(values.size())},
                        at::TensorOptions().dtype(at::kFloat).device(device_))};
}

template <typename Begin>
C10dCollective::WorkPointer C10dCollective::begin(const Begin& operation) {
  BackendPointer backend;
  {
    const std::lock_guard lock(mutex_);
    if (interrupted_ || !backend_) give_up("interrupted");
    backend = backend_;
  }
  try {
    return operation(*backend);
  } catch (const std::exception& error) {
    give_up(first_line(error.what()));
  }
}

void C10dCollective::finish(const WorkPointer& work) {
  try {
    // NCCL's wait() only makes the GPU's stream wait, and that for ever if a peer is gone.
    while (!device_.is_cpu() && !work->isCompleted()) {
      std::unique_lock lock(mutex_);
      if (cut_.wait_for(lock, kPollPeriod, [this] { return interrupted_; })) give_up("interrupted");
    }
    work->wait();
  } catch (const ConnectionError&) {
    throw;
  } catch (const std::exception& error) {
    give_up(first_line(error.what()));
  }
}

void C10dCollective::begin_sum(std::span<float> values) {
  if (size_ == 1) return;
  sums_.push_back(begin([&](c10d::Backend& backend) {
    auto tensors = tensor_of(values);
    return backend.allreduce(tensors);
  }));
}

void C10dCollective::finish_sum() {
  if (size_ == 1) return;
  SCAVENGER_CHECK(!sums_.empty());
  const WorkPointer first = std::move(sums_.front());
  sums_.pop_front();
  finish(first);
}

void C10dCollective::broadcast(std::span<float> values, std::uint32_t source) {
  if (size_ == 1) return;
  finish(begin([&](c10d::Backend& backend) {
    auto tensors = tensor_of(values);
    c10d::BroadcastOptions options;
    options.rootRank = source;
    return backend.broadcast(tensors, options);
  }));
}

}  // namespace

std::unique_ptr<Collective> make_c10d_collective(const C10dOptions& options) {
  return std::make_unique<C10dCollective>(options);
}

}  // namespace scavenger
