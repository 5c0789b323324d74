// How long the machines of a campaign live, by type and zone, from those that it has had. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "perfmodel/survival/kaplan_meier.h"
#include "perfmodel/survival/survival.h"

namespace scavenger::campaign {

// Machines that are lost at the same rate, as far as their names tell.
struct MachineKind {
  std::string type;
  std::string zone;
};

// Before many machines of a kind were lost its rate is constant: what was seen of it, and one loss
// in the mean life of all machines of its type; for a type, of all machines; for these, in the
// prior's time. Then early losses are fitted, and losses of old machines, if that fits better.
class MachineLives final {
 public:
  // `wall_seconds`: the age at which the provider ends each machine, as it has announced; infinite
  // if there is none.
  explicit MachineLives(double prior_mean_seconds, double wall_seconds = perfmodel::kNeverSeconds);

  void add(const MachineKind& kind, double seconds, bool was_lost);
  // Changes with each add().
  std::size_t version() const { return lives().size(); }

  // Valid until the next add(). A kind that was not seen lives as its type, or as all machines do.
  const perfmodel::Survival& survival() const { return *all_.survival; }
  const perfmodel::Survival& survival(const MachineKind& kind) const;
  // Of a type in all of its zones.
  const perfmodel::Survival& survival(const std::string& type) const;

  std::span<const perfmodel::Lifetime> lives() const { return all_.lives; }

 private:
  struct Group {
    std::vector<perfmodel::Lifetime> lives;
    double mean_life_seconds = 0.0;  // at a constant rate
    std::shared_ptr<const perfmodel::Survival> survival;
  };
  void add_to(Group& group, const perfmodel::Lifetime& life, double prior_mean_seconds) const;

  const double prior_mean_seconds_;
  const double wall_seconds_;
  Group all_;
  std::map<std::string, Group> types_;
  std::map<std::pair<std::string, std::string>, Group> kinds_;
};

}  // namespace scavenger::campaign
