#include "elastic/vms/vm_memory.h"

#include <cmath>

namespace scavenger::elastic {
namespace {

// Of a VM's memory: its system and the libraries take the rest.
constexpr double kUsableMemory = 0.85;
// Weights, gradient and the next weights, of four bytes each.
constexpr double kBytesPerParameter = 12.0;
constexpr double kBytesPerGib = 1024.0 * 1024.0 * 1024.0;

}  // namespace

std::optional<double> room_in_memory(const VmType& type, const KnownModel& model) {
  std::optional<double> measured;
  if (model.room_samples) measured = static_cast<double>(*model.room_samples);
  const auto parameters = static_cast<double>(model.record.signature.parameters);
  if (!type.memory_gib || !(parameters > 0.0)) return measured;
  const double left =
      kUsableMemory * *type.memory_gib * kBytesPerGib - kBytesPerParameter * parameters;
  if (left <= 0.0) return 0.0;
  if (!model.bytes_per_sample || *model.bytes_per_sample == 0) return measured;
  return std::floor(left / static_cast<double>(*model.bytes_per_sample));
}

}  // namespace scavenger::elastic
