#include "runtime/torch/layers/dense.h"

#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/sum.h>
#include <torch/csrc/autograd/custom_function.h>

namespace scavenger {
namespace {

// Gradient slots in a form that autograd's context can store.
struct Slots final : torch::CustomClassHolder {
  Slots(const Parameter& w, const Parameter& b) : weight(w.slot), bias(b.slot) {}
  std::shared_ptr<GradientSlot> weight;
  std::shared_ptr<GradientSlot> bias;
};

// Writes the gradient to its place by `write(destination)` and returns no tensor. If several layers
// share the parameter, returns the gradient to autograd, which adds them.
template <typename Write, typename Compute>
at::Tensor deliver(GradientSlot& slot, const Write& write, const Compute& compute) {
  if (slot.uses > 1) return compute();
  if (slot.adds)
    slot.destination.add_(compute());
  else
    write(slot.destination);
  slot.written();
  return {};
}

// at::linear for a matrix x. The results are bitwise the same, since the operators are the same.
struct DenseFunction final : torch::autograd::Function<DenseFunction> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x,
                            const at::Tensor& weight, const at::Tensor& bias,
                            const c10::intrusive_ptr<Slots>& slots) {
    context->save_for_backward({x, weight});
    context->saved_data["slots"] = c10::IValue::make_capsule(slots);
    return at::linear(x, weight, bias);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const at::Tensor& x = saved[0];
    const at::Tensor& weight = saved[1];
    const at::Tensor& dy = gradients[0];
    const auto slots =
        c10::static_intrusive_pointer_cast<Slots>(context->saved_data.at("slots").toCapsule());
    // Computes first what reads the weights, which may be overwritten as soon as their gradient is
    // reported as final.
    at::Tensor dx;
    if (context->needs_input_grad(0)) dx = dy.mm(weight);
    at::Tensor dw;
    if (context->needs_input_grad(1))
      dw = deliver(
          *slots->weight, [&](at::Tensor& out) { at::mm_out(out, dy.t(), x); },
          [&] { return dy.t().mm(x); });
    at::Tensor db;
    if (context->needs_input_grad(2))
      db = deliver(
          *slots->bias, [&](at::Tensor& out) { at::sum_out(out, dy, {0}); },
          [&] { return dy.sum(0); });
    return {dx, dw, db, at::Tensor()};
  }
};

}  // namespace

at::Tensor dense(const at::Tensor& x, const Parameter& weight, const Parameter& bias) {
  // In reduced precision, autograd must handle the conversions of types itself.
  if (!at::GradMode::is_enabled() || at::autocast::is_autocast_enabled(x.device().type()))
    return at::linear(x, weight.tensor, bias.tensor);
  if (x.dim() != 2) {
    std::vector<std::int64_t> shape = x.sizes().vec();
    shape.back() = weight.tensor.size(0);
    return dense(x.reshape({-1, x.size(-1)}), weight, bias).view(shape);
  }
  ++weight.slot->uses;
  ++bias.slot->uses;
  return DenseFunction::apply(x, weight.tensor, bias.tensor,
                              c10::make_intrusive<Slots>(weight, bias));
}

}  // namespace scavenger
