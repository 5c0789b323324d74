#include "elastic/coordinator/checkpoint_writer.h"

#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/error.h"

namespace scavenger::elastic {

CheckpointWriter::CheckpointWriter(asio::io_context& io, const Clock& clock,
                                   const std::filesystem::path& folder, Retention retention,
                                   std::function<void()> safe,
                                   std::function<void(const CheckpointOutcome&)> done)
    : io_(io),
      clock_(clock),
      store_(disk_, folder, retention),
      safe_(std::move(safe)),
      done_(std::move(done)) {}

CheckpointWriter::~CheckpointWriter() {
  thread_.join();
}

void CheckpointWriter::begin(Checkpoint base, const ps::ChunkLayout& layout,
                             std::vector<std::string> state_names, std::uint32_t copies,
                             bool is_best) {
  SCAVENGER_CHECK(!round_ && copies > 0);
  round_ = std::make_unique<Round>(std::move(base), layout, std::move(state_names));
  round_->missing_copies = copies;
  round_->start_seconds = clock_.now_seconds();
  round_->outcome.iteration = round_->collector.checkpoint().iteration;
  round_->outcome.is_best = is_best;
}

CheckpointWriter::Round& CheckpointWriter::round() {
  if (!round_)
    throw ProtocolError({.what = "state came that nobody asked for", .where = {}, .remedy = {}});
  return *round_;
}

void CheckpointWriter::shard_has_copied(std::uint64_t optimizer_steps) {
  round().collector.set_optimizer_steps(optimizer_steps);
  copied();
}

void CheckpointWriter::buffers_arrived(std::vector<float> values) {
  round().collector.set_buffers(std::move(values));
  copied();
}

void CheckpointWriter::copied() {
  if (round_->missing_copies == 0)
    throw ProtocolError({.what = "state was copied twice", .where = {}, .remedy = {}});
  if (--round_->missing_copies > 0) return;
  round_->outcome.stall_seconds = clock_.now_seconds() - round_->start_seconds;
  safe_();
  write_if_complete();
}

std::span<std::byte> CheckpointWriter::destination(const FrameHeader& header) {
  return round().collector.destination(header);
}

void CheckpointWriter::arrived(const FrameHeader& header) {
  round().collector.arrived(header);
  write_if_complete();
}

void CheckpointWriter::write_if_complete() {
  if (round_->missing_copies == 0 && round_->collector.complete())
    asio::post(thread_, [this] { write(); });
}

void CheckpointWriter::write() {
  CheckpointOutcome outcome = round_->outcome;
  try {
    outcome.written = store_.write(round_->collector.checkpoint(), outcome.is_best);
  } catch (const Error& failure) {
    outcome.error = failure.what();
  }
  asio::post(io_, [this, outcome = std::move(outcome)]() mutable {
    outcome.write_seconds = clock_.now_seconds() - round_->start_seconds;
    round_.reset();
    done_(outcome);
  });
}

}  // namespace scavenger::elastic
