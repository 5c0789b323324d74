#include "elastic/page/tensorboard_mirror.h"

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <optional>

#include "elastic/events/event_log.h"
#include "elastic/page/tensorboard_log.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"

namespace scavenger::elastic {
namespace {

constexpr auto kPeriod = std::chrono::seconds(2);
constexpr int kMirrorNiceness = 10;

class Copier final {
 public:
  Copier(const std::filesystem::path& run_folder, const std::filesystem::path& folder)
      : log_(run_folder / "events.jsonl"), output_(folder) {}

  void copy_what_is_new() {
    if (!reader_) {
      if (!std::filesystem::exists(log_)) return;
      reader_.emplace(log_);
    }
    while (const auto logged = reader_->next()) output_.add(*logged);
    output_.flush();
  }

 private:
  const std::filesystem::path log_;
  TensorboardLog output_;
  std::optional<EventLogReader> reader_;
};

}  // namespace

TensorboardMirror::TensorboardMirror(const std::filesystem::path& run_folder,
                                     const std::filesystem::path& folder) {
  auto copier = std::make_shared<Copier>(run_folder, folder);
  runner_ = std::thread([this, copier] {
    ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kMirrorNiceness);
    try {
      for (bool is_last = false; !is_last;) {
        {
          std::unique_lock lock(mutex_);
          is_last = ends_.wait_for(lock, kPeriod, [this] { return ending_; });
        }
        copier->copy_what_is_new();
      }
    } catch (const std::exception& error) {  // training is worth more
      log_warning("TensorBoard's events end here: {}", error.what());
    }
  });
}

TensorboardMirror::~TensorboardMirror() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  ends_.notify_one();
  runner_.join();
}

void mirror_to_tensorboard(const std::filesystem::path& run_folder,
                           const std::filesystem::path& folder) {
  Copier(run_folder, folder).copy_what_is_new();
}

}  // namespace scavenger::elastic
