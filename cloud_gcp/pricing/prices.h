// What Compute Engine charges: unit prices for each series of machines and region, at a date.
//
// A machine costs vCPUs x rate + GiB x rate + GPUs x rate. That gives every list price, and those
// of custom machine types; spot prices change up to daily, so the catalog says as of when it is.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace scavenger::gcp {

enum class Provisioning { kSpot, kOnDemand };
inline Provisioning provisioning_of(bool is_spot) {
  return is_spot ? Provisioning::kSpot : Provisioning::kOnDemand;
}

// GPUs that are added to an N1 machine: {"nvidia-tesla-t4", 2}. Machines of other series bring
// their own.
struct AddedGpus {
  std::string type;
  unsigned count = 0;
  bool operator==(const AddedGpus&) const = default;
};

// What is charged for; shared-core machines count a part of a vCPU.
struct MachineShape {
  double vcpus = 0.0;
  double memory_gib = 0.0;
  double gpus = 0.0;
};

// Dollars an hour for one of each.
struct UnitPrices {
  double vcpu = 0.0;
  double gib = 0.0;
  double gpu = 0.0;
};

// A custom machine type by its name, "n2-custom-8-16384": series, and shape.
struct CustomType {
  std::string series;
  MachineShape shape;
};
// Throws ConfigError for a name that is not one, or that Compute Engine would refuse: memory that
// is no multiple of 256 MiB, numbers of vCPUs that are not sold.
CustomType parse_custom_type(const std::string& machine_type);
bool is_custom_type(std::string_view machine_type);

// Of dollars, vCPUs or GiB: none is negative, and a million is a slip.
bool is_amount(double value);

class PriceCatalog final {
 public:
  // Of this build.
  static const PriceCatalog& built_in();
  // Throws InputError, naming `where`, for what is no catalog.
  static PriceCatalog parse(const std::string& text, const std::string& where);

  const std::string& as_of() const { return as_of_; }  // "2026-07-30"

  // Dollars an hour. All throw ConfigError for a machine type, region or GPU of which the catalog
  // has no price, with the nearest that it has.
  double per_hour(const std::string& machine_type, const std::string& region,
                  Provisioning provisioning, const AddedGpus& gpus = {}) const;
  MachineShape shape(const std::string& machine_type) const;

  std::vector<std::string> regions() const;
  void require_region(const std::string& name) const;  // that --region has named
  std::vector<std::string> machine_types() const;

 private:
  struct Pair {
    UnitPrices on_demand;
    UnitPrices spot;
    const UnitPrices& of(Provisioning p) const {
      return p == Provisioning::kSpot ? spot : on_demand;
    }
  };
  struct Region {
    std::map<std::string, Pair> series;
    std::map<std::string, Pair> gpus;
  };

  const Region& region(const std::string& name) const;

  std::string as_of_;
  std::map<std::string, double> custom_factors_;
  std::map<std::string, MachineShape> shapes_;
  std::map<std::string, Region> regions_;
};

// "us-central1-a" is in "us-central1".
std::string region_of_zone(const std::string& zone);

// Compute Engine charges a VM by the second, and for its first minute in any case. Dollars.
double vm_cost(double dollars_per_hour, double seconds);

}  // namespace scavenger::gcp
