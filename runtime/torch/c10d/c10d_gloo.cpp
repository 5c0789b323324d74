#include "runtime/torch/c10d/c10d_backend.h"

#ifdef USE_C10D_GLOO

#include <ATen/ops/from_blob.h>

#include <chrono>
#include <exception>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <utility>
#include <vector>

#include "runtime/collective/gloo_threads.h"
#include "runtime/torch/c10d/new_sockets.h"

namespace scavenger {
namespace {

// The connections that Gloo has opened for one group. They are cut once at most: sockets that are
// opened later belong to workers that connect for the next group.
class GlooSockets final {
 public:
  void cut() {
    const std::lock_guard lock(mutex_);
    if (sockets_) sockets_->shut_down();
    sockets_.reset();
  }

 private:
  std::mutex mutex_;
  std::optional<NewSockets> sockets_{std::in_place};
};

using Works = std::vector<c10::intrusive_ptr<c10d::Work>>;

// Waits for a short time. Returns whether it has ended, well or not.
bool ends_soon(c10d::Work& work) {
  constexpr auto kLook = std::chrono::milliseconds(100);
  try {
    work.wait(kLook);
  } catch (const std::exception&) {
    // Its own failure, or that it goes on.
  }
  return work.isCompleted();
}

void remove_completed(Works& works) {
  std::erase_if(works, [](const auto& work) { return work->isCompleted(); });
}

class GlooWork final : public LinkWork {
 public:
  explicit GlooWork(c10::intrusive_ptr<c10d::Work> work) : work_(std::move(work)) {}
  // Gloo ends an operation when the connections are cut, but may lose one (gloo_threads.h).
  void wait(const StillWanted& wanted) override {
    while (!ends_soon(*work_) && wanted()) {
    }
    if (!work_->isCompleted()) throw std::runtime_error("the operation is not wanted any more");
    work_->wait();  // it throws what has failed
  }

 private:
  const c10::intrusive_ptr<c10d::Work> work_;
};

// The operations of a group that have not ended yet. Thread: any.
class BegunWorks final {
 public:
  void add(const c10::intrusive_ptr<c10d::Work>& work) {
    const std::lock_guard lock(mutex_);
    remove_completed(works_);
    works_.push_back(work);
  }
  Works remaining() {
    const std::lock_guard lock(mutex_);
    remove_completed(works_);
    return works_;
  }

 private:
  std::mutex mutex_;
  Works works_;
};

// Groups with operations that Gloo has lost. Their destructors would wait until these fail by their
// own limits. So they are kept until a later loss finds that these have failed, or left to the end
// of the process. Thread: any.
class LostGroups final {
 public:
  LostGroups() = default;
  ~LostGroups() {
    remove_ended();
    for (auto& group : groups_) group.backend.release();
  }
  LostGroups(const LostGroups&) = delete;
  LostGroups& operator=(const LostGroups&) = delete;

  void add(c10::intrusive_ptr<c10d::ProcessGroupGloo> backend, Works lost) {
    const std::lock_guard lock(mutex_);
    remove_ended();
    groups_.push_back({std::move(backend), std::move(lost)});
  }

 private:
  struct Group {
    c10::intrusive_ptr<c10d::ProcessGroupGloo> backend;
    Works lost;
  };

  void remove_ended() {
    std::erase_if(groups_, [](Group& group) {
      remove_completed(group.lost);
      return group.lost.empty();
    });
  }

  std::mutex mutex_;
  std::vector<Group> groups_;
};

class GlooLink final : public Link {
 public:
  GlooLink(c10::intrusive_ptr<c10d::ProcessGroupGloo> backend, std::shared_ptr<GlooSockets> sockets,
           GlooThreads threads, std::shared_ptr<LostGroups> lost)
      : backend_(std::move(backend)),
        sockets_(std::move(sockets)),
        threads_(std::move(threads)),
        lost_(std::move(lost)) {}

