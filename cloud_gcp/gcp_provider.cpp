#include "cloud_gcp/gcp_provider.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cloud_gcp/embedded_text.h"
#include "cloud_gcp/identity.h"
#include "cloud_gcp/sealed_ticket.h"
#include "runtime/base/log.h"

namespace scavenger::gcp {
namespace {

constexpr double kBillingMinimumSeconds = 60.0;
constexpr int kDisposalTries = 20;
constexpr int kSweepRounds = 10;
constexpr double kTicketSeconds = 1.0;  // between two looks for a VM's certificate

RefusalKind kind_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::kStockOut:
      return RefusalKind::kCapacity;
    case FaultKind::kQuota:
      return RefusalKind::kQuota;
    case FaultKind::kRate:
      return RefusalKind::kRate;
    case FaultKind::kInvalid:
    case FaultKind::kNotFound:
    case FaultKind::kExists:
      return RefusalKind::kInvalid;
    case FaultKind::kPermission:
    case FaultKind::kCredentials:
      return RefusalKind::kPermission;
    case FaultKind::kNotReady:
    case FaultKind::kUnreachable:
    case FaultKind::kUncertain:
      return RefusalKind::kUnreachable;
  }
  return RefusalKind::kUnreachable;
}

// No other zone or type will do.
bool is_hopeless(const CloudFault& fault) {
  return fault.kind == FaultKind::kPermission || fault.kind == FaultKind::kCredentials;
}

Provisioning provisioning_of(bool spot) {
  return spot ? Provisioning::kSpot : Provisioning::kOnDemand;
}

}  // namespace

GcpProvider::GcpProvider(asio::io_context& io, GcpSettings settings, const std::string& job_name,
                         const std::filesystem::path& state_folder, const Clock& clock)
    : Lessor(io),
      settings_(std::move(settings)),
      job_name_(job_name),
      clock_(clock),
      prices_(price_catalog(settings_)),
      http_(io),
      tokens_(find_credentials(settings_.credentials, http_, clock)),
      ledger_(state_folder, job_name),
      random_(random_seed(), "names in the cloud"),
      controller_address_(settings_.controller_address) {
  make_offers("", true);  // whether all have a price
}

GcpProvider::~GcpProvider() = default;

std::optional<MachinePrice> GcpProvider::price(const std::string& type, bool spot) const {
  try {
    const std::vector<Offer> offers = make_offers(type, spot);
    return price_of(offers.front());
  } catch (const InputError&) {
    return std::nullopt;
  }
}

MachinePrice GcpProvider::price_of(const Offer& offer) const {
  const std::string region = region_of_zone(offer.zone);
  return {.per_hour = offer.dollars_per_hour,
          .on_demand_per_hour =
              prices_.per_hour(offer.machine_type, region, Provisioning::kOnDemand, settings_.gpus),
          .minimum_seconds = kBillingMinimumSeconds,
          .source = "catalog of " + prices_.as_of()};
}

std::vector<Offer> GcpProvider::make_offers(const std::string& type, bool spot) const {
  const std::vector<std::string> types =
      type.empty() ? settings_.machine_types : std::vector<std::string>{type};
  return price_offers(prices_, settings_.zones, types, provisioning_of(spot), settings_.gpus);
}

