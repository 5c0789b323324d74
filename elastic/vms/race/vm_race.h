// Finds the machine type of a running job: one VM of a candidate type joins as a worker (an
// audition), its share steps through three values while B stays, and it leaves, or the job moves to
// its type. Every iteration of it is training. A job that has settled is watched (race_watch.h).
//
// Pure, and a function of nothing but the events so far, as elastic/search is: the same log leads
// to the same decisions, whether it is being written, was read back, or is replayed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "elastic/history/run_numbers.h"
#include "elastic/vms/race/vm_race_setting.h"

namespace scavenger::elastic {

// An auditioned worker gets no share with which it would take longer than this, in units of the
// slowest of the others: so it slows the job by no more.
inline constexpr double kMostSlowdown = 1.25;

// The first step, before anything is measured: the type to begin with.
fact::VmStep begin_race(const VmRaceSetting& setting, std::uint32_t workers,
                        std::uint32_t batch_size);

// After a resume whose configuration does not offer the type of the last step any more.
fact::VmStep begin_elsewhere(const VmRaceSetting& setting, fact::VmStep last);

// Whether the job begins again on other machines than before, of another type (VmPhase::kTrying) or
// in another number: from there the race goes on.
bool begins_after_move(const fact::VmStep& step);

// Whether the race goes on after this event: measurements, and the loss of a machine, since a job
// that loses one after the other may have nothing to measure for long.
bool is_race_occasion(const RunEvent& event);

// After such an event was logged: mostly nothing, else one step.
std::vector<RunEvent> continue_race(const VmRaceSetting& setting, const RunNumbers& numbers);

// The step that ends it, if somebody else has decided on K or B; an audition for which there can be
// no machine ends alone. Nothing if no race goes on.
std::vector<RunEvent> end_race(const RunNumbers& numbers, std::uint32_t workers,
                               std::uint32_t batch_size, const std::string& reason);

// After a resume: an audition, a move or a replacement that was under way is given up, and a plan
// that was made for other limits, or by another policy, is made again.
std::vector<RunEvent> resume_race(const RunNumbers& numbers);

}  // namespace scavenger::elastic
