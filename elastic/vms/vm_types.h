// Machine types to choose from: a catalogue file, or what a provider's catalogue says. Pure but for
// the reading of the file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "perfmodel/machines/machine_prior.h"
#include "runtime/provider/machine_catalogue.h"

namespace scavenger::elastic {

// One worker runs on each VM.
struct VmType {
  perfmodel::MachineFeatures features;
  double price = 0.0;             // dollars per hour, on demand
  double minimum_seconds = 60.0;  // that are charged in any case: a catalogue file says nothing
  std::optional<double> spot_price;
  std::optional<double> spot_losses;  // of each spot VM and hour
  std::optional<double> vcpus;
  std::optional<double> memory_gib;
  std::optional<double> max_count;
  double gpus = 0.0;           // of each VM
  std::string gpu_type;        // empty: unknown
  bool is_calibrated = false;  // its rate was measured (vm_calibration.h)
};

// CSV with a header: type, vcpu and price are required; coremark (of all cores), mem_gb_s,
// nic_gbit, ram_gib, gpus, gpu_type, spot_price, spot_losses, max_count and family may be missing
// or empty. Without coremark the rate is the number of vCPUs. Throws InputError with the line.
std::vector<VmType> read_vm_types(const std::filesystem::path& file);

// Of a provider; types without a name, a price on demand, or cores (unless they have GPUs) are left
// out. One that is in several places is there once, at its least price.
std::vector<VmType> vm_types_of(const MachineCatalogue& catalogue);

// What decides the speed of a type: "cores", or its GPU. Types of one processor can be compared
// before a job has run on them; of a GPU of unknown type nothing is known but its machine's name.
std::string processor_of(const VmType& type);

// Gives types their rate from a table of CoreMark scores, as github.com/Cyclenerd publishes it for
// Compute Engine (MACHINE_TYPE;CPU;vCores;COREMARK_SCORE;...). Types that it does not know are
// removed, since scores and numbers of cores do not compare. Returns how many were removed. Throws
// InputError with the line.
std::size_t score_types(std::vector<VmType>& types, const std::filesystem::path& file);

// Whether a name fits one of the patterns, comma separated, with * for any characters: "n2d-*".
bool fits_patterns(const std::string& name, const std::string& patterns);

}  // namespace scavenger::elastic
