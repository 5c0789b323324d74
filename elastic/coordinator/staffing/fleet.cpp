#include "elastic/coordinator/staffing/fleet.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "runtime/base/text.h"

namespace scavenger::elastic {
namespace {

// Of a machine that is not there, and has no name yet.
Machine requested_machine(MachineId id) {
  Machine machine;
  machine.name = fmt::format("request-{}", id);
  return machine;
}

// With where it was asked for.
Machine refused_machine(MachineId id, const Refusal& refusal) {
  Machine machine = requested_machine(id);
  machine.zone = refusal.zone;
  machine.type = refusal.machine_type;
  return machine;
}

}  // namespace

std::string text_of(const Refusal& refusal) {
  return fmt::format("{} ({})", Error(refusal.problem).what(), name_of(refusal.kind));
}

Fleet::Fleet(Provider& provider, LogEvent log, FleetListener& listener, bool spot,
             bool logs_machines)
    : provider_(provider),
      log_event_(std::move(log)),
      listener_(listener),
      spot_(spot),
      logs_machines_(logs_machines) {}

Fleet::~Fleet() = default;

// ---- What the job wants. ----

void Fleet::prefer(std::string machine_type, std::vector<std::string> others) {
  is_beginning_ = preferred_type_.empty();
  preferred_type_ = std::move(machine_type);
  other_types_ = std::move(others);
  next_type_.reset();
}

void Fleet::want(std::uint32_t worker, const std::string& ticket) {
  if (const Machine* const machine = machine_of(worker))
    return listener_.on_machine_ready(worker, *machine);
  if (machines_.contains(worker)) return;  // it was asked for
  WorkerMachine& rented = machines_[worker];
  rented.id = next_id_++;
  Machine requested = requested_machine(rented.id);
  requested.spot = spot_;
  if (!types_.contains(worker)) {
    const bool is_particular = next_type_.has_value();
    types_[worker] = {std::exchange(next_type_, std::nullopt).value_or(preferred_type_),
                      is_particular};
  }
  requested.type = types_.at(worker).name;
  rented.ticket = ticket;
  rented.asked_price = provider_.price(requested.type, spot_).value_or(MachinePrice());
  requested.price = rented.asked_price;
  log(worker, requested, fact::MachineChange::kRequested, {});
  MachineRequest request;
  request.worker = worker;
  request.type = requested.type;
  request.spot = spot_;
  request.ticket = ticket;
  provider_.request(rented.id, request);
}

void Fleet::forget_unless(const std::function<bool(std::uint32_t)>& is_expected) {
  std::erase_if(types_, [&](const auto& entry) { return !is_expected(entry.first); });
}

std::optional<MachineId> Fleet::let_go(std::uint32_t worker, bool is_judged) {
  const auto found = machines_.find(worker);
  if (found == machines_.end()) return std::nullopt;
  const WorkerMachine rented = std::move(found->second);
  machines_.erase(found);
  Machine requested = requested_machine(rented.id);
  requested.price = rented.asked_price;
  leaving_[rented.id] = {worker, rented.machine.value_or(requested), is_judged};
  return rented.id;
}

void Fleet::release(std::uint32_t worker) {
  if (const auto id = let_go(worker, false)) provider_.release(*id);
}

void Fleet::abandon(std::uint32_t worker) {
  if (const auto id = let_go(worker, true)) provider_.abandon(*id);
}

void Fleet::note_leaving(std::uint32_t worker) {
  const auto found = machines_.find(worker);
  if (found != machines_.end()) provider_.note_leaving(found->second.id);
}

const Machine* Fleet::machine_of(std::uint32_t worker) const {
  const auto found = machines_.find(worker);
  return found != machines_.end() && found->second.machine ? &*found->second.machine : nullptr;
}

double Fleet::dollars_to_return() const {
  const auto dollars = [](const MachinePrice& price, double seconds) {
    return price.per_hour / 3600.0 * seconds;
  };
  double sum = 0.0;
  for (const auto& [worker, rented] : machines_) {
    const MachinePrice& price = rented.machine ? rented.machine->price : rented.asked_price;
    const double minimum_seconds = rented.machine ? 0.0 : price.minimum_seconds;
    sum += dollars(price, minimum_seconds + price.returning_seconds);
  }
  for (const auto& [id, left] : leaving_) {
    const MachinePrice& price = left.machine.price;
    sum += dollars(price, price.minimum_seconds + price.returning_seconds);
  }
  return sum;
}

void Fleet::end(std::function<void()> done) {
  if (std::exchange(ending_, true)) return;
  while (!machines_.empty()) release(machines_.begin()->first);
  provider_.end([this, done = std::move(done)](const std::vector<std::string>& left) {
    if (!left.empty())
      log_event_(fact::Warning{fmt::format(
          "some machines could not be returned: {}; remove them by hand, they may cost money",
          join_words(left))});
    done();
  });
}

// ---- What happens to machines. ----

std::optional<std::uint32_t> Fleet::worker_of(MachineId id) const {
  for (const auto& [worker, rented] : machines_)
    if (rented.id == id) return worker;
  return std::nullopt;
}

void Fleet::log(std::uint32_t worker, const Machine& machine, fact::MachineChange change,
                const std::string& reason) {
  if (!logs_machines_) return;
  fact::Machine event;
  event.name = machine.name;
  event.change = change;
  event.worker = worker;
  event.machine_type = machine.type;
  // A provider need not say which type it has refused: then it is the one that was asked for.
  const auto asked = types_.find(worker);
  if (change == fact::MachineChange::kRefused && machine.type.empty() && asked != types_.end())
    event.machine_type = asked->second.name;
  event.zone = machine.zone;
  event.spot = machine.spot;
  event.price_per_hour = machine.price.per_hour;
  const bool has_other_price = machine.spot && machine.price.on_demand_per_hour > 0.0;
  event.on_demand_price_per_hour =
      has_other_price ? machine.price.on_demand_per_hour : machine.price.per_hour;
  event.minimum_seconds = machine.price.minimum_seconds;
  if (change == fact::MachineChange::kReady) event.charged_seconds = machine.charged_seconds;
  event.reason = reason;
  log_event_(std::move(event));
}

void Fleet::on_ready(MachineId id, const Machine& machine) {
  const auto worker = worker_of(id);
  if (!worker) {  // released meanwhile: it is on its way back, and has cost something
    leaving_.at(id).machine = machine;
    return log(leaving_.at(id).worker, machine, fact::MachineChange::kReady, "not needed any more");
  }
  machines_.at(*worker).machine = machine;
  log(*worker, machine, fact::MachineChange::kReady, {});
  listener_.on_machine_ready(*worker, machine);
}

// The provider goes on in other zones, and waits for this one. Once all have refused, another type
// is nearer.
void Fleet::on_delayed(MachineId id, const Refusal& refusal) {
  const auto worker = worker_of(id);
  if (!worker) return;
  log(*worker, refused_machine(id, refusal), fact::MachineChange::kRefused, text_of(refusal));
  const auto asked = types_.find(*worker);
  if (asked == types_.end()) return;  // the job does not expect it any more
  WorkerMachine& rented = machines_.at(*worker);
  const auto zones =
      std::ranges::count(provider_.catalogue().entries, asked->second.name, &CatalogueEntry::type);
  if (++rented.delays < static_cast<std::size_t>(zones) || !takes_another_type(*worker, refusal))
    return;
  const std::string ticket = rented.ticket;
  release(*worker);
  want(*worker, ticket);
}

// Whether there is one that was not tried; then it is the worker's from now on.
bool Fleet::takes_another_type(std::uint32_t worker, const Refusal& refusal) {
  const auto asked = types_.find(worker);
  const auto is_there = [](const auto& rented) { return rented.second.machine.has_value(); };
  const bool waits = !is_beginning_ && std::ranges::any_of(machines_, is_there);
  if (ending_ || waits || asked == types_.end() || asked->second.is_particular ||
      (refusal.kind != RefusalKind::kCapacity && refusal.kind != RefusalKind::kQuota))
    return false;
  const auto place = std::ranges::find(other_types_, asked->second.name);
  const auto next = place == other_types_.end() ? other_types_.begin() : std::next(place);
  const bool is_of_these = place != other_types_.end() || asked->second.name == preferred_type_;
  if (!is_of_these) return false;
  // Whoever asks again after the last one begins with the first.
  const bool has_next = next != other_types_.end();
  asked->second.name = has_next ? *next : preferred_type_;
  return has_next;
}

void Fleet::on_refused(MachineId id, const Refusal& refusal) {
  const auto worker = worker_of(id);
  leaving_.erase(id);
  if (!worker) return;
  const std::string ticket = machines_.at(*worker).ticket;
  machines_.erase(*worker);
  log(*worker, refused_machine(id, refusal), fact::MachineChange::kRefused, text_of(refusal));
  if (takes_another_type(*worker, refusal)) return want(*worker, ticket);
  listener_.on_machine_refused(*worker, refusal);
}

void Fleet::on_notice(MachineId id, const MachineNotice& notice) {
  const auto worker = worker_of(id);
  if (!worker) return;
  log(*worker, machines_.at(*worker).machine.value_or(Machine()), fact::MachineChange::kNotice,
      notice.reason);
  listener_.on_machine_notice(*worker, notice);
}

void Fleet::on_lost(MachineId id, const MachineLoss& loss) {
  const auto worker = worker_of(id);
  if (!worker) {
    const LeavingMachine left = leaving_.at(id);
    leaving_.erase(id);
    // One on which the worker ended by itself was not taken: it says nothing of how long others
    // live.
    using fact::MachineChange;
    const bool was_there = left.is_judged && !loss.was_taken;
    log(left.worker, left.machine, was_there ? MachineChange::kReleased : MachineChange::kLost,
        loss.how);
    if (left.is_judged && !ending_) listener_.on_machine_judged(left.worker, loss);
    return;
  }
  const Machine machine = machines_.at(*worker).machine.value_or(Machine());
  machines_.erase(*worker);
  log(*worker, machine, fact::MachineChange::kLost, loss.how);
  listener_.on_machine_lost(*worker, loss);
}

void Fleet::on_released(MachineId id) {
  const auto found = leaving_.find(id);
  if (found == leaving_.end()) return;
  const LeavingMachine left = found->second;
  leaving_.erase(found);
  log(left.worker, left.machine, fact::MachineChange::kReleased, {});
  if (left.is_judged && !ending_) listener_.on_machine_judged(left.worker, std::nullopt);
}

}  // namespace scavenger::elastic
