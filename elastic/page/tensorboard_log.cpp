#include "elastic/page/tensorboard_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cmath>
#include <ctime>
#include <iomanip>
#include <sstream>
#include <utility>
#include <variant>

#include "elastic/history/evaluation_metric.h"
#include "runtime/base/error.h"

namespace scavenger::elastic {
namespace {

// TensorBoard takes every file whose name has "tfevents" in it.
constexpr const char* kFileName = "events.out.tfevents.0000000000.scavenger";

std::uint32_t crc32c(std::string_view data) {
  static const std::array<std::uint32_t, 256> kTable = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit)
        value = (value & 1) != 0 ? value >> 1 ^ 0x82f63b78U : value >> 1;
      table[i] = value;
    }
    return table;
  }();
  std::uint32_t crc = ~0U;
  for (const char c : data) crc = crc >> 8 ^ kTable[(crc ^ static_cast<unsigned char>(c)) & 0xff];
  return ~crc;
}

template <typename T>
void append_little_endian(std::string& out, T value) {
  for (std::size_t i = 0; i < sizeof value; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
}

void append_checksum(std::string& out, std::string_view data) {
  const std::uint32_t crc = crc32c(data);
  append_little_endian(out, (crc >> 15 | crc << 17) + 0xa282ead8U);
}

// ---- Protocol buffers: the four kinds of fields that an Event needs. ----

void append_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>((value & 0x7f) | 0x80);
  out += static_cast<char>(value);
}

void append_key(std::string& out, std::uint32_t field, std::uint32_t wire_type) {
  append_varint(out, field << 3 | wire_type);
}

void append_bytes(std::string& out, std::uint32_t field, std::string_view bytes) {
  append_key(out, field, 2);
  append_varint(out, bytes.size());
  out += bytes;
}

// Event { double wall_time = 1; int64 step = 2; string file_version = 3; Summary summary = 5; }
std::string event_head(double wall_time, std::uint64_t step) {
  std::string event;
  append_key(event, 1, 1);
  append_little_endian(event, std::bit_cast<std::uint64_t>(wall_time));
  append_key(event, 2, 0);
  append_varint(event, step);
  return event;
}

// Summary { repeated Value value = 1; }, Value { string tag = 1; float simple_value = 2; }
std::string summary_of(std::string_view tag, double value) {
  std::string one;
  append_bytes(one, 1, tag);
  append_key(one, 2, 5);
  append_little_endian(one, std::bit_cast<std::uint32_t>(static_cast<float>(value)));
  std::string summary;
  append_bytes(summary, 1, one);
  return summary;
}

// "2026-11-21T08:35:08Z"; 0 where it is no such text.
double utc_seconds(const std::string& text) {
  std::tm parts{};
  std::istringstream stream(text);
  stream >> std::get_time(&parts, "%Y-%m-%dT%H:%M:%SZ");
  return stream.fail() ? 0.0 : static_cast<double>(::timegm(&parts));
}

double mean_of(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double mean_of(const fact::Iterations& iterations,
               std::vector<double> fact::WorkerSeries::*series) {
  double sum = 0.0;
  for (const fact::WorkerSeries& worker : iterations.workers) sum += mean_of(worker.*series);
  return sum / static_cast<double>(iterations.workers.size());
}

}  // namespace

std::string tensorboard_record(std::string_view data) {
  std::string length, record;
  append_little_endian(length, static_cast<std::uint64_t>(data.size()));
  record = length;
  append_checksum(record, length);
  record += data;
  append_checksum(record, data);
  return record;
}

