// Observations that people bring: a CSV file with a header line, or a JSON list of objects.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "perfmodel/store/model_record.h"

namespace scavenger::perfmodel {

// How a table is read. Its columns are known by these names, whatever their order; a cell may be
// empty:
//   workers, batch_size         required
//   iteration_seconds           or iteration_milliseconds
//   standard_error, iterations  of the iteration time; how many iterations were measured
//   epochs                      to the target
//   seconds                     or hours, of the run to the target
//   noise, noise_scale          gamma / K; B_s
//   machine, job
struct TableFormat {
  std::map<std::string, std::string> headers;  // column -> the table's own word for it
  std::map<std::string, std::string> rows;     // header -> the only value whose rows count
};

// Throws DataError, with the file and its line, for what is not such a table: unknown or missing
// columns, numbers that are none, times in two units, times that contradict each other by more than
// a factor of 3 (seconds taken for milliseconds, or hours).
ModelRecord read_observation_table(const std::filesystem::path& path, const TableFormat& format,
                                   double samples_per_epoch);

}  // namespace scavenger::perfmodel
