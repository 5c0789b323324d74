// What is known of one model, and from where: the basis of every plan.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "perfmodel/store/model_record.h"
#include "perfmodel/survival/kaplan_meier.h"

namespace scavenger::elastic {

// How long spot machines of one type were there, and how many of them were taken away. Those that
// were returned count with their hours only.
struct SpotExposure {
  double vm_hours = 0.0;
  double losses = 0.0;
  std::vector<perfmodel::Lifetime> lives = {};  // the same, machine by machine

  void add(const perfmodel::Lifetime& life);
};

struct KnownModel {
  perfmodel::ModelRecord record;
  std::string title;
  std::vector<std::string> notes;
  std::optional<std::uint64_t> room_samples = {};  // of one pass, as the runs' workers measured it
  // What each sample of a pass adds to a worker's memory, the largest that was measured.
  std::optional<std::uint64_t> bytes_per_sample = {};
  std::map<std::string, SpotExposure> spot = {};  // by machine type
  // Iterations that were longer because of the only machine of this type: as long as it takes with
  // batch_size / workers samples, while so many workers synchronise. An audition tells so how fast
  // a type synchronises, if the others do that faster.
  std::vector<perfmodel::TimeRow> lengthened = {};
  // Those of record.times that nobody measured: one machine was slow whenever the job had these,
  // and they are reckoned as if another had been in its place.
  std::vector<perfmodel::TimeRow> calculated = {};
  // Weights and optimizer are on none of the workers' machines, so that one worker synchronises.
  bool state_is_elsewhere = false;
  bool used_gpus = false;  // some run did
};

}  // namespace scavenger::elastic
