// The curve that so many lifetimes allow: a constant rate for few losses; for many, early losses
// and losses of old machines as well.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "perfmodel/survival/kaplan_meier.h"
#include "perfmodel/survival/survival.h"

namespace scavenger::perfmodel {

inline constexpr std::size_t kLossesForFit = 30;

// Whether fitted_survival() may be asked: there are losses enough, and machines live for hours. The
// fits look for losses within minutes; emulated machines live for seconds.
bool allows_fit(std::span<const Lifetime> lives);

// The fitted early hazard, or the bathtub if its squared distance to Kaplan-Meier's curve is less
// than half. Requires allows_fit().
std::shared_ptr<const Survival> fitted_survival(std::span<const Lifetime> lives);

}  // namespace scavenger::perfmodel
