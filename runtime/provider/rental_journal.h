// What a job has asked a cloud for, on disk before it is asked for: the next process of the job,
// and `scavenger-ctl clean`, read there which machines may exist.
//
// A file of JSON lines, each forced to disk. The first is {"job": "fashion-mlp-3f2a9c01"}; what the
// others say is up to the provider.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/file.h"

namespace scavenger {

// One run folder's job as a cloud knows it: "fashion-mlp-3f2a9c01". It has at most 34 characters:
// letters in lower case, digits and single dashes, a letter first (RFC 1035). So it is fit for a
// label, and for the beginning of a machine's name. `nonce` distinguishes runs of one name.
std::string rented_job_id(std::string_view job_name, std::uint32_t nonce);

// Thread: one at a time. All throw SystemError if the disk refuses.
class RentalJournal final {
 public:
  // Reads the journal at `path`, or begins one for a job of this name, with a nonce from the
  // operating system. The last line may have been cut off by a crash, and is ignored then.
  RentalJournal(const std::filesystem::path& path, const std::string& job_name);

  const std::string& job_id() const { return job_id_; }
  // What earlier processes have written.
  const std::vector<nlohmann::json>& earlier() const { return earlier_; }
  // Returns when the line is on disk.
  void append(const nlohmann::json& line);

 private:
  void write(std::string text);

  std::filesystem::path path_;
  FileDescriptor file_;
  std::string job_id_;
  std::vector<nlohmann::json> earlier_;
};

}  // namespace scavenger
