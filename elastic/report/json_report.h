// report.json: a run's numbers for programs. docs/report.md documents it field by field, and
// docs/report.schema.json is its JSON Schema.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "elastic/history/run_numbers.h"

namespace scavenger::elastic {

// Raised when a field is removed or changes its meaning; new fields may come without.
inline constexpr std::uint32_t kReportSchemaVersion = 1;

// The document, indented, with a final newline.
std::string to_json_report(const RunNumbers& numbers);

// Replaces the file in one step: a reader sees the old or the new report. Throws SystemError.
void write_json_report(const std::filesystem::path& path, const RunNumbers& numbers);

}  // namespace scavenger::elastic
