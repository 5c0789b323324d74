#include "runtime/worker/worker.h"

#include <bit>
#include <cstdint>
#include <span>
#include <utility>
#include <variant>

#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/overloaded.h"
#include "runtime/training/state_holder.h"

namespace scavenger {

Worker::Worker(Parts parts, Hooks hooks)
    : parts_(parts),
      hooks_(std::move(hooks)),
      training_assembler_(BatchAssembler::for_training(parts.train, parts.config.data,
                                                       parts.config.seed, hooks_.prepares_images)),
      train_evaluator_(BatchAssembler::for_evaluation(parts.train, parts.config.data)),
      test_evaluator_(BatchAssembler::for_evaluation(parts.test, parts.config.data)),
      loader_(
          [this](const BatchPlace& place, Batch& batch) {
            training_assembler_.assemble(place, batch);
            if (hooks_.expect) hooks_.expect(batch);
          },
          parts.clock, hooks_.batches_ahead + 1),
      probe_(parts.trainer, parts.clock,
             parts.config.noise.per_layer ? group_by_layer(parts.trainer.parameters())
                                          : one_group(parts.trainer.parameters()),
             half_batch_share(parts.config)),
      initial_buffers_(buffers()) {}

Worker::~Worker() {
  parts_.trainer.use_waiting_time({});
  parts_.trainer.release_vectors();  // they belong to the synchroniser
  parts_.commands.steer(nullptr);
}

std::optional<WorkerIteration> Worker::run() {
  for (;;) {
    auto message =
        trains_ ? parts_.commands.next(loop_->iteration()) : std::optional(parts_.commands.wait());
    if (!message)
      run_iteration();
    else if (std::holds_alternative<Stop>(*message))
      break;
    else
      obey(*message);
  }
  if (!trains_) return std::nullopt;
  parts_.trainer.use_weights(synchroniser_->weights());
  return loop_->next_iteration();
}

void Worker::obey(const ControlMessage& command) {
  const Overloaded handlers{
      [this](const ConfigureWorker& message) { on_configure_worker(message); },
      [this](const Halt& message) { on_halt(message); },
      [this](const Evaluate& message) { on_evaluate(message); },
      [this](const SendBuffers& message) { on_send_buffers(message); },
      [this](const Buffers& message) { on_buffers(message); },
      [this](const Snapshot& message) { on_snapshot(message); },
      [](const auto&) {
        throw ProtocolError({.what = "the controller sent a message that is not for workers",
                             .where = {},
                             .remedy = {}});
      },
  };
  std::visit(handlers, command);
}

void Worker::run_iteration() {
  hooks_.begins_iteration(loop_->next_iteration());
  parts_.trainer.keep_buffers();
  const bool was_measured = parts_.trainer.sample_memory().bytes_per_sample > 0;
  if (loop_->run_iteration()) {
    if (!was_measured && parts_.trainer.sample_memory().bytes_per_sample > 0) say_room();
    // The peak moves in the first iterations, and seldom after them.
    if (std::has_single_bit(++iterations_here_)) say_device_use();
    if (!parts_.commands.granted(loop_->iteration()))
      loop_->flush();  // the controller waits for these reports
    return;
  }
  trains_ = false;
  unfinished_ = true;
  say_stuck();
}

void Worker::say_room() {
  const SampleMemory memory = parts_.trainer.sample_memory();
  log_info("a sample takes {} bytes in a pass, which has room for {}", memory.bytes_per_sample,
           memory.room_samples);
  hooks_.post(memory);
}

void Worker::say_device_use() {
  const auto use = parts_.trainer.device_use();
  if (!use || !has_changed(*use, told_use_)) return;
  told_use_ = *use;
  hooks_.post(*use);
}

// Reports a lost connection. An interrupted worker is not stuck.
void Worker::say_stuck() {
  const std::string problem = synchroniser_->problem();
  if (problem.empty()) return;
  log_warning("iteration {} cannot end: {}", loop_ ? loop_->iteration() : 0, problem);
  hooks_.post(Stuck{problem});
}

// ---- Memberships. ----

void Worker::on_configure_worker(const ConfigureWorker& message) {
  const SyncGroup& group = message.group;
  if (!synchroniser_) {
    synchroniser_ = hooks_.make_synchroniser(group);
    parts_.commands.steer(synchroniser_.get());
    parts_.trainer.use_waiting_time([this] { return synchroniser_->work_ahead(); });
    if (parts_.trainer.fetches_weights())
      synchroniser_->tell_of_weights(
          [this](std::span<float> next_weights, std::uint64_t first, std::uint64_t last) {
            parts_.trainer.fetch_weights(next_weights, first, last);
          });
  }
  hooks_.use_threads(group.threads);
  load_from(group);
  settle_buffers(message);
  trains_ = false;
  // The weights of all ranks but the source are overwritten.
  has_weights_ = has_weights_ && group.rank == group.source_rank;
  if (!load_state(message)) return;
  if (synchroniser_->keeps_memory())
    parts_.trainer.settle_vectors();
  else
    parts_.trainer.release_vectors();  // join() may move them
  const auto initial_weights = [this](std::span<float> weights) {
    parts_.trainer.use_weights(weights);
    parts_.trainer.write_initial_weights();
  };
  if (!synchroniser_->join(group, initial_weights)) return say_stuck();
  parts_.trainer.use_gradients(synchroniser_->gradients());
  // The probe computes its sums in host memory.
  const bool needs_halves = parts_.trainer.vectors_are_on_host() &&
                            (group.membership.workers() == 1 || parts_.config.noise.per_layer);
  loop_.emplace(WorkerLoop::Parts{parts_.trainer, *synchroniser_, loader_, parts_.clock,
                                  needs_halves && group.rank == 0 ? &probe_ : nullptr},
                parts_.config, parts_.train.size(), group.membership, group.rank,
                [this](IterationStats stats) { hooks_.post(std::move(stats)); });
  trains_ = has_weights_ = true;
  hooks_.post(Ready{group.membership.epoch});
  log_info("membership {}: rank {} of {}, {} samples of each batch of {}, from iteration {}",
           group.membership.epoch, group.rank, group.membership.workers(),
           group.membership.shares[group.rank], group.membership.batch_size,
           group.membership.first_iteration);
}

// Loads the state of a checkpoint if the workers keep it. Returns false if it was interrupted.
bool Worker::load_state(const ConfigureWorker& message) {
  if (message.state_pieces == 0) return true;
  StateHolder* const holder = synchroniser_->state_holder();
  if (holder == nullptr)
    throw ProtocolError(
        {.what = "state came to a worker that keeps none", .where = {}, .remedy = {}});
  holder->begin_load(message.group.membership.first_iteration);
  for (bool complete = false; !complete;) {
    const auto piece = parts_.commands.wait_for_state();
    if (!piece) return false;
    complete = holder->load(piece->vector, piece->chunk, piece->floats);
  }
  return true;
}

// Starts to load batches, at the same time as joining.
void Worker::load_from(const SyncGroup& group) {
  const Membership& membership = group.membership;
  loader_.start({membership.first_iteration, membership.first_position, membership.batch_size,
                 membership.offset_of(group.rank), membership.shares[group.rank]});
}

void Worker::settle_buffers(const ConfigureWorker& message) {
  const bool repeats =
      unfinished_ && message.group.membership.first_iteration == loop_->iteration();
  if (message.has_buffers)
    parts_.trainer.write_buffers(message.buffers);
  else if (message.group.membership.first_iteration == 0 && !initial_buffers_.empty())
    parts_.trainer.write_buffers(initial_buffers_);  // the job begins, or starts again
  else if (repeats)
    parts_.trainer.write_buffers(buffers_before());
  unfinished_ = false;
}

void Worker::on_halt(const Halt&) {
  trains_ = false;
  if (loop_) loop_->flush();
  Halted answer{loop_ ? loop_->iteration() : 0, has_weights_,
                unfinished_ ? buffers_before() : buffers()};
  if (StateHolder* const holder = synchroniser_ ? synchroniser_->state_holder() : nullptr) {
    answer.has_weights = holder->held_iteration().has_value();
    if (answer.has_weights) answer.iteration = *holder->held_iteration();
  }
  hooks_.post(std::move(answer));
}

std::vector<float> Worker::buffers() const {
  std::vector<float> values(parts_.trainer.buffers().flat_size());
  if (!values.empty()) parts_.trainer.read_buffers(values);
  return values;
}

std::vector<float> Worker::buffers_before() const {
  std::vector<float> values(parts_.trainer.buffers().flat_size());
  if (!values.empty()) parts_.trainer.read_kept_buffers(values);
  return values;
}

// ---- At a boundary. ----

void Worker::on_evaluate(const Evaluate& message) {
  if (!trains_)
    throw ProtocolError(
        {.what = "an evaluation was asked for outside of a membership", .where = {}, .remedy = {}});
  parts_.trainer.use_weights(synchroniser_->weights());
  BatchAssembler& assembler = message.split == Split::kTrain ? train_evaluator_ : test_evaluator_;
  if (const auto sums = evaluate_range(parts_.trainer, assembler, message,
                                       [this] { return parts_.commands.interrupted(); }))
    hooks_.post(*sums);
  say_device_use();
}

void Worker::on_send_buffers(const SendBuffers&) {
  hooks_.post(Buffers{buffers()});
}

// The buffers of another worker, so that all workers evaluate the same model.
void Worker::on_buffers(const Buffers& message) {
  if (message.values.size() != parts_.trainer.buffers().flat_size())
    throw ProtocolError({.what = "buffers of another model came", .where = {}, .remedy = {}});
  parts_.trainer.write_buffers(message.values);
}

void Worker::on_snapshot(const Snapshot& message) {
  StateHolder* const holder = trains_ ? synchroniser_->state_holder() : nullptr;
  if (holder == nullptr)
    throw ProtocolError(
        {.what = "a snapshot was asked of a worker that keeps none", .where = {}, .remedy = {}});
  hooks_.post(SnapshotTaken{message.iteration, holder->begin_snapshot(message.iteration)});
}

}  // namespace scavenger
