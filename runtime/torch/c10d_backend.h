// The two backends of c10d, each connected to all ranks when it is there.
#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "runtime/torch/c10d.h"

namespace scavenger {

struct C10dPlace {
  c10::intrusive_ptr<c10d::Store> store;  // of this group alone
  int rank = 0;
  int size = 1;
};

// Throw what c10d throws where not all come within options.connect_seconds.
c10::intrusive_ptr<c10d::Backend> connect_gloo(const C10dPlace& place, const C10dOptions& options);
c10::intrusive_ptr<c10d::Backend> connect_nccl(const C10dPlace& place, const C10dOptions& options);

}  // namespace scavenger
