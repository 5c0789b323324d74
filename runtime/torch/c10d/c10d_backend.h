// What the two libraries of collectives need to connect a group.
#pragma once

#include <chrono>
#include <memory>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "runtime/collective/link.h"
#include "runtime/torch/c10d/c10d.h"
#include "runtime/training/synchroniser.h"

namespace scavenger {

// Connects to the store of this group, with keys that only this group uses. Throws c10d's
// exceptions after `options.connect_seconds`.
c10::intrusive_ptr<c10d::Store> store_of(const SyncGroup& group, const C10dOptions& options);

std::chrono::milliseconds milliseconds_of(double seconds);

// Throws InputError if this build lacks the library.
std::unique_ptr<Connector> make_gloo_connector(const C10dOptions& options);

}  // namespace scavenger
