#include "cloud_gcp/provider/offers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "perfmodel/survival/early_hazard.h"

namespace scavenger::gcp {
namespace {

constexpr unsigned kMostDoublings = 16;
constexpr double kLeastLifeSeconds = 1.0;
constexpr double kStartSeconds = 90.0;  // from the request for a VM until it trains

bool is_same(const Offer& a, const Offer& b) {
  return a.zone == b.zone && a.machine_type == b.machine_type;
}

}  // namespace

std::vector<Offer> price_offers(const PriceCatalog& prices, std::span<const std::string> zones,
                                std::span<const std::string> machine_types,
                                Provisioning provisioning, const AddedGpus& gpus) {
  std::vector<Offer> offers;
  for (const std::string& zone : zones)
    for (const std::string& type : machine_types)
      offers.push_back(
          {zone, type, prices.per_hour(type, region_of_zone(zone), provisioning, gpus)});
  std::stable_sort(offers.begin(), offers.end(), [](const Offer& a, const Offer& b) {
    return a.dollars_per_hour < b.dollars_per_hour;
  });
  return offers;
}

void OfferLives::add(const Offer& offer, double seconds, bool was_lost) {
  const perfmodel::Lifetime life{std::max(seconds, kLeastLifeSeconds), was_lost};
  all_.push_back(life);
  of_[{offer.zone, offer.machine_type}].push_back(life);
}

double OfferLives::mean_life_seconds(const Offer& offer) const {
  const double mean = perfmodel::constant_hazard(all_).mean_life_seconds();
  const auto found = of_.find({offer.zone, offer.machine_type});
  if (found == of_.end()) return mean;
  return perfmodel::constant_hazard(found->second, mean).mean_life_seconds();
}

double OfferLives::dollars_per_useful_hour(const Offer& offer) const {
  return offer.dollars_per_hour * (1.0 + kStartSeconds / mean_life_seconds(offer));
}

OfferChoice::OfferChoice(std::vector<Offer> offers, const CoolDown& cool_down)
    : offers_(std::move(offers)), cool_down_(cool_down), standings_(offers_.size()) {}

std::optional<Offer> OfferChoice::next(double now_seconds, const OfferLives* lives) const {
  std::optional<Offer> best;
  const auto price = [&](const Offer& offer) {
    return lives == nullptr ? offer.dollars_per_hour : lives->dollars_per_useful_hour(offer);
  };
  for (std::size_t i = 0; i < offers_.size(); ++i) {
    const Standing& standing = standings_[i];
    if (standing.is_closed_for_good || standing.closed_until > now_seconds) continue;
    if (!best || price(offers_[i]) < price(*best)) best = offers_[i];
  }
  return best;
}

std::optional<double> OfferChoice::next_time() const {
  std::optional<double> earliest;
  for (const Standing& standing : standings_)
    if (!standing.is_closed_for_good && (!earliest || standing.closed_until < *earliest))
      earliest = standing.closed_until;
  return earliest;
}

void OfferChoice::refused(const Offer& offer, const CloudFault& fault, double now_seconds) {
  for (std::size_t i = 0; i < offers_.size(); ++i) {
    // A quota is one of the region, or of the whole project; capacity is one of zone and type.
    const bool is_hit =
        is_same(offers_[i], offer) ||
        (fault.kind == FaultKind::kQuota &&
         (fault.is_global || region_of_zone(offers_[i].zone) == region_of_zone(offer.zone)));
    if (!is_hit) continue;
    Standing& standing = standings_[i];
    const unsigned doublings = std::min(standing.refusals++, kMostDoublings);
    const double wait = std::min(std::ldexp(cool_down_.first_seconds, static_cast<int>(doublings)),
                                 cool_down_.longest_seconds);
    standing.closed_until = now_seconds + wait;
    standing.is_closed_for_good =
        fault.kind == FaultKind::kInvalid || fault.kind == FaultKind::kNotFound;
    standing.last_word = word_of(fault.kind);
    if (!fault.subject.empty()) standing.last_word += " " + fault.subject;
  }
}

void OfferChoice::granted(const Offer& offer) {
  for (std::size_t i = 0; i < offers_.size(); ++i)
    if (is_same(offers_[i], offer)) standings_[i] = {};
}

std::string OfferChoice::story() const {
  std::string text;
  for (std::size_t i = 0; i < offers_.size(); ++i) {
    if (standings_[i].refusals == 0) continue;
    if (!text.empty()) text += "; ";
    text += fmt::format("{} {}: {}, {} in a row", offers_[i].zone, offers_[i].machine_type,
                        standings_[i].last_word, standings_[i].refusals);
  }
  return text.empty() ? "nothing was tried" : text;
}

}  // namespace scavenger::gcp
