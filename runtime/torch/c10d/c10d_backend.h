// The two backends of c10d. A backend is connected to all ranks when it is returned.
#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "runtime/torch/c10d/c10d.h"

namespace scavenger {

struct C10dPlace {
  c10::intrusive_ptr<c10d::Store> store;  // used by this group only
  int rank = 0;
  int size = 1;
};

// Throw c10d's exceptions if not all ranks connect within options.connect_seconds.
c10::intrusive_ptr<c10d::Backend> connect_gloo(const C10dPlace& place, const C10dOptions& options);
c10::intrusive_ptr<c10d::Backend> connect_nccl(const C10dPlace& place, const C10dOptions& options);

}  // namespace scavenger
