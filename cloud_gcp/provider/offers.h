// Where the next VM is asked for: the cheapest of the user's zones and machine types that has not
// just refused.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cloud_gcp/api/cloud_fault.h"
#include "cloud_gcp/pricing/prices.h"

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

// Remembers refusals. Pure: time comes in.
class OfferChoice final {
 public:
  OfferChoice(std::vector<Offer> offers, const CoolDown& cool_down);

  // Nothing if all are cooling down, or closed.
  std::optional<Offer> next(double now_seconds) const;
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
