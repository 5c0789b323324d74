// The machine types that scavenger-plan chooses from: Compute Engine's, a file of them, or those of
// a job's provider.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "elastic/vms/vm_types.h"

namespace scavenger::elastic {

// `place`: a CSV file (read_vm_types()), or a run folder or a configuration (*.json), whose
// provider says what machines there are. Throws InputError if that is none of these, or if no
// machine of the provider has a type and a price.
std::vector<VmType> vm_types_at(const std::filesystem::path& place);

// Files and patterns that are named on the command line; empty: none.
struct VmNarrowing {
  std::string patterns;      // only these types are to choose from
  std::string scores;        // score_types()
  std::string calibrations;  // apply_calibrations()
  std::string spot_prices;   // price_spot_types()
};

struct OfferedTypes {
  std::vector<VmType> types;                         // to choose from
  std::vector<perfmodel::MachineFeatures> features;  // of all types of the catalogue
  std::size_t unscored = 0;  // were left out, because `scores` has none of them
};

// Of a catalogue's types. Throws InputError as the functions named above do, and if there is no
// spot price of any type.
OfferedTypes offered_types(std::vector<VmType> types, const VmNarrowing& narrowing);

}  // namespace scavenger::elastic
