// A run's scalars as TensorBoard's event files (docs/page.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "elastic/events/event.h"
#include "runtime/base/file.h"

namespace scavenger::elastic {

// One record of a TFRecord file: length and data, each with a masked CRC-32C.
std::string tensorboard_record(std::string_view data);

// One thread.
class TensorboardLog final {
 public:
  // Makes the folder if it is missing, and begins its file anew. Throws SystemError.
  explicit TensorboardLog(const std::filesystem::path& folder);

  // Adds the scalars of an event; give all of the log, in its order.
  void add(const LoggedEvent& logged);
  // Writes what was added. Throws SystemError.
  void flush();

 private:
  void add_fact(double time, const fact::Start& start);
  void add_fact(double time, const fact::Membership& membership);
  void add_fact(double time, const fact::Iterations& iterations);
  void add_fact(double time, const fact::IterationBlock& block);
  void add_fact(double time, const fact::Evaluation& evaluation);
  void add_fact(double time, const fact::NoiseStable& stable);
  void add_fact(double time, const fact::Checkpoint& checkpoint);
  template <typename Fact>
  void add_fact(double, const Fact&) {}
  void add_scalar(double time, std::uint64_t step, std::string_view tag, double value);

  std::filesystem::path path_;
  FileDescriptor file_;
  std::string waiting_;
  double utc_origin_seconds_ = 0.0;  // the time of day of the job's second 0
};

}  // namespace scavenger::elastic
