#include "cloud_gcp/provider/gcp_provider.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cloud_gcp/api/identity.h"
#include "cloud_gcp/provider/gcp_catalogue.h"
#include "cloud_gcp/provider/offer_check.h"
#include "runtime/base/log.h"
#include "runtime/http/backoff.h"
#include "runtime/net/spawn.h"

namespace scavenger::gcp {
namespace {

constexpr int kDisposalTries = 20;
constexpr int kSweepRounds = 10;
// What is shown of the serial console of a VM that ended by itself.
constexpr int kConsoleBytes = 2000;
constexpr int kConsoleLines = 12;

// Whole lines.
std::string last_lines(std::string text) {
  std::erase(text, '\r');
  while (text.ends_with('\n')) text.pop_back();
  std::size_t begin = text.size();
  for (int lines = 0; lines < kConsoleLines && begin != std::string::npos && begin > 0; ++lines)
    begin = text.rfind('\n', begin - 1);
  return begin == std::string::npos || begin == 0 ? text : text.substr(begin + 1);
}

std::string offers_key(const std::string& type, bool spot) {
  return type + (spot ? " spot" : " on demand");
}

}  // namespace

GcpProvider::GcpProvider(asio::io_context& io, GcpSettings settings, const std::string& job_name,
                         const std::filesystem::path& state_folder, const Clock& clock)
    : Lessor(io),
      settings_(std::move(settings)),
      job_name_(job_name),
      clock_(clock),
      prices_(price_catalog(settings_)),
      catalogue_(gcp_catalogue(settings_, prices_)),
      http_(io),
      tokens_(find_credentials(settings_.credentials, http_, clock)),
      ledger_(state_folder, job_name),
      random_(random_seed(), "names in the cloud"),
      controller_address_(settings_.controller_address) {}

GcpProvider::~GcpProvider() = default;

std::vector<Offer> GcpProvider::make_offers(const std::string& type, bool spot) const {
  const std::vector<std::string> types =
      type.empty() ? settings_.machine_types : std::vector<std::string>{type};
  return price_offers(prices_, settings_.zones, types, provisioning_of(spot), settings_.gpus);
}

OfferChoice& GcpProvider::offers_for(const std::string& type, bool spot) {
  const std::string key = offers_key(type, spot);
  const auto found = offers_.find(key);
  if (found != offers_.end()) return found->second;
  return offers_.emplace(key, OfferChoice(make_offers(type, spot), settings_.cool_down))
      .first->second;
}

std::set<std::string> GcpProvider::all_zones() const {
  std::set<std::string> zones(settings_.zones.begin(), settings_.zones.end());
  for (const std::string& zone : ledger_.zones()) zones.insert(zone);
  return zones;
}

// ---- Begin and end. ----

awaitable<void> GcpProvider::open() {
  ComputePlace place = settings_.place;
  std::optional<Problem> problem;
  try {
    place.project = co_await check_account(place.project, settings_.credentials, *tokens_, http_);
  } catch (const InputError& error) {
    problem = error.problem();
  }
  if (problem) throw MachineRefused({RefusalKind::kInvalid, *problem, std::nullopt});
  client_ = std::make_unique<ComputeClient>(place, settings_.patience, http_, *tokens_, clock_);
  log_info("Compute Engine: project {}, as {}, job {}", place.project, tokens_->description(),
           ledger_.job_id());
  co_await find_controller_address();
  // What an earlier process has left: its workers do not know us, so they are of no use.
  for (const LedgerEntry& entry : ledger_.unsettled()) dispose(entry.zone, entry.vm, true);
  for (const std::string& zone : all_zones()) {
    std::optional<CloudFault> fault;
    try {
      co_await look_at(zone);
    } catch (const CloudError& error) {
      fault = error.fault();
    }
    if (fault) throw MachineRefused(refusal_of(*fault, {zone, "", 0.0}));
  }
  co_await check();
  spawn(io(), watch());
}

// What can never be had is told before anything is rented.
awaitable<void> GcpProvider::check() {
  VmDemand demand;
  demand.is_spot = settings_.spot;
  demand.gpus = settings_.gpus;
  demand.disk = settings_.disk;
  demand.has_external_address = settings_.network.external_address;
  std::optional<Refusal> refusal;
  try {
    std::vector<Offer> offers = make_offers("", settings_.spot);
    offers = co_await check_offers(*client_, prices_, std::move(offers), demand, settings_.workers);
    offers_.emplace(offers_key("", settings_.spot), OfferChoice(offers, settings_.cool_down));
  } catch (const CloudError& error) {
    refusal = refusal_of(error.fault(), {error.problem().where, "", 0.0});
    refusal->problem = error.problem();
  }
  if (refusal) throw MachineRefused(*refusal);
}

awaitable<void> GcpProvider::find_controller_address() {
  if (!controller_address_.empty()) co_return;
  HttpRequest request;
  request.url = metadata_url() + "instance/network-interfaces/0/ip";
  request.headers = {{"Metadata-Flavor", "Google"}};
  request.deadline_seconds = 5.0;
  try {
    const HttpReply reply = co_await http_.send(std::move(request));
    if (reply.status == 200) controller_address_ = reply.body;
  } catch (const HttpError&) {  // not on a VM: cluster.listen_address counts
  }
}

awaitable<std::vector<std::string>> GcpProvider::close() {
  std::vector<std::string> left;
  for (int round = 0; round < kSweepRounds; ++round) {
    while (!disposals_.empty()) co_await rest(settings_.watch_seconds / 4);
    left.clear();
    for (const std::string& zone : all_zones()) {
      std::vector<Instance> found;
      try {
        found = co_await client_->list(zone, job_filter(ledger_.job_id()));
      } catch (const CloudError& error) {
        left.push_back(fmt::format("zone {} ({})", zone, error.problem().what));
      }
      for (const Instance& instance : found) {
        left.push_back(instance.name);
        dispose(zone, instance.name, false);
      }
    }
    if (left.empty()) break;
  }
  is_closing_ = true;
  co_return left;
}

// ---- The end of one machine. ----

awaitable<void> GcpProvider::give_back(MachineId id) {
  const auto found = vms_.find(id);
  if (found == vms_.end()) co_return;
  const Vm vm = found->second;
  vms_.erase(found);
  dispose(vm.offer.zone, vm.name, false);
  if (vm.is_ready && vm.is_spot) {
    const bool was_taken = co_await note_life(vm);
    if (was_taken) judge(id, {"was preempted"});
  }
  while (disposals_.contains(vm.name)) co_await rest(settings_.watch_seconds / 10);
}

void GcpProvider::dispose(const std::string& zone, const std::string& vm_name,
                          bool may_still_come) {
  if (!disposals_.emplace(vm_name, zone).second) return;
  spawn(io(), dispose_of(zone, vm_name, may_still_come));
}

awaitable<void> GcpProvider::dispose_of(std::string zone, std::string vm_name,
                                        bool may_still_come) {
  Backoff backoff(settings_.patience.backoff);
  for (int i = 0; i < kDisposalTries; ++i) {
    const std::string request_name = request_id(random_);
    ledger_.note(vm_name, zone, VmStep::kDelete, request_name);
    const ChangeResult result = co_await client_->remove(zone, vm_name, request_name);
    const bool is_gone = result.outcome == Outcome::kDone;
    if (is_gone && !may_still_come) {
      ledger_.note(vm_name, zone, VmStep::kDeleted);
      break;
    }
    if (is_gone) {
      may_still_come = false;
      co_await rest(settings_.settle_seconds);
      continue;
    }
    log_warning("VM {} in {} could not be deleted yet: {}", vm_name, zone, result.fault->message);
    if (is_hopeless(*result.fault)) break;
    co_await rest(backoff.next_seconds(random_));
  }
  disposals_.erase(vm_name);
}

// ---- What became of them. ----

bool GcpProvider::is_known(const std::string& vm_name) const {
  return disposals_.contains(vm_name) ||
         std::any_of(vms_.begin(), vms_.end(),
                     [&](const auto& item) { return item.second.name == vm_name; });
}

awaitable<void> GcpProvider::watch() {
  while (!is_closing_) {
    co_await rest(settings_.watch_seconds);
    for (const std::string& zone : all_zones()) {
      try {
        co_await look_at(zone);
      } catch (const ConnectionError& error) {
        log_warning("cannot see the VMs in {}: {}", zone, error.what());
      }
    }
  }
}

awaitable<void> GcpProvider::look_at(std::string zone) {
  std::map<MachineId, Vm> watched;
  for (const auto& [id, vm] : vms_)
    if (vm.is_ready && vm.offer.zone == zone) watched[id] = vm;
  const std::vector<Instance> found = co_await client_->list(zone, job_filter(ledger_.job_id()));
  for (const Instance& instance : found) {
    const bool is_here = instance.state == VmState::kComing || instance.state == VmState::kRunning;
    if (is_here)
      std::erase_if(watched, [&](const auto& item) { return item.second.name == instance.name; });
    if (is_here && !is_known(instance.name)) {
      log_warning("VM {} in {} is nobody's: deleting it", instance.name, zone);
      dispose(zone, instance.name, false);
    }
  }
  for (const auto& [id, vm] : watched) co_await notice_loss(id, vm);
}

// A VM that is returned since it had notice would have been taken away moments later.
awaitable<bool> GcpProvider::note_life(Vm vm) {
  const double seconds = clock_.now_seconds() - vm.asked_seconds;
  bool was_taken = false;
  try {
    was_taken = co_await client_->was_preempted(vm.offer.zone, vm.name);
  } catch (const Error& error) {
    log_warning("it is not known whether VM {} was preempted: {}", vm.name, error.what());
  }
  lives_.add(vm.offer, seconds, was_taken);
  co_return was_taken;
}

awaitable<void> GcpProvider::notice_loss(MachineId id, Vm vm) {
  if (!is_wanted(id)) co_return;
  const bool was_taken = co_await client_->was_preempted(vm.offer.zone, vm.name);
  if (was_taken) {
    if (vm.is_spot) lives_.add(vm.offer, clock_.now_seconds() - vm.asked_seconds, true);
    lose(id, {"was preempted"});
    co_return;
  }
  // It has ended by itself, and while that goes on it still tells why.
  std::string console;
  try {
    console = co_await client_->console_end(vm.offer.zone, vm.name, kConsoleBytes);
  } catch (const CloudError& error) {
    log_warning("the serial console of VM {} cannot be read: {}", vm.name, error.what());
  }
  lose(id, {.how = "is gone, and not by preemption",
            .was_taken = false,
            .last_words = last_lines(console)});
}

}  // namespace scavenger::gcp
