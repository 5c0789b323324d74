// The provider's part that gets machines: alone or several at once, and what each needs to start.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cloud_gcp/api/identity.h"
#include "cloud_gcp/api/sealed_ticket.h"
#include "cloud_gcp/provider/gcp_catalogue.h"
#include "cloud_gcp/provider/gcp_provider.h"
#include "cloud_gcp/provider/startup_text.h"
#include "runtime/base/log.h"
#include "runtime/base/text.h"
#include "runtime/net/spawn.h"

namespace scavenger::gcp {
namespace {

constexpr double kTicketSeconds = 1.0;   // between two looks for a VM's certificate
constexpr double kGatherSeconds = 0.01;  // in which requests are of one moment

// As the startup script reads them.
std::string shell_words(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + shell_quoted(word);
  return text;
}

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

}  // namespace

awaitable<Machine> GcpProvider::obtain(MachineId id, const MachineRequest& request) {
  if (permanent_refusal_) throw MachineRefused(*permanent_refusal_);
  OfferChoice& offers = offers_for(request.type, request.spot);
  const double give_up = clock_.now_seconds() + settings_.wait_seconds;
  std::optional<Machine> machine = co_await take_with_others(id, request, offers);
  while (!machine && is_wanted(id)) {
    const double now = clock_.now_seconds();
    const std::optional<Offer> offer = offers.next(now, request.spot ? &lives_ : nullptr);
    if (offer) {
      machine = co_await take(id, request, *offer, offers);
      continue;
    }
    const std::optional<double> again = offers.next_time();
    if (!again || *again > give_up) throw MachineRefused(refusal_of_all(offers));
    co_await pause(id, *again - now);
  }
  if (machine) co_return std::move(*machine);
  throw MachineRefused({RefusalKind::kUnreachable,
                        {.what = "not wanted any more", .where = "Compute Engine", .remedy = {}},
                        std::nullopt});
}

// While there are VMs, a job goes on with these, and asks for more again. Where there is none, and
// none was to be had for so long, the capacity is gone.
Refusal GcpProvider::refusal_of_all(const OfferChoice& offers) const {
  Refusal refusal;
  const std::optional<double> again = offers.next_time();
  const bool has_vms =
      std::any_of(vms_.begin(), vms_.end(), [](const auto& item) { return item.second.is_ready; });
  refusal.kind = again ? RefusalKind::kCapacity : RefusalKind::kInvalid;
  refusal.problem = {
      .what = "no VM is to be had: " + offers.story(),
      .where = fmt::format("Compute Engine, project {}", client_->place().project),
      .remedy =
          "name more zones or machine types in the provider section, use VMs on demand, or "
          "go on later with --resume"};
  if (again && has_vms) refusal.retry_after_seconds = *again - clock_.now_seconds();
  return refusal;
}

VmOrder GcpProvider::order_of(const Vm& vm) const {
  VmOrder order;
  order.name = vm.name;
  order.zone = vm.offer.zone;
  order.machine_type = vm.offer.machine_type;
  order.provisioning = provisioning_of(vm.is_spot);
  order.gpus = settings_.gpus;
  order.disk = settings_.disk;
  order.network = settings_.network;
  order.service_account = settings_.service_account;
  order.labels = vm_labels(ledger_.job_id(), "worker");
  order.metadata = {{"startup-script", gcp_startup_text()},
                    {"scavenger-endpoint", client_->place().endpoint},
                    {"scavenger-programs", settings_.started.programs},
                    {"scavenger-worker", shell_words(settings_.started.words)},
                    {"enable-guest-attributes", "TRUE"}};
  order.max_run_seconds = static_cast<std::uint64_t>(settings_.max_run_seconds);
  order.preemption_notice_seconds = static_cast<std::uint64_t>(settings_.preemption_notice_seconds);
  return order;
}

GcpProvider::Vm GcpProvider::intend(MachineId id, const MachineRequest& request, const Offer& offer,
                                    const std::string& request_name) {
  Vm vm;
  vm.name = vm_name(ledger_.job_id(), "worker", request.worker,
                    static_cast<std::uint32_t>(random_.bits()));
  vm.offer = offer;
  vm.is_spot = request.spot;
  vm.asked_seconds = clock_.now_seconds();
  ledger_.note(vm.name, offer.zone, VmStep::kCreate, request_name);
  vms_[id] = vm;
  return vm;
}

awaitable<std::optional<Machine>> GcpProvider::take(MachineId id, MachineRequest request,
                                                    Offer offer, OfferChoice& offers) {
  const std::string request_name = request_id(random_);
  VmOrder order = order_of(intend(id, request, offer, request_name));
  ChangeResult result = co_await client_->insert(std::move(order), request_name);
  Settled settled = co_await settle(id, std::move(request.ticket), std::move(result));
  const std::vector<MachineId> ids = {id};
  if (settled.machine)
    offers.granted(offer);
  else
    note_refusal(ids, offer, settled.fault, offers);
  co_return std::move(settled.machine);
}

// The first request waits a moment for others, and then asks for all of them.
awaitable<std::optional<Machine>> GcpProvider::take_with_others(MachineId id,
                                                                MachineRequest request,
                                                                OfferChoice& offers) {
  std::shared_ptr<BulkRequest> bulk = bulk_requests_[&offers];
  const bool leads = bulk == nullptr;
  if (leads) bulk_requests_[&offers] = bulk = std::make_shared<BulkRequest>(io());
  bulk->members[id] = std::move(request);
  if (leads) {
    co_await rest(kGatherSeconds);
    bulk_requests_.erase(&offers);
    try {
      co_await rent_together(bulk, offers);
    } catch (const Error&) {
      bulk->failure = std::current_exception();
    }
    bulk->is_served = true;
    bulk->change.cancel();
  } else if (!bulk->is_served) {
    const auto quietly = asio::as_tuple(use_awaitable);
    co_await bulk->change.async_wait(quietly);
  }
  if (bulk->failure) std::rethrow_exception(bulk->failure);
  const auto found = bulk->machines.find(id);
  if (found == bulk->machines.end()) co_return std::nullopt;
  co_return found->second;
}

awaitable<void> GcpProvider::rent_together(std::shared_ptr<BulkRequest> bulk, OfferChoice& offers) {
  std::erase_if(bulk->members, [this](const auto& member) { return !is_wanted(member.first); });
  if (bulk->members.size() < 2) co_return;
  const bool is_spot = bulk->members.begin()->second.spot;
  const std::optional<Offer> offer = offers.next(clock_.now_seconds(), is_spot ? &lives_ : nullptr);
  if (!offer) co_return;
  const std::string request_name = request_id(random_);
  VmOrder order;
  std::vector<std::string> names;
  for (const auto& [id, request] : bulk->members) {
    order = order_of(intend(id, request, *offer, request_name));
    names.push_back(order.name);
  }
  const ChangeResult result =
      co_await client_->bulk_insert(std::move(order), std::move(names), request_name);
  std::vector<MachineId> missing;
  CloudFault fault;
  for (const auto& [id, request] : bulk->members) {
    Settled settled = co_await settle(id, request.ticket, result);
    if (settled.machine) {
      bulk->machines[id] = std::move(*settled.machine);
      continue;
    }
    missing.push_back(id);
    fault = std::move(settled.fault);
  }
  if (!bulk->machines.empty()) offers.granted(*offer);
  if (!missing.empty()) note_refusal(missing, *offer, fault, offers);
}

awaitable<GcpProvider::Settled> GcpProvider::settle(MachineId id, std::string ticket,
                                                    ChangeResult result) {
  const Vm vm = vms_.at(id);
  Settled settled;
  settled.fault = result.fault.value_or(CloudFault{});
  std::optional<Instance> instance;
  if (result.outcome == Outcome::kDone) {
    try {
      instance = co_await client_->find(vm.offer.zone, vm.name);
    } catch (const CloudError& error) {
      settled.fault = error.fault();
    }
    if (!instance && settled.fault.message.empty()) {
      settled.fault.kind = FaultKind::kStockOut;
      settled.fault.code = "no VM";
      settled.fault.message = "there was no room for it, or it was taken away before it was ready";
    }
  }
  if (instance && instance->state != VmState::kLeaving && instance->state != VmState::kStopped) {
    ledger_.note(vm.name, vm.offer.zone, VmStep::kCreated);
    vms_[id].is_ready = true;
    spawn(io(), hand_over_ticket(id, vm, std::move(ticket)));
    settled.machine = machine_of(vm, *instance);
    co_return settled;
  }
  vms_.erase(id);
  const bool is_absent =
      result.outcome == Outcome::kRefused && !result.may_still_come && !result.may_be_partial;
  const bool may_still_come = result.outcome == Outcome::kUncertain || result.may_still_come;
  if (is_absent)
    ledger_.note(vm.name, vm.offer.zone, VmStep::kAbsent);
  else
    dispose(vm.offer.zone, vm.name, may_still_come);
  co_return settled;
}

awaitable<void> GcpProvider::hand_over_ticket(MachineId id, Vm vm, std::string ticket) {
  while (is_wanted(id)) {
    std::optional<CloudFault> fault;
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
      if (const auto* refused = dynamic_cast<const CloudError*>(&error)) fault = refused->fault();
    }
    if (fault && is_hopeless(*fault)) {  // nor will any other VM have one
      permanent_refusal_ = refusal_of(*fault, vm.offer);
      lose(id, {"cannot be given its ticket"});
      co_return;
    }
    co_await pause(id, kTicketSeconds);
  }
}

void GcpProvider::note_refusal(const std::vector<MachineId>& ids, const Offer& offer,
                               const CloudFault& fault, OfferChoice& offers) {
  const Refusal refusal = refusal_of(fault, offer);
  if (is_hopeless(fault)) throw MachineRefused(refusal);
  offers.refused(offer, fault, clock_.now_seconds());
  for (const MachineId id : ids) tell_delayed(id, refusal);
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
  machine.price = vm_price(vm.offer, settings_, prices_);
  machine.charged_seconds = charged_seconds(vm.asked_seconds, clock_.now_seconds(), instance);
  machine.address = instance.internal_address;
  machine.starts_worker = true;
  return machine;
}

}  // namespace scavenger::gcp