TensorboardLog::TensorboardLog(const std::filesystem::path& folder) : path_(folder / kFileName) {
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  file_ = FileDescriptor(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (file_.get() < 0)
    throw SystemError(
        errno,
        {.what = "cannot write TensorBoard's events", .where = path_.string(), .remedy = {}});
  std::string first = event_head(0.0, 0);
  append_bytes(first, 3, "brain.Event:2");
  waiting_ = tensorboard_record(first);
}

void TensorboardLog::add(const LoggedEvent& logged) {
  std::visit([&](const auto& fact) { add_fact(logged.time, fact); }, logged.event);
}

void TensorboardLog::add_scalar(double time, std::uint64_t step, std::string_view tag,
                                double value) {
  if (!std::isfinite(value)) return;
  std::string event = event_head(utc_origin_seconds_ + time, step);
  append_bytes(event, 5, summary_of(tag, value));
  waiting_ += tensorboard_record(event);
}

void TensorboardLog::flush() {
  std::size_t written = 0;
  while (written < waiting_.size()) {
    const ssize_t count =
        ::write(file_.get(), waiting_.data() + written, waiting_.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0)
      throw SystemError(
          errno,
          {.what = "cannot write TensorBoard's events", .where = path_.string(), .remedy = {}});
    written += static_cast<std::size_t>(count);
  }
  waiting_.clear();
}

void TensorboardLog::add_fact(double time, const fact::Start& start) {
  utc_origin_seconds_ = utc_seconds(start.utc) - time;
}

void TensorboardLog::add_fact(double time, const fact::Membership& membership) {
  add_scalar(time, membership.first_iteration, "cluster/workers", membership.workers);
  add_scalar(time, membership.first_iteration, "cluster/batch_size", membership.batch_size);
}

// One point for each series that was logged, the mean of its iterations.
void TensorboardLog::add_fact(double time, const fact::Iterations& iterations) {
  if (iterations.count == 0) return;
  const std::uint64_t step = iterations.first + iterations.count;
  add_scalar(time, step, "loss/training", mean_of(iterations.loss));
  add_scalar(time, step, "learning_rate", iterations.learning_rate);
  add_scalar(time, step, "seconds/iteration", mean_of(iterations.seconds));
  if (iterations.workers.empty()) return;
  add_scalar(time, step, "seconds/data_wait", mean_of(iterations, &fact::WorkerSeries::data_wait));
  add_scalar(time, step, "seconds/forward", mean_of(iterations, &fact::WorkerSeries::forward));
  add_scalar(time, step, "seconds/backward", mean_of(iterations, &fact::WorkerSeries::backward));
  add_scalar(time, step, "seconds/exposed_synchronisation",
             mean_of(iterations, &fact::WorkerSeries::sync_wait));
}

void TensorboardLog::add_fact(double time, const fact::IterationBlock& block) {
  const std::uint64_t step = block.first + block.count;
  const auto add_mean = [&](std::string_view tag, const fact::SeriesDigest& digest) {
    if (digest.count > 0) add_scalar(time, step, tag, digest.moments.front());
  };
  add_mean("loss/training", block.loss);
  add_scalar(time, step, "learning_rate", block.learning_rate);
  add_mean("seconds/iteration", block.seconds);
  add_mean("seconds/data_wait", block.data_wait);
  add_mean("seconds/forward", block.forward);
  add_mean("seconds/backward", block.backward);
  add_mean("seconds/exposed_synchronisation", block.sync_wait);
}

void TensorboardLog::add_fact(double time, const fact::Evaluation& evaluation) {
  for (const MetricEntry& metric : kMetrics)
    if (const auto value = metric_of(evaluation, metric.word))
      add_scalar(time, evaluation.iteration,
                 fmt::format("{}/{}", metric.name, name_of(evaluation.split)), *value);
}

void TensorboardLog::add_fact(double time, const fact::NoiseStable& stable) {
  add_scalar(time, stable.iteration, "noise_scale", stable.noise_scale);
}

void TensorboardLog::add_fact(double time, const fact::Checkpoint& checkpoint) {
  add_scalar(time, checkpoint.iteration, "seconds/checkpoint_stall", checkpoint.stall_seconds);
}

}  // namespace scavenger::elastic
