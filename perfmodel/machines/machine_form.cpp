#include "perfmodel/machines/machine_form.h"

#include <algorithm>
#include <cmath>

namespace scavenger::perfmodel {
namespace {

// m for so many participants, each by its own link.
double rounds(LinkShape shape, double participants) {
  if (participants <= 1.0) return 0.0;
  switch (shape) {
    case LinkShape::kShard:
      return participants - 1.0;
    case LinkShape::kSpread:
      return 2.0 * (participants - 1.0) / participants;
    case LinkShape::kRounds:
      return (1.0 + 0.3 * std::log2(participants)) / 1.3;
  }
  return 0.0;
}

// m of the network.
double multiplier(const MachineForm& form, const MachineUse& use) {
  if (use.is_alone) return 0.0;
  const double participants = form.host == HostLink::kWhole ? use.workers() : use.vms;
  if (!form.state_is_elsewhere) return rounds(form.shape, participants);
  if (form.shape == LinkShape::kShard) return participants;
  return form.shape == LinkShape::kSpread ? 1.0 : 1.0 + 0.3 * std::log2(participants);
}

// (x^n + y^n)^(1/n), and the share of x in its growth: d ln / d ln x.
struct Norm {
  double value;
  double share;
};
Norm norm(double x, double y, double n) {
  const double most = std::max(x, y);
  if (most <= 0.0) return {0.0, 1.0};
  const double px = std::pow(x / most, n), py = std::pow(y / most, n);
  return {most * std::pow(px + py, 1.0 / n), px / (px + py)};
}

}  // namespace

std::string describe(const MachineForm& form) {
  std::string text;
  switch (form.shape) {
    case LinkShape::kShard:
      text = "shard";
      break;
    case LinkShape::kSpread:
      text = "spread";
      break;
    case LinkShape::kRounds:
      text = "rounds";
      break;
  }
  if (form.overlap > 1.0) text += form.overlap > 2.0 ? " + overlap" : " + half overlap";
  if (form.floor) text += " + floor";
  if (form.host != HostLink::kNone)
    text += form.host == HostLink::kAdds ? " + host's link" : " of all workers";
  return text;
}

std::vector<MachineForm> machine_forms(bool with_floor, bool state_is_elsewhere, bool with_hosts) {
  std::vector<MachineForm> forms;
  for (const HostLink host : {HostLink::kNone, HostLink::kAdds, HostLink::kWhole})
    for (const bool floor : {false, true}) {
      if ((floor && !with_floor) || (host != HostLink::kNone && !with_hosts)) continue;
      for (const double overlap : {4.0, 2.0, 1.0})
        for (const LinkShape shape : {LinkShape::kSpread, LinkShape::kRounds, LinkShape::kShard})
          forms.push_back({shape, overlap, floor, state_is_elsewhere, host});
    }
  return forms;
}

MachineSeconds evaluate(const MachineForm& form, const MachineParameters& parameters,
                        const MachineUse& use) {
  const double base = std::exp(parameters[kLogBase]);
  const double samples = std::exp(parameters[kLogPerSample]) * use.local_batch;
  const double linear = base + samples;
  const double floor = form.floor ? std::exp(parameters[kLogFloor]) : 0.0;
  const Norm filled = norm(linear, floor, 8.0);
  const double doublings = std::log2(use.per_vm);
  const double host = std::exp(parameters[kLogHost]) * doublings;
  const double compute = filled.value * (1.0 + host);
  const bool adds = form.host == HostLink::kAdds && !use.is_alone;
  const double inside =
      adds ? std::exp(parameters[kLogHostSync]) * rounds(form.shape, use.per_vm) : 0.0;
  const double rounds_in_all = multiplier(form, use) + inside;
  const double sync = std::exp(parameters[kLogSync]) * rounds_in_all;
  const Norm total = norm(compute, sync, form.overlap);

  MachineSeconds seconds;
  seconds.log_seconds = std::log(total.value);
  seconds.gradient[kLogBase] = total.share * filled.share * base / linear;
  seconds.gradient[kLogPerSample] = total.share * filled.share * samples / linear;
  seconds.gradient[kLogFloor] = total.share * (1.0 - filled.share);
  seconds.gradient[kLogHost] = total.share * host / (1.0 + host);
  seconds.gradient[kLogSync] = 1.0 - total.share;
  if (inside > 0.0) seconds.gradient[kLogHostSync] = (1.0 - total.share) * inside / rounds_in_all;
  seconds.sync_share = 1.0 - compute / total.value;
  return seconds;
}

}  // namespace scavenger::perfmodel
