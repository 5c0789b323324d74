#include "runtime/torch/trainer/graphed_pass.h"

#include <ATen/core/grad_mode.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <utility>

#include "runtime/base/check.h"
#include "runtime/torch/device/device_mirror.h"
#include "runtime/torch/device/range_joiner.h"
#include "runtime/torch/device/reduced_precision.h"
#include "runtime/torch/imported/foreign_model.h"
#include "runtime/torch/layers/dropout.h"

namespace scavenger {
namespace {

PassKey key_of(const GraphedPass::Pass& pass) {
  PassKey key{.shape = {},
              .loss_terms = pass.loss_terms,
              .loss_scale = pass.loss_scale,
              .weights = pass.weights,
              .gradients = pass.gradients};
  BatchTensors tensors = pass.tensors;
  for_each_tensor(tensors, [&](const at::Tensor& tensor) {
    key.shape.push_back(tensor.dim());
    key.shape.insert(key.shape.end(), tensor.sizes().begin(), tensor.sizes().end());
  });
  return key;
}

std::vector<at::Tensor> list_of(BatchTensors tensors) {
  std::vector<at::Tensor> list;
  for_each_tensor(tensors, [&](const at::Tensor& tensor) { list.push_back(tensor); });
  return list;
}

}  // namespace

GraphedPass::GraphedPass(Parts parts) : parts_(std::move(parts)), slots_(GraphPlan::kMostGraphs) {
  if (!parts_.device.is_cpu())
    after_stream_ =
        c10::impl::VirtualGuardImpl(parts_.device.type()).getStreamFromGlobalPool(parts_.device);
}

bool GraphedPass::run(const Pass& pass, LossSum& loss, const GradientReady& report) {
  const GraphPlan::Decision decision = plan_.next(key_of(pass));
  if (plan_.has_just_given_up()) give_up("the shapes of its batches do not repeat");
  if (decision.way == PassWay::kEager) return false;
  Slot& slot = slots_[decision.slot];
  if (decision.way == PassWay::kCapture) {
    if (!capture(slot, pass)) return false;
  } else {
    const std::vector<at::Tensor> from = list_of(pass.tensors), to = list_of(slot.inputs);
    for (std::size_t i = 0; i < to.size(); ++i) to[i].copy_(from[i], /*non_blocking=*/true);
    if (slot.dropout_keys.defined())
      slot.dropout_keys.copy_(dropout_keys_on(parts_.device, parts_.model), /*non_blocking=*/true);
  }
  slot.graph->replay();
  hand_over(slot, loss, report);
  return true;
}

// Returns false if the pass cannot be recorded.
bool GraphedPass::capture(Slot& slot, const Pass& pass) {
  slot = Slot{.graph = parts_.make(),
              .inputs = pass.tensors,
              .dropout_keys = {},
              .samples = pass.samples,
              .loss_terms = pass.loss_terms,
              .loss_scale = pass.loss_scale,
              .loss = {},
              .pieces = {}};
  for_each_tensor(slot.inputs, [](at::Tensor& tensor) { tensor = tensor.clone(); });
  if (parts_.model.random_places() > 0)
    slot.dropout_keys = dropout_keys_on(parts_.device, parts_.model);
  try {
    slot.graph->capture([this, &slot] { record(slot); });
  } catch (const std::exception& error) {
    give_up(cause_of(error));
    return false;
  }
  plan_.captured();
  parts_.say("passes of " + std::to_string(pass.samples) + " samples are a CUDA graph now, of " +
             std::to_string(slot.pieces.size()) + " pieces of gradients");
  return true;
}

// What is reported of gradients here happens once, and is noted for replays.
void GraphedPass::record(Slot& slot) {
  slot.pieces.clear();
  RangeJoiner joiner(DeviceMirror::kPieceFloats);
  const auto note_piece = [&](std::uint64_t first, std::uint64_t last) {
    slot.pieces.push_back({first, last, slot.graph->mark()});
  };
  const GradientReady note = [&](std::uint64_t first, std::uint64_t last) {
    joiner.add(first, last, note_piece);
  };
  if (slot.dropout_keys.defined()) parts_.model.layer_keys() = slot.dropout_keys;
  parts_.collector.begin(note);
  parts_.collector.begin_pass(/*is_last=*/true);
  const ReducedPrecision reduced(parts_.precision, parts_.device.type());
  const at::Tensor loss = parts_.loss_of(slot.inputs, slot.samples, slot.loss_terms);
  {
    const at::NoGradGuard no_gradients;
    slot.loss = loss.to(at::kDouble, /*non_blocking=*/false, /*copy=*/true);
  }
  slot.loss_mark = slot.graph->mark();
  (slot.loss_scale == 1.0 ? loss : loss.mul(slot.loss_scale)).backward();
  parts_.collector.finish();
  joiner.flush(note_piece);
}

void GraphedPass::hand_over(Slot& slot, LossSum& loss, const GradientReady& report) {
  if (!after_stream_) {
    loss.add(slot.loss);
    loss.send();
    for (const Piece& piece : slot.pieces) report(piece.first, piece.last);
    return;
  }
  const c10::Stream current =
      c10::impl::VirtualGuardImpl(parts_.device.type()).getStream(parts_.device);
  slot.graph->wait_for(slot.loss_mark, *after_stream_);
  {
    const c10::StreamGuard after(*after_stream_);
    loss.add(slot.loss);
    loss.send();
    for (const Piece& piece : slot.pieces) {
      slot.graph->wait_for(piece.mark, *after_stream_);
      report(piece.first, piece.last);
    }
  }
  c10::Event done(parts_.device.type());
  done.record(*after_stream_);
  done.block(current);
}

void GraphedPass::forget() {
  plan_.forget();
  for (Slot& slot : slots_) slot = Slot();
}

void GraphedPass::give_up(const std::string& reason) {
  plan_.give_up();
  forget();
  parts_.tell("passes are computed without CUDA graphs: " + reason);
}

}  // namespace scavenger