OfferChoice& GcpProvider::offers_for(const std::string& type, bool spot) {
  const std::string key = type + (spot ? " spot" : " on demand");
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
  if (place.project.empty())
    place.project = co_await project_of_credentials(settings_.credentials, http_);
  if (place.project.empty())
    throw MachineRefused({RefusalKind::kInvalid,
                          {.what = "the project is not known",
                           .where = "provider.project",
                           .remedy = "write the project's id there"},
                          std::nullopt});
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
  asio::co_spawn(io(), watch(), asio::detached);
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

// ---- One machine. ----

awaitable<Machine> GcpProvider::obtain(MachineId id, const MachineRequest& request) {
  OfferChoice& offers = offers_for(request.type, request.spot);
  const double give_up = clock_.now_seconds() + settings_.wait_seconds;
  while (is_wanted(id)) {
    const double now = clock_.now_seconds();
    const std::optional<Offer> offer = offers.next(now);
    if (offer) {
      std::optional<Machine> machine = co_await take(id, request, *offer, offers);
      if (machine) co_return std::move(*machine);
      continue;
    }
    const std::optional<double> again = offers.next_time();
    if (!again || *again > give_up)
      throw MachineRefused(
          {again ? RefusalKind::kCapacity : RefusalKind::kInvalid,
           {.what = "no VM is to be had: " + offers.story(),
            .where = fmt::format("Compute Engine, project {}", client_->place().project),
            .remedy =
                "name more zones or machine types in the provider section, or use VMs on demand"},
           again ? std::optional(*again - now) : std::nullopt});
    co_await pause(id, *again - now);
  }
  throw MachineRefused({RefusalKind::kUnreachable,
                        {.what = "not wanted any more", .where = "Compute Engine", .remedy = {}},
                        std::nullopt});
}

VmOrder GcpProvider::order_of(const Vm& vm, const MachineRequest& request) const {
  VmOrder order;
  order.name = vm.name;
  order.zone = vm.offer.zone;
  order.machine_type = vm.offer.machine_type;
  order.provisioning = provisioning_of(vm.is_spot);
  order.gpus = settings_.gpus;
  order.disk = settings_.disk;
  order.network = settings_.network;
  order.service_account = settings_.service_account;
  order.labels = vm_labels(ledger_.job_id(), "worker", request.worker);
  order.metadata = {{"startup-script", gcp_startup_text()},
                    {"scavenger-endpoint", client_->place().endpoint},
                    {"scavenger-programs", settings_.programs},
                    {"enable-guest-attributes", "TRUE"}};
  order.max_run_seconds = static_cast<std::uint64_t>(settings_.max_run_seconds);
  order.preemption_notice_seconds = static_cast<std::uint64_t>(settings_.preemption_notice_seconds);
  return order;
}

awaitable<std::optional<Machine>> GcpProvider::take(MachineId id, MachineRequest request,
                                                    Offer offer, OfferChoice& offers) {
  Vm vm;
  vm.name = vm_name(ledger_.job_id(), "worker", request.worker,
                    static_cast<std::uint32_t>(random_.bits()));
  vm.offer = offer;
  vm.is_spot = request.spot;
  vms_[id] = vm;
  const std::string request_name = request_id(random_);
  ledger_.note(vm.name, offer.zone, VmStep::kCreate, request_name);
  const ChangeResult result = co_await client_->insert(order_of(vm, request), request_name);
  std::optional<Instance> instance;
  CloudFault fault = result.fault.value_or(CloudFault{});
  if (result.outcome == Outcome::kDone) {
    try {
      instance = co_await client_->find(offer.zone, vm.name);
    } catch (const CloudError& error) {
      fault = error.fault();
    }
    if (!instance && fault.message.empty()) {
      fault.kind = FaultKind::kStockOut;
      fault.message = "the VM was taken away before it was ready";
    }
  }
  if (instance && instance->state != VmState::kLeaving && instance->state != VmState::kStopped) {
    ledger_.note(vm.name, offer.zone, VmStep::kCreated);
    offers.granted(offer);
    vms_[id].is_ready = true;
    asio::co_spawn(io(), hand_over_ticket(id, vm, request.ticket), asio::detached);
    co_return machine_of(vm, *instance);
  }
  vms_.erase(id);
  const bool is_settled = result.outcome == Outcome::kRefused && !result.may_still_come;
  if (is_settled)
    ledger_.note(vm.name, offer.zone, VmStep::kAbsent);
  else
    dispose(offer.zone, vm.name, result.outcome != Outcome::kDone);
  note_refusal(id, offer, fault, offers);
  co_return std::nullopt;
}

awaitable<void> GcpProvider::hand_over_ticket(MachineId id, Vm vm, std::string ticket) {
  while (is_wanted(id)) {
    try {
      const auto certificate =
          co_await client_->guest_attribute(vm.offer.zone, vm.name, "scavenger/certificate");
      if (certificate) {
        std::string sealed = seal(ticket, *certificate);
        co_await client_->add_metadata(vm.offer.zone, vm.name, "scavenger-ticket",
                                       std::move(sealed));
        co_return;
      }
    } catch (const Error& error) {
      log_warning("VM {} in {} has no ticket yet: {}", vm.name, vm.offer.zone, error.what());
    }
    co_await pause(id, kTicketSeconds);
  }
}

void GcpProvider::note_refusal(MachineId id, const Offer& offer, const CloudFault& fault,
                               OfferChoice& offers) {
  const Refusal refusal = refusal_of(fault, offer);
  if (is_hopeless(fault)) throw MachineRefused(refusal);
  offers.refused(offer, fault, clock_.now_seconds());
  tell_delayed(id, refusal);
}

Refusal GcpProvider::refusal_of(const CloudFault& fault, const Offer& offer) const {
  std::string where = "zone " + offer.zone;
  if (!offer.machine_type.empty()) where += ", " + offer.machine_type;
  const bool may_pass = !is_hopeless(fault) && fault.kind != FaultKind::kInvalid &&
                        fault.kind != FaultKind::kNotFound;
  return {kind_of(fault.kind), client_->problem(fault, where),
          may_pass ? std::optional(settings_.cool_down.first_seconds) : std::nullopt, offer.zone,
          offer.machine_type};
}

Machine GcpProvider::machine_of(const Vm& vm, const Instance& instance) const {
  Machine machine;
  machine.name = vm.name;
  machine.type = vm.offer.machine_type;
  machine.zone = vm.offer.zone;
  machine.spot = vm.is_spot;
  machine.cores = std::max(1U, static_cast<unsigned>(prices_.shape(vm.offer.machine_type).vcpus));
  machine.price = price_of(vm.offer);
  machine.address = instance.internal_address;
  machine.starts_worker = true;
  return machine;
}

awaitable<void> GcpProvider::give_back(MachineId id) {
  const auto found = vms_.find(id);
  if (found == vms_.end()) co_return;
  const Vm vm = found->second;
  vms_.erase(found);
  dispose(vm.offer.zone, vm.name, false);
  while (disposals_.contains(vm.name)) co_await rest(settings_.watch_seconds / 10);
}

void GcpProvider::dispose(const std::string& zone, const std::string& vm_name,
                          bool may_still_come) {
  if (!disposals_.emplace(vm_name, zone).second) return;
  asio::co_spawn(io(), dispose_of(zone, vm_name, may_still_come), asio::detached);
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

awaitable<void> GcpProvider::notice_loss(MachineId id, Vm vm) {
  if (!is_wanted(id)) co_return;
  const bool was_taken = co_await client_->was_preempted(vm.offer.zone, vm.name);
  lose(id, was_taken ? "was preempted" : "is gone, and not by preemption");
}

}  // namespace scavenger::gcp
