// Where the next VM is asked for: of the user's zones and machine types that have not just refused,
// the one that costs least for each hour in which it trains. A spot VM that is taken away has to be
// replaced by one that must first start, so zones where VMs live long are preferred to others of
// about the same price.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cloud_gcp/api/cloud_fault.h"
#include "cloud_gcp/pricing/prices.h"
#include "perfmodel/survival/kaplan_meier.h"

namespace scavenger::gcp {

struct Offer {
  std::string zone;
  std::string machine_type;
  double dollars_per_hour = 0.0;
};

struct CoolDown {
  double first_seconds = 60.0;  // after a stock-out; doubled with each further one in a row
  double longest_seconds = 1800.0;
};

// Every zone with every type, the cheapest first, in the user's order if they cost the same.
// Throws ConfigError if one has no price.
std::vector<Offer> price_offers(const PriceCatalog& prices, std::span<const std::string> zones,
                                std::span<const std::string> machine_types,
                                Provisioning provisioning, const AddedGpus& gpus);

// How long the spot VMs of this process have lived, by zone and type. Pure.
class OfferLives final {
 public:
  // `was_lost`: taken away; otherwise it was returned at that age.
  void add(const Offer& offer, double seconds, bool was_lost);
  // At a constant rate, from what was seen here and one loss in the mean life of all; of all, with
  // one loss in the mean life of published VMs.
  double mean_life_seconds(const Offer& offer) const;
  // Of an hour in which the VM trains, with the time in which one in its place starts.
  double dollars_per_useful_hour(const Offer& offer) const;

 private:
  std::vector<perfmodel::Lifetime> all_;
  std::map<std::pair<std::string, std::string>, std::vector<perfmodel::Lifetime>> of_;
};

// Remembers refusals. Pure: time comes in.
class OfferChoice final {
 public:
  OfferChoice(std::vector<Offer> offers, const CoolDown& cool_down);

  // Nothing if all are cooling down, or closed. `lives`: of VMs that may be taken away; null for
  // others.
  std::optional<Offer> next(double now_seconds, const OfferLives* lives) const;
  // When one may be asked again; nothing if all are closed.
  std::optional<double> next_time() const;

  void refused(const Offer& offer, const CloudFault& fault, double now_seconds);
  void granted(const Offer& offer);

  // "us-central1-a e2-standard-4: stock-out (twice); ...": why there is none.
  std::string story() const;
  const std::vector<Offer>& offers() const { return offers_; }

 private:
  struct Standing {
    double closed_until = 0.0;
    bool is_closed_for_good = false;
    unsigned refusals = 0;  // in a row
    std::string last_word;
  };

  std::vector<Offer> offers_;
  CoolDown cool_down_;
  std::vector<Standing> standings_;  // of the offers, in their order
};

}  // namespace scavenger::gcp
