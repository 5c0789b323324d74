#include "campaign/core/machine_choice.h"

#include <algorithm>
#include <cmath>

namespace scavenger::campaign {
namespace {

constexpr double kFirstStartSeconds = 60.0;  // assumed before one was measured
// Below this many points the mean of a type may be that of its points.
constexpr std::size_t kPointsToCompare = 3;
constexpr double kWorthMoving = 0.1;  // of the dollars per simulation
// A type that was not tried is not assumed to be faster than this, for each of its slots.
constexpr double kMostSpeedUp = 2.0;
constexpr double kTasksPerTrial = 4.0;  // a trial must pay for itself in the simulations after it

// How long a type is not asked for that the provider has refused, at first.
constexpr double kRefusedSeconds = 60.0;
constexpr int kMostDoublings = 6;

}  // namespace

MachineChoice::MachineChoice(const MachineCatalogue& catalogue, const CampaignConfig& config)
    : is_spot_(config.provider.spot), catalogue_(catalogue) {
  const bool may_be_smaller = config.provider.type == ProviderType::kEmulated;
  for (const CatalogueEntry& entry : catalogue.entries) {
    const auto& price = price_of(entry, is_spot_);
    if (!price || price->per_hour <= 0.0 || entry.type.empty()) continue;
    if (entry.cores > 0.0 && entry.cores < config.simulation.cores && !may_be_smaller) continue;
    const double slots =
        std::max(1U, static_cast<std::uint32_t>(entry.cores) / config.simulation.cores);
    const auto known = std::ranges::find(offers_, entry.type, &Offer::type);
    if (known == offers_.end()) {
      offers_.push_back({entry.type, *price, slots, entry.count, 0.0, 0});
      continue;
    }
    if (price->per_hour < known->price.per_hour) known->price = *price;  // in another zone
    if (known->count && entry.count)
      *known->count += *entry.count;
    else
      known->count.reset();
  }
}

const MachineChoice::Offer* MachineChoice::find(const std::string& type) const {
  const auto found = std::ranges::find(offers_, type, &Offer::type);
  return found == offers_.end() ? nullptr : &*found;
}

void MachineChoice::add_rate(const std::string& type, PointIndex point, double seconds) {
  auto& measured = seconds_[type];
  rates_ += measured.contains(point) ? 0 : 1;
  measured[point] = seconds;
}

void MachineChoice::add_start(double seconds) {
  start_sum_seconds_ += seconds;
  starts_ += 1.0;
}

double MachineChoice::start_seconds() const {
  return starts_ == 0.0 ? kFirstStartSeconds : start_sum_seconds_ / starts_;
}

void MachineChoice::refuse(const std::string& type, double now_seconds) {
  for (Offer& offer : offers_) {
    if (offer.type != type) continue;
    const double pause =
        kRefusedSeconds * std::pow(2.0, std::min(offer.refusals++, kMostDoublings));
    offer.refused_until = std::max(offer.refused_until, now_seconds + pause);
  }
}

void MachineChoice::admit(const std::string& type) {
  for (Offer& offer : offers_)
    if (offer.type == type) offer.refusals = 0;
}

bool MachineChoice::has_other(const std::string& type, double now_seconds) const {
  return std::ranges::any_of(offers_, [&](const Offer& offer) {
    return offer.type != type && offer.refused_until <= now_seconds;
  });
}

std::uint32_t MachineChoice::zones(const std::string& type) const {
  const auto count = std::ranges::count(catalogue_.entries, type, &CatalogueEntry::type);
  return std::max(1U, static_cast<std::uint32_t>(count));
}

MachinePrice MachineChoice::price(const std::string& type) const {
  return price_of(catalogue_, type, is_spot_).value_or(MachinePrice());
}

std::size_t MachineChoice::points(const std::string& type) const {
  const auto found = seconds_.find(type);
  return found == seconds_.end() ? 0 : found->second.size();
}

// Of points that differ: the mean over those that ran there.
std::optional<double> MachineChoice::mean_seconds(const std::string& type) const {
  const auto found = seconds_.find(type);
  if (found == seconds_.end()) return std::nullopt;
  double sum = 0.0;
  for (const auto& [point, seconds] : found->second) sum += seconds;
  return sum / static_cast<double>(found->second.size());
}

// ---- The next machine. ----

bool MachineChoice::is_worth_trying(const Offer& offer, const Now& now,
                                    std::span<const std::string> having) const {
  double cheapest = offer.price.per_hour / offer.slots;
  bool is_first = having.empty();
  for (const Offer& other : offers_)
    if (points(other.type) > 0 || std::ranges::count(having, other.type) > 0) {
      cheapest = std::min(cheapest, other.price.per_hour / other.slots);
      is_first = false;
    }
  if (is_first) return true;
  return now.tasks_per_slot >= kTasksPerTrial &&
         offer.price.per_hour / offer.slots <= kMostSpeedUp * cheapest;
}

std::string MachineChoice::next_type(const Now& now, std::span<const std::string> having) const {
  if (offers_.size() < 2) return {};
  double sum = 0.0, count = 0.0;
  for (const auto& [type, measured] : seconds_)
    for (const auto& [point, seconds] : measured) {
      sum += seconds;
      count += 1.0;
    }
  // Before a type was measured it is taken to be as fast as the others. Which speed that is does
  // not matter as long as nothing was measured.
  const double assumed_seconds = count > 0.0 ? sum / count : perfmodel::kHourSeconds;
  std::vector<perfmodel::MachineOffer> offers;
  for (const Offer& offer : offers_) {
    const auto had = std::ranges::count(having, offer.type);
    if (offer.refused_until > now.seconds) continue;
    if (offer.count && std::cmp_greater_equal(had, *offer.count)) continue;
    perfmodel::MachineOffer asked = machine_offer(offer, now);
    const bool is_tried = had > 0 || !is_worth_trying(offer, now, having);
    if (!asked.task_seconds && is_tried) asked.task_seconds = assumed_seconds;
    offers.push_back(asked);
  }
  const auto next = perfmodel::next_offer(offers, {now.checkpoint_seconds, 1.0});
  return next ? offers[*next].name : std::string();
}

perfmodel::MachineOffer MachineChoice::machine_offer(const Offer& offer, const Now& now) const {
  return {offer.type,
          offer.price.per_hour,
          start_seconds(),
          offer.slots,
          &now.lives.survival(offer.type),
          mean_seconds(offer.type)};
}

std::vector<perfmodel::OfferValue> MachineChoice::rank(const Now& now) const {
  std::vector<perfmodel::MachineOffer> offers;
  for (const Offer& offer : offers_) offers.push_back(machine_offer(offer, now));
  return perfmodel::rank_offers(offers, {now.checkpoint_seconds, 1.0});
}

std::vector<MachineChoice::Measured> MachineChoice::measured(const Now& now) const {
  std::vector<Measured> all;
  for (const perfmodel::OfferValue& value : rank(now)) {
    const std::string& type = offers_[value.offer].type;
    all.push_back({type, points(type), value});
  }
  return all;
}

// ---- A machine that is there. ----

double MachineChoice::retire_age(const Now& now, const MachineKind& kind, double work_seconds) {
  Reuse& reuse = reuse_[{kind.type, kind.zone}];
  if (reuse.version == version(now)) return reuse.retire_age_seconds;
  const perfmodel::ExpectedTime time(
      now.lives.survival(kind), {work_seconds, {now.checkpoint_seconds, 1.0}, start_seconds()});
  reuse = {version(now), time.retire_age_seconds()};
  return reuse.retire_age_seconds;
}

bool MachineChoice::is_worth_keeping(const Now& now, const MachineKind& kind, double age) {
  const auto seconds = mean_seconds(kind.type);
  if (!seconds) return true;
  return age < retire_age(now, kind, *seconds) && !is_beaten(now, kind.type);
}

// Whether a machine of another type would save more than its start costs.
bool MachineChoice::is_beaten(const Now& now, const std::string& type) {
  if (offers_.size() < 2 || find(type) == nullptr || points(type) < kPointsToCompare) return false;
  if (ranking_version_ != version(now)) ranking_ = rank(now);
  ranking_version_ = version(now);
  const auto own = std::ranges::find_if(ranking_, [&](const perfmodel::OfferValue& value) {
    return offers_[value.offer].type == type;
  });
  return std::any_of(ranking_.begin(), own, [&](const perfmodel::OfferValue& value) {
    const Offer& other = offers_[value.offer];
    if (points(other.type) < kPointsToCompare || other.refused_until > now.seconds) return false;
    const double saved = own->dollars_per_task - value.dollars_per_task;
    const double start_dollars =
        other.price.per_hour / perfmodel::kHourSeconds * start_seconds() / other.slots;
    return saved > kWorthMoving * own->dollars_per_task &&
           now.tasks_per_slot * saved > start_dollars;
  });
}

}  // namespace scavenger::campaign
