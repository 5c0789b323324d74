#include "test/unit/cloud_gcp/provider/rented_job.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace scavenger::gcp {
namespace {

constexpr double kLookSeconds = 0.05;
// Of the cloud's time: what a VM may still be charged for after we have let it go.
constexpr double kReserveSeconds = 900.0;

GcpSettings settings_for(GcpSettings settings, const RentedJobPlan& plan) {
  settings.workers = plan.workers;
  settings.spot = plan.spot;
  return settings;
}

}  // namespace

RentedJob::RentedJob(asio::io_context& io, const GcpSettings& settings, const RentedJobPlan& plan,
                     const std::filesystem::path& folder)
    : io_(io),
      plan_(plan),
      provider_(io, settings_for(settings, plan), plan.name, folder, clock_) {}

void RentedJob::start(std::function<void()> done) {
  done_ = std::move(done);
  provider_.begin(*this, [this](std::optional<Refusal> problem) {
    has_begun_ = true;
    if (problem) {
      end_ = End::kRefused;
      message_ = Error(problem->problem).what();
      done_();
      return;
    }
    for (unsigned k = 0; k < plan_.workers; ++k) ask();
    asio::co_spawn(io_, live(), asio::detached);
  });
}

void RentedJob::ask() {
  const MachineId id = next_id_++;
  open_.insert(id);
  provider_.request(id, {.worker = static_cast<std::uint32_t>(id % plan_.workers),
                         .type = {},
                         .spot = plan_.spot,
                         .ticket = "ticket-that-must-not-be-seen"});
}

void RentedJob::charge(MachineId id) {
  const auto found = rented_now_.find(id);
  if (found == rented_now_.end()) return;
  const double seconds = (clock_.now_seconds() - found->second.since) * plan_.time_scale;
  cost_ += vm_cost(found->second.per_hour, seconds);
  rented_now_.erase(found);
}

double RentedJob::cost_so_far() const {
  double cost = cost_;
  for (const auto& [id, rented] : rented_now_)
    cost += vm_cost(rented.per_hour, (clock_.now_seconds() - rented.since) * plan_.time_scale);
  return cost;
}

void RentedJob::on_ready(MachineId id, const Machine& machine) {
  if (!open_.contains(id) || rented_now_.contains(id))
    breaches_.push_back("ready twice, or after its end");
  rented_now_[id] = {clock_.now_seconds(), machine.price.per_hour};
  has_machine_ = true;
  ++rented_;
}

void RentedJob::on_refused(MachineId id, const Refusal& refusal) {
  if (open_.erase(id) != 1) breaches_.push_back("refused after its end");
  message_ = Error(refusal.problem).what();
  stop(End::kRefused);
}

void RentedJob::on_lost(MachineId id, const MachineLoss&) {
  if (open_.erase(id) != 1 || !rented_now_.contains(id))
    breaches_.push_back("lost, and was not there");
  charge(id);
  ++lost_;
  if (end_ == End::kNone) ask();
}

void RentedJob::on_released(MachineId id) {
  if (open_.erase(id) != 1) breaches_.push_back("released twice");
  charge(id);
}

awaitable<void> RentedJob::live() {
  asio::steady_timer timer(io_);
  const double reserve =
      kReserveSeconds / 3600.0 * plan_.workers * provider_.price("", plan_.spot)->per_hour;
  while (end_ == End::kNone) {
    timer.expires_after(std::chrono::milliseconds(static_cast<int>(kLookSeconds * 1000)));
    co_await timer.async_wait(use_awaitable);
    // Where this process gets little of a processor, it looks more rarely, and so does the
    // provider.
    if (has_machine_) lived_seconds_ += kLookSeconds;
    if (lived_seconds_ >= plan_.seconds) stop(End::kTarget);
    if (cost_so_far() + reserve >= plan_.max_cost) stop(End::kCostLimit);
  }
}

void RentedJob::stop(End end) {
  if (end_ != End::kNone) return;
  end_ = end;
  provider_.end([this](std::vector<std::string> left) {
    left_ = std::move(left);
    if (!open_.empty()) breaches_.push_back("ended before all was released");
    done_();
  });
}

void run_to_end(asio::io_context& io, RentedJob& job) {
  bool has_ended = false;
  job.start([&has_ended] { has_ended = true; });
  io.restart();
  while (!has_ended && io.run_one() > 0) {
  }
}

GcpSettings quick_settings(const std::string& endpoint, double time_scale) {
  GcpSettings settings;
  settings.place = {.endpoint = endpoint, .project = "demo"};
  settings.zones = {"us-central1-a", "us-central1-b"};
  settings.machine_types = {"e2-standard-2", "n2d-standard-2"};
  settings.controller_address = "127.0.0.1";
  settings.started.programs = "/opt/scavenger/bin";
  settings.wait_seconds = 1800.0 / time_scale;
  settings.watch_seconds = 0.2;
  settings.settle_seconds = 60.0 / time_scale;
  settings.cool_down = {.first_seconds = 60.0 / time_scale, .longest_seconds = 300.0 / time_scale};
  settings.patience.backoff = {.initial_seconds = 0.01, .factor = 2.0, .longest_seconds = 0.2};
  settings.patience.call_seconds = 20.0;
  settings.patience.operation_seconds = 30.0;
  settings.patience.read_seconds = 20.0;
  return settings;
}

}  // namespace scavenger::gcp
