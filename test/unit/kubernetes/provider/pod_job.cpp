#include "test/unit/kubernetes/provider/pod_job.h"

#include <chrono>
#include <utility>

namespace scavenger::kubernetes {

PodJob::PodJob(asio::io_context& io, const KubernetesSettings& settings, const PodJobPlan& plan,
               const std::filesystem::path& folder)
    : plan_(plan), provider_(io, settings, plan.name, folder, clock_), end_(io) {}

void PodJob::start(std::function<void()> done) {
  done_ = std::move(done);
  provider_.begin(*this, [this](std::optional<Refusal> problem) {
    if (problem) {
      message_ = Error(problem->problem).what();
      done_();
      return;
    }
    for (unsigned k = 0; k < plan_.workers; ++k) ask();
  });
}

void PodJob::ask() {
  const MachineId id = next_id_++;
  open_.insert(id);
  provider_.request(id, {.worker = static_cast<std::uint32_t>(id % plan_.workers),
                         .type = {},
                         .spot = plan_.spot,
                         .ticket = "ticket-that-must-not-be-seen"});
}

void PodJob::on_ready(MachineId id, const Machine&) {
  if (!open_.contains(id) || !ready_.insert(id).second)
    breaches_.push_back("ready twice, or after its end");
  if (++leased_ > 1) return;
  end_.expires_after(std::chrono::milliseconds(static_cast<int>(plan_.seconds * 1000)));
  end_.async_wait([this](const boost::system::error_code& error) {
    if (!error) stop();
  });
}

void PodJob::on_refused(MachineId id, const Refusal& refusal) {
  if (open_.erase(id) != 1) breaches_.push_back("refused after its end");
  message_ = Error(refusal.problem).what();
  stop();
}

void PodJob::on_notice(MachineId id, const MachineNotice&) {
  if (!ready_.contains(id)) breaches_.push_back("notice for a machine that is not ready");
  ++notices_;
}

void PodJob::on_lost(MachineId id, const MachineLoss&) {
  if (open_.erase(id) != 1 || ready_.erase(id) != 1) breaches_.push_back("lost, and was not there");
  ++lost_;
  if (!is_ending_) ask();
}

void PodJob::on_released(MachineId id) {
  if (open_.erase(id) != 1) breaches_.push_back("released twice");
  ready_.erase(id);
}

void PodJob::stop() {
  if (std::exchange(is_ending_, true)) return;
  end_.cancel();
  provider_.end([this](std::vector<std::string> left) {
    left_ = std::move(left);
    if (!open_.empty()) breaches_.push_back("ended before all was released");
    done_();
  });
}

void run_to_end(asio::io_context& io, PodJob& job) {
  bool has_ended = false;
  job.start([&has_ended] { has_ended = true; });
  io.restart();
  while (!has_ended && io.run_one() > 0) {
  }
}

}  // namespace scavenger::kubernetes
