// Computes forward and backward passes as graphs, which a device replays with one call of the host,
// where the shapes of batches repeat (runtime/torch/device/graph_plan.h says when).
//
// A graph holds the whole pass of one shape. It reads copies of the batch's tensors and of the keys
// of dropout, which are overwritten before each replay. Gradients leave while it is computed: at
// its points where a piece of them is final, the device waits on another stream, and what is done
// with the piece follows there.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/config/job_config.h"
#include "runtime/torch/device/device_graph.h"
#include "runtime/torch/device/graph_plan.h"
#include "runtime/torch/layers/model.h"
#include "runtime/torch/trainer/batch_tensors.h"
#include "runtime/torch/trainer/gradient_collector.h"
#include "runtime/torch/trainer/loss_sum.h"
#include "runtime/training/trainer.h"

namespace scavenger {

// Thread: the one that trains. The references must outlive it.
class GraphedPass final {
 public:
  struct Parts {
    Model& model;
    GradientCollector& collector;
    at::Device device;
    Precision precision;
    MakeDeviceGraph make;
    // Returns the batch's loss, of tensors of all its samples.
    std::function<at::Tensor(const BatchTensors& tensors, std::uint32_t samples, double loss_terms)>
        loss_of;
    std::function<void(const std::string&)> say;   // for the log
    std::function<void(const std::string&)> tell;  // for the user
  };
  explicit GraphedPass(Parts parts);

  struct Pass {
    const BatchTensors& tensors;
    std::uint32_t samples = 0;
    double loss_terms = 1.0;
    double loss_scale = 1.0;
    const void* weights = nullptr;  // on the device
    const void* gradients = nullptr;
  };
  // Begins the pass, reports gradients as GradientCollector does, and adds its loss, which is sent.
  // Returns false if the pass has to be computed kernel by kernel; nothing has happened then.
  bool run(const Pass& pass, LossSum& loss, const GradientReady& report);

  // Frees all graphs: their memory is needed, or what they read has changed.
  void forget();
  std::uint32_t captures() const { return plan_.captures(); }

 private:
  struct Piece {
    std::uint64_t first = 0, last = 0;
    std::size_t mark = 0;
  };
  struct Slot {
    std::unique_ptr<DeviceGraph> graph;
    BatchTensors inputs;
    at::Tensor dropout_keys;  // not defined if the model has no dropout
    std::uint32_t samples = 0;
    double loss_terms = 1.0, loss_scale = 1.0;
    at::Tensor loss;
    std::size_t loss_mark = 0;
    std::vector<Piece> pieces;
  };

  bool capture(Slot& slot, const Pass& pass);
  void record(Slot& slot);
  void hand_over(Slot& slot, LossSum& loss, const GradientReady& report);
  void give_up(const std::string& reason);

  Parts parts_;
  std::optional<c10::Stream> after_stream_;  // none on the CPU
  GraphPlan plan_;
  std::vector<Slot> slots_;
};

}  // namespace scavenger
