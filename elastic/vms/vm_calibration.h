// What one VM of a machine type does, measured once with a standard job and kept in a file for all
// jobs: `scavenger-ctl calibrate` writes it, and `scavenger-plan vms --calibrations` reads it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "elastic/vms/vm_types.h"
#include "runtime/config/job_config.h"

namespace scavenger::elastic {

struct Calibration {
  std::string type;
  double samples_per_second = 0.0;  // of the standard job, compute alone
  std::string measured_utc;
};

// The configuration of the standard job on one VM of `type`, on the machines of `job`, as JSON. Its
// model is a small MLP, which is trained for 40 iterations. Throws InputError if the job's provider
// has no machine types, or not this one.
std::string calibration_job(const JobConfig& job, const MachineCatalogue& catalogue,
                            const std::string& type);

// From the run folder of that job. Throws DataError if it was not measured.
Calibration read_calibration_run(const std::filesystem::path& run_folder, const std::string& type);

// CSV with the columns type, samples_per_second, measured. Throws InputError with the line.
std::vector<Calibration> read_calibrations(const std::filesystem::path& file);

// Writes the file as it is, or one without a calibration, so that nothing is measured that could
// not be kept. Throws InputError as read_calibrations(), and SystemError.
void try_calibrations(const std::filesystem::path& file);

// Adds it, in place of an earlier one of its type; makes the file if there is none. A reader finds
// the old content or the new one, but of two writers at once the later one wins.
void keep_calibration(const std::filesystem::path& file, const Calibration& calibration);

// Gives calibrated types the rate that was measured, in the unit of the catalogue: so that the
// median of measured over catalogue is 1. A type alone says nothing of others, so that it takes two
// of the catalogue; else nothing happens. Returns how many types are calibrated now.
std::size_t apply_calibrations(std::vector<VmType>& types,
                               const std::vector<Calibration>& calibrations);

}  // namespace scavenger::elastic
