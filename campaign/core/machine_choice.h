// Which machine a campaign asks for next, and whether the next simulation runs on a machine that is
// there: by the dollars and seconds that a simulation is expected to take, from what was measured
// on each type and how long its machines live. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "campaign/config/campaign_config.h"
#include "campaign/core/machine_lives.h"
#include "campaign/space/space.h"
#include "perfmodel/survival/expected_time.h"
#include "perfmodel/survival/machine_value.h"
#include "runtime/provider/machine_catalogue.h"

namespace scavenger::campaign {

class MachineChoice final {
 public:
  MachineChoice(const MachineCatalogue& catalogue, const CampaignConfig& config);

  // What is true at the moment of a question.
  struct Now {
    const MachineLives& lives;
    double seconds = 0.0;
    double checkpoint_seconds = 0.0;  // what a checkpoint costs
    // Simulations that are to be begun yet, for each that runs at a time; at least 1.
    double tasks_per_slot = 1.0;
  };

  // A machine of this type has computed a part of this point, at a rate at which the whole
  // simulation takes so long.
  void add_rate(const std::string& type, PointIndex point, double simulation_seconds);
  // A machine took so long from the time when it was charged until its first step.
  void add_start(double seconds);
  // The provider had none of this type: others are asked for meanwhile, for longer each time.
  void refuse(const std::string& type, double now_seconds);
  void admit(const std::string& type);  // a machine of this type has come

  // The type to ask for; empty: whichever the provider has. First, types are tried that were not
  // measured yet, the cheapest first, as long as that is worth it; then it is the one of the least
  // dollars per simulation. `having`: types of all machines that were asked for and are not
  // released.
  std::string next_type(const Now& now, std::span<const std::string> having) const;
  // How many zones have it, as far as the catalogue tells; at least 1.
  std::uint32_t zones(const std::string& type) const;
  // Whether another type than this may be had now.
  bool has_other(const std::string& type, double now_seconds) const;
  // Of the type, or, if that is empty, of what a request without a type gets.
  MachinePrice price(const std::string& type) const;

  // Whether the next simulation should begin on this machine: a new one of its kind would be done
  // later, and one of the best type would not save more than its start costs.
  bool is_worth_keeping(const Now& now, const MachineKind& kind, double age_seconds);

  // Of a simulation on this type, as a mean over the points that ran there.
  std::optional<double> mean_seconds(const std::string& type) const;
  std::size_t points(const std::string& type) const;  // that were measured
  // From a machine until it takes simulations; assumed before one was measured.
  double start_seconds() const;

  // For reports: types that were measured, the cheapest first, with the number of points.
  struct Measured {
    std::string type;
    std::size_t points = 0;
    perfmodel::OfferValue value;
  };
  std::vector<Measured> measured(const Now& now) const;

 private:
  struct Offer {
    std::string type;
    MachinePrice price;
    double slots = 1.0;
    std::optional<std::uint32_t> count;  // that there are
    double refused_until = 0.0;
    int refusals = 0;  // in a row
  };
  struct Reuse {  // of one kind, until something changes
    std::size_t version = 0;
    double retire_age_seconds = 0.0;
  };

  const Offer* find(const std::string& type) const;
  bool is_worth_trying(const Offer& offer, const Now& now,
                       std::span<const std::string> having) const;
  perfmodel::MachineOffer machine_offer(const Offer& offer, const Now& now) const;
  std::vector<perfmodel::OfferValue> rank(const Now& now) const;
  bool is_beaten(const Now& now, const std::string& type);
  double retire_age(const Now& now, const MachineKind& kind, double work_seconds);
  std::size_t version(const Now& now) const { return now.lives.version() + rates_; }

  const bool is_spot_;
  const MachineCatalogue catalogue_;
  std::vector<Offer> offers_;                                    // those that have prices
  std::map<std::string, std::map<PointIndex, double>> seconds_;  // of simulations, by type
  std::size_t rates_ = 0;                                        // entries of seconds_
  double start_sum_seconds_ = 0.0;
  double starts_ = 0.0;
  std::map<std::pair<std::string, std::string>, Reuse> reuse_;
  std::vector<perfmodel::OfferValue> ranking_;
  std::size_t ranking_version_ = 0;
};

}  // namespace scavenger::campaign
