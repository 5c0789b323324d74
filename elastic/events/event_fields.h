// Private to event.cpp: the fields of each event, in the order of the document. Writer and reader
// both walk these lists, so they cannot differ.
#pragma once

#include "elastic/events/event.h"
#include "runtime/base/fields.h"

namespace scavenger::elastic {

template <typename Visitor, MaybeConst<fact::Host> T>
void visit_fields(Visitor& field, T& host) {
  field("name", host.name);
  field("cores", host.cores);
  field("memory_bytes", host.memory_bytes);
  field("cpu", host.cpu);
}

template <typename Visitor, MaybeConst<fact::Target> T>
void visit_fields(Visitor& field, T& target) {
  field("metric", target.metric);
  field("split", target.split);
  field("value", target.value);
}

template <typename Visitor, MaybeConst<fact::Limits> T>
void visit_fields(Visitor& field, T& limits) {
  field("max_epochs", limits.max_epochs);
  field("max_iterations", limits.max_iterations);
  field("max_seconds", limits.max_seconds);
  field("max_cost", limits.max_cost);
}

template <typename Visitor, MaybeConst<fact::Start> T>
void visit_fields(Visitor& field, T& start) {
  field("schema_version", start.schema_version);
  field("utc", start.utc);
  field("job_id", start.job_id);
  field("name", start.name);
  field("version", start.version);
  field("commit", start.commit);
  field("config_digest", start.config_digest);
  field("host", start.host);
  field("resumed_from_iteration", start.resumed_from_iteration);
  field("time_before", start.time_before);
  field("workers", start.workers);
  field("price_per_worker_hour", start.price_per_worker_hour);
  field("precision", start.precision);
  field("samples_per_epoch", start.samples_per_epoch);
  field("parameter_count", start.parameter_count);
  field("target", start.target);
  field("limits", start.limits);
  field("policy", start.policy);
}

template <typename Visitor, MaybeConst<fact::ProcessStarted> T>
void visit_fields(Visitor& field, T& started) {
  field("role", started.role);
  field("index", started.index);
  field("pid", started.pid);
  field("log", started.log);
}

template <typename Visitor, MaybeConst<fact::ProcessJoined> T>
void visit_fields(Visitor& field, T& joined) {
  field("role", joined.role);
  field("index", joined.index);
  field("pid", joined.pid);
  field("start_seconds", joined.start_seconds);
}

template <typename Visitor, MaybeConst<fact::ProcessLost> T>
void visit_fields(Visitor& field, T& lost) {
  field("role", lost.role);
  field("index", lost.index);
  field("pid", lost.pid);
  field("how", lost.how);
  field("log_tail", lost.log_tail);
}

template <typename Visitor, MaybeConst<fact::Recovery> T>
void visit_fields(Visitor& field, T& recovery) {
  field("membership_epoch", recovery.membership_epoch);
  field("lost", recovery.lost);
  field("iteration", recovery.iteration);
  field("iterations_lost", recovery.iterations_lost);
  field("seconds", recovery.seconds);
}

template <typename Visitor, MaybeConst<fact::Membership> T>
void visit_fields(Visitor& field, T& membership) {
  field("membership_epoch", membership.membership_epoch);
  field("workers", membership.workers);
  field("batch_size", membership.batch_size);
  field("indices", membership.indices);
  field("shares", membership.shares);
  field("first_iteration", membership.first_iteration);
  field("position", membership.position);
  field("reason", membership.reason);
  field("rate_factor", membership.rate_factor);
}

template <typename Visitor, MaybeConst<fact::WorkerSeries> T>
void visit_fields(Visitor& field, T& worker) {
  field("rank", worker.rank);
  field("data_wait", worker.data_wait);
  field("forward", worker.forward);
  field("backward", worker.backward);
  field("sync_wait", worker.sync_wait);
  field("local_sqr_norm", worker.local_sqr_norm);
}

template <typename Visitor, MaybeConst<fact::Iterations> T>
void visit_fields(Visitor& field, T& iterations) {
  field("membership_epoch", iterations.membership_epoch);
  field("first", iterations.first);
  field("count", iterations.count);
  field("learning_rate", iterations.learning_rate);
  field("loss", iterations.loss);
  field("seconds", iterations.seconds);
  field("global_sqr_norm", iterations.global_sqr_norm);
  field("workers", iterations.workers);
  field("half_batches", iterations.half_batches);
}

template <typename Visitor, MaybeConst<fact::HalfBatches> T>
void visit_fields(Visitor& field, T& halves) {
  field("iteration", halves.iteration);
  field("first_samples", halves.first_samples);
  field("second_samples", halves.second_samples);
  field("seconds", halves.seconds);
  field("first_sqr_norm", halves.first_sqr_norm);
  field("second_sqr_norm", halves.second_sqr_norm);
  field("whole_sqr_norm", halves.whole_sqr_norm);
}

template <typename Visitor, MaybeConst<fact::SeriesDigest> T>
void visit_fields(Visitor& field, T& digest) {
  field("count", digest.count);
  field("moments", digest.moments);
  field("quantiles", digest.quantiles);
}

template <typename Visitor, MaybeConst<fact::WorkerDigest> T>
void visit_fields(Visitor& field, T& worker) {
  field("rank", worker.rank);
  field("data_wait", worker.data_wait);
  field("forward", worker.forward);
  field("backward", worker.backward);
  field("compute", worker.compute);
  field("sync_wait", worker.sync_wait);
  field("straggler_wait", worker.straggler_wait);
}

template <typename Visitor, MaybeConst<fact::PaceSample> T>
void visit_fields(Visitor& field, T& sample) {
  field("iteration", sample.iteration);
  field("seconds", sample.seconds);
}

template <typename Visitor, MaybeConst<fact::IterationBlock> T>
void visit_fields(Visitor& field, T& block) {
  field("membership_epoch", block.membership_epoch);
  field("first", block.first);
  field("count", block.count);
  field("discarded", block.discarded);
  field("learning_rate", block.learning_rate);
  field("loss", block.loss);
  field("seconds", block.seconds);
  field("data_wait", block.data_wait);
  field("forward", block.forward);
  field("backward", block.backward);
  field("compute", block.compute);
  field("sync_wait", block.sync_wait);
  field("transfer", block.transfer);
  field("straggler_skew", block.straggler_skew);
  field("workers", block.workers);
  field("pace", block.pace);
  field("job_noise", block.job_noise);
  field("membership_noise", block.membership_noise);
  field("half_batches", block.half_batches);
  field("half_batch_seconds", block.half_batch_seconds);
}

template <typename Visitor, MaybeConst<fact::Model> T>
void visit_fields(Visitor& field, T& model) {
  field("parameter_count", model.parameter_count);
  field("architecture", model.architecture);
  field("groups", model.groups);
}

template <typename Visitor, MaybeConst<fact::NoiseStable> T>
void visit_fields(Visitor& field, T& stable) {
  field("iteration", stable.iteration);
  field("noise_phase", stable.noise_phase);
  field("learning_rate", stable.learning_rate);
  field("noise_scale", stable.noise_scale);
  field("noise_scale_low", stable.noise_scale_low);
  field("noise_scale_high", stable.noise_scale_high);
}

template <typename Visitor, MaybeConst<fact::RateDecision> T>
void visit_fields(Visitor& field, T& decision) {
  field("iteration", decision.iteration);
  field("batch_size", decision.batch_size);
  field("noise_scale", decision.noise_scale);
  field("factor", decision.factor);
}

template <typename Visitor, MaybeConst<fact::SampleMemory> T>
void visit_fields(Visitor& field, T& memory) {
  field("worker", memory.worker);
  field("bytes_per_sample", memory.bytes_per_sample);
  field("room_samples", memory.room_samples);
}

template <typename Visitor, MaybeConst<fact::DeviceUse> T>
void visit_fields(Visitor& field, T& use) {
  field("worker", use.worker);
  field("device", use.device);
  field("most_used_bytes", use.most_used_bytes);
  field("most_reserved_bytes", use.most_reserved_bytes);
  field("total_bytes", use.total_bytes);
  field("graphs", use.graphs);
}

template <typename Visitor, MaybeConst<fact::ScriptValues> T>
void visit_fields(Visitor& field, T& logged) {
  field("iteration", logged.iteration);
  field("names", logged.names);
  field("values", logged.values);
}

template <typename Visitor, MaybeConst<fact::UserError> T>
void visit_fields(Visitor& field, T& error) {
  field("worker", error.worker);
  field("what", error.what);
  field("traceback", error.traceback);
}

template <typename Visitor, MaybeConst<fact::Evaluation> T>
void visit_fields(Visitor& field, T& evaluation) {
  field("iteration", evaluation.iteration);
  field("epoch", evaluation.epoch);
  field("split", evaluation.split);
  field("samples", evaluation.samples);
  field("loss", evaluation.loss);
  for (const MetricEntry& metric : kMetrics)
    if (metric.word != Metric::kLoss) field(metric.name.data(), evaluation.metrics[metric.word]);
  field("seconds", evaluation.seconds);
}

template <typename Visitor, MaybeConst<fact::Checkpoint> T>
void visit_fields(Visitor& field, T& checkpoint) {
  field("iteration", checkpoint.iteration);
  field("folder", checkpoint.folder);
  field("bytes", checkpoint.bytes);
  field("stall_seconds", checkpoint.stall_seconds);
  field("write_seconds", checkpoint.write_seconds);
  field("best", checkpoint.best);
}

template <typename Visitor, MaybeConst<fact::CheckpointFailed> T>
void visit_fields(Visitor& field, T& failed) {
  field("iteration", failed.iteration);
  field("reason", failed.reason);
}

template <typename Visitor, MaybeConst<fact::CheckpointDamaged> T>
void visit_fields(Visitor& field, T& damaged) {
  field("folder", damaged.folder);
  field("reason", damaged.reason);
}

template <typename Visitor, MaybeConst<fact::Pause> T>
void visit_fields(Visitor& field, T& pause) {
  field("paused", pause.paused);
  field("iteration", pause.iteration);
}

template <typename Visitor, MaybeConst<fact::TargetReached> T>
void visit_fields(Visitor& field, T& reached) {
  field("metric", reached.metric);
  field("split", reached.split);
  field("value", reached.value);
  field("iteration", reached.iteration);
  field("epoch", reached.epoch);
}

template <typename Visitor, MaybeConst<fact::Machine> T>
void visit_fields(Visitor& field, T& machine) {
  field("name", machine.name);
  field("change", machine.change);
  field("worker", machine.worker);
  field("machine_type", machine.machine_type);
  field("zone", machine.zone);
  field("spot", machine.spot);
  field("price_per_hour", machine.price_per_hour);
  field("on_demand_price_per_hour", machine.on_demand_price_per_hour);
  field("minimum_seconds", machine.minimum_seconds);
  field("charged_seconds", machine.charged_seconds);
  field("reason", machine.reason);
}

template <typename Visitor, MaybeConst<fact::SearchStep> T>
void visit_fields(Visitor& field, T& step) {
  field("iteration", step.iteration);
  field("phase", step.phase);
  field("workers", step.workers);
  field("batch_size", step.batch_size);
  field("reason", step.reason);
}

template <typename Visitor, MaybeConst<fact::VmStep> T>
void visit_fields(Visitor& field, T& step) {
  field("iteration", step.iteration);
  field("phase", step.phase);
  field("machine_type", step.machine_type);
  field("workers", step.workers);
  field("batch_size", step.batch_size);
  field("worker", step.worker);
  field("share", step.share);
  field("leaving", step.leaving);
  field("reason", step.reason);
  field("spot", step.spot);
  field("seconds_low", step.seconds_low);
  field("seconds_high", step.seconds_high);
}

template <typename Visitor, MaybeConst<fact::PredictedConfiguration> T>
void visit_fields(Visitor& field, T& predicted) {
  field("workers", predicted.workers);
  field("batch_size", predicted.batch_size);
  field("iteration_seconds", predicted.iteration_seconds);
  field("iteration_seconds_low", predicted.iteration_seconds_low);
  field("iteration_seconds_high", predicted.iteration_seconds_high);
  field("epochs", predicted.epochs);
  field("seconds", predicted.seconds);
  field("seconds_low", predicted.seconds_low);
  field("seconds_high", predicted.seconds_high);
  field("cost", predicted.cost);
  field("measured", predicted.measured);
  field("extrapolated", predicted.extrapolated);
  field("pareto", predicted.pareto);
  field("knee", predicted.knee);
}

template <typename Visitor, MaybeConst<fact::Prediction> T>
void visit_fields(Visitor& field, T& prediction) {
  field("iteration", prediction.iteration);
  field("policy", prediction.policy);
  field("relative", prediction.relative);
  field("reference_batch", prediction.reference_batch);
  field("time_form", prediction.time_form);
  field("statistical_form", prediction.statistical_form);
  field("noise_scale", prediction.noise_scale);
  field("noise_phase", prediction.noise_phase);
  field("workers", prediction.workers);
  field("batch_size", prediction.batch_size);
  field("reason", prediction.reason);
  field("candidates", prediction.candidates);
}

template <typename Visitor, MaybeConst<fact::Warning> T>
void visit_fields(Visitor& field, T& warning) {
  field("text", warning.text);
}

template <typename Visitor, MaybeConst<fact::End> T>
void visit_fields(Visitor& field, T& end) {
  field("status", end.status);
  field("reason", end.reason);
  field("iteration", end.iteration);
  field("position", end.position);
  field("exit_code", end.exit_code);
}

}  // namespace scavenger::elastic
