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

class GlooWork final : public LinkWork {
 public:
  explicit GlooWork(c10::intrusive_ptr<c10d::Work> work) : work_(std::move(work)) {}
  // Gloo ends an operation when the connections are cut, but one that was about to send just then
  // may be lost: it waits until its own limit, for minutes.
  void wait(const StillWanted& wanted) override {
    while (!returns_soon() && wanted()) {
    }
    if (!work_->isCompleted()) throw std::runtime_error("the operation is not wanted any more");
    work_->wait();  // it throws what has failed
  }

 private:
  // Whether it has ended, after a short wait for it.
  bool returns_soon() const {
    constexpr auto kLook = std::chrono::milliseconds(100);
    try {
      work_->wait(kLook);
    } catch (const std::exception&) {
      // Its own failure, or that it goes on.
    }
    return work_->isCompleted();
  }

  const c10::intrusive_ptr<c10d::Work> work_;
};

class GlooLink final : public Link {
 public:
  GlooLink(c10::intrusive_ptr<c10d::ProcessGroupGloo> backend, std::shared_ptr<GlooSockets> sockets)
      : backend_(std::move(backend)), sockets_(std::move(sockets)) {}

  std::unique_ptr<LinkWork> begin_sum(std::span<float> values, const StillWanted&) override {
    auto tensors = tensor_of(values);
    return std::make_unique<GlooWork>(backend_->allreduce(tensors));
  }
  std::unique_ptr<LinkWork> begin_broadcast(std::span<float> values, std::uint32_t source,
                                            const StillWanted&) override {
    auto tensors = tensor_of(values);
    c10d::BroadcastOptions options;
    options.rootRank = source;
    return std::make_unique<GlooWork>(backend_->broadcast(tensors, options));
  }
  // Operations that still run fail, since their connections are closed; then their threads end.
  void end(LinkEnd how) noexcept override {
    if (how == LinkEnd::kAbort) sockets_->cut();
    try {
      if (how == LinkEnd::kAbort) backend_->abort();
      backend_->shutdown();
    } catch (const std::exception&) {
      // Gloo has noticed already that the connections are closed.
    }
  }

 private:
  static std::vector<at::Tensor> tensor_of(std::span<float> values) {
    return {at::from_blob(values.data(), {static_cast<std::int64_t>(values.size())}, at::kFloat)};
  }

  const c10::intrusive_ptr<c10d::ProcessGroupGloo> backend_;
  const std::shared_ptr<GlooSockets> sockets_;
};

class GlooAttempt final : public LinkAttempt {
 public:
  GlooAttempt(SyncGroup group, C10dOptions options)
      : group_(std::move(group)), options_(std::move(options)) {}

  void abandon() override { sockets_->cut(); }
  std::shared_ptr<Link> connect() override {
    auto settings =
        c10d::ProcessGroupGloo::Options::create(milliseconds_of(options_.connect_seconds));
    settings->devices = {c10d::ProcessGroupGloo::createDeviceForHostname(options_.address)};
    auto backend = c10::make_intrusive<c10d::ProcessGroupGloo>(
        store_of(group_, options_), static_cast<int>(group_.rank),
        static_cast<int>(group_.membership.workers()), std::move(settings));
    backend->setTimeout(milliseconds_of(options_.operation_seconds));
    return std::make_shared<GlooLink>(std::move(backend), sockets_);
  }

 private:
  const SyncGroup group_;
  const C10dOptions options_;
  const std::shared_ptr<GlooSockets> sockets_ = std::make_shared<GlooSockets>();
};

class GlooConnector final : public Connector {
 public:
  explicit GlooConnector(C10dOptions options) : options_(std::move(options)) {}
  std::unique_ptr<LinkAttempt> prepare(const SyncGroup& group, std::shared_ptr<Link>,
                                       std::uint64_t) override {
    return std::make_unique<GlooAttempt>(group, options_);
  }

 private:
  const C10dOptions options_;
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