  std::unique_ptr<LinkWork> begin_sum(std::span<float> values, const StillWanted&) override {
    auto tensors = tensor_of(values);
    return begun(backend_->allreduce(tensors));
  }
  std::unique_ptr<LinkWork> begin_broadcast(std::span<float> values, std::uint32_t source,
                                            const StillWanted&) override {
    auto tensors = tensor_of(values);
    c10d::BroadcastOptions options;
    options.rootRank = source;
    return begun(backend_->broadcast(tensors, options));
  }
  // Operations that still run fail, since their connections are closed; then their threads end.
  void end(LinkEnd how) noexcept override {
    if (how == LinkEnd::kAbort) sockets_->cut();
    try {
      if (how == LinkEnd::kAbort) {
        backend_->abort();
        if (Works lost = works_that_are_lost(); !lost.empty())
          return lost_->add(backend_, std::move(lost));
      }
      backend_->shutdown();
    } catch (const std::exception&) {
      // Gloo has noticed already that the connections are closed.
    }
  }

 private:
  std::unique_ptr<LinkWork> begun(c10::intrusive_ptr<c10d::Work> work) {
    works_.add(work);
    return std::make_unique<GlooWork>(std::move(work));
  }
  // Returns when no operation accesses memory any more.
  Works works_that_are_lost() {
    ThreadStatuses earlier = threads_of_process();
    Works works = works_.remaining();
    while (!works.empty()) {
      if (!ends_soon(*works.front())) {
        ThreadStatuses later = threads_of_process();
        if (threads_.rested(earlier, later)) return works_.remaining();
        earlier = std::move(later);
      }
      works = works_.remaining();
    }
    return works;
  }
  static std::vector<at::Tensor> tensor_of(std::span<float> values) {
    return {at::from_blob(values.data(), {static_cast<std::int64_t>(values.size())}, at::kFloat)};
  }

  const c10::intrusive_ptr<c10d::ProcessGroupGloo> backend_;
  const std::shared_ptr<GlooSockets> sockets_;
  const GlooThreads threads_;
  const std::shared_ptr<LostGroups> lost_;
  BegunWorks works_;
};

class GlooAttempt final : public LinkAttempt {
 public:
  GlooAttempt(SyncGroup group, C10dOptions options, std::shared_ptr<LostGroups> lost)
      : group_(std::move(group)), options_(std::move(options)), lost_(std::move(lost)) {}

  void abandon() override { sockets_->cut(); }
  std::shared_ptr<Link> connect() override {
    auto settings =
        c10d::ProcessGroupGloo::Options::create(milliseconds_of(options_.connect_seconds));
    auto store = store_of(group_, options_);
    GlooThreads threads;
    settings->devices = {c10d::ProcessGroupGloo::createDeviceForHostname(options_.address)};
    auto backend = c10::make_intrusive<c10d::ProcessGroupGloo>(
        std::move(store), static_cast<int>(group_.rank),
        static_cast<int>(group_.membership.workers()), std::move(settings));
    backend->setTimeout(milliseconds_of(options_.operation_seconds));
    threads.take_started();
    return std::make_shared<GlooLink>(std::move(backend), sockets_, std::move(threads), lost_);
  }

 private:
  const SyncGroup group_;
  const C10dOptions options_;
  const std::shared_ptr<LostGroups> lost_;
  const std::shared_ptr<GlooSockets> sockets_ = std::make_shared<GlooSockets>();
};

class GlooConnector final : public Connector {
 public:
  explicit GlooConnector(C10dOptions options) : options_(std::move(options)) {}
  std::unique_ptr<LinkAttempt> prepare(const SyncGroup& group, std::shared_ptr<Link>,
                                       std::uint64_t) override {
    return std::make_unique<GlooAttempt>(group, options_, lost_);
  }

 private:
  const C10dOptions options_;
  const std::shared_ptr<LostGroups> lost_ = std::make_shared<LostGroups>();
};

}  // namespace

std::unique_ptr<Connector> make_gloo_connector(const C10dOptions& options) {
  return std::make_unique<GlooConnector>(options);
}

}  // namespace scavenger

#else

#include "runtime/base/error.h"

namespace scavenger {

std::unique_ptr<Connector> make_gloo_connector(const C10dOptions&) {
  throw InputError({.what = "this build has no Gloo",
                    .where = "sync.strategy",
                    .remedy = "build with the LibTorch that scripts/setup.sh installs"});
}

}  // namespace scavenger

#endif
