// What tables say of spot machines: how long they lived, and what they cost over time. Tables of
// this project, of another, or as others have published them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "elastic/plan/known_model.h"
#include "elastic/vms/vm_types.h"

namespace scavenger::elastic {

// Both are CSV with a header; columns that are not named here are ignored. Both throw InputError
// with the line.

// Adds lives to what runs have seen. A machine in each row: machine_type, lifetime_seconds, and
// ended_by, which is "preempted" if the provider took it away; anything else says that it was
// returned or lives still. If a zone is named, only rows count whose column zone has it. A
// table without a machine of one of these types is refused.
void add_spot_lives(const std::filesystem::path& file, const std::string& zone,
                    const std::vector<VmType>& types, KnownModel& known);

// Gives types the 90 % quantile, by time, of their prices in the last year of the table. A price in
// each row: machine_type, first_seen_date (2026-07-30), usd_hour_spot; it holds until the next date
// of its type, the last one as long as the mean of these. Types that the table lacks keep their
// price. Returns how many have one of the table.
std::size_t price_spot_types(std::vector<VmType>& types, const std::filesystem::path& file);

}  // namespace scavenger::elastic
