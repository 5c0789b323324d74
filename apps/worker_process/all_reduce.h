// What all-reduce workers have in common, whoever adds up their gradients.
#pragma once

#include <memory>

#include "ps/collective/collective_synchroniser.h"
#include "ps/collective/snapshot_copier.h"
#include "ps/core/chunk_layout.h"
#include "runtime/net/frame_connection.h"
#include "runtime/net/io_thread.h"
#include "runtime/training/collective.h"
#include "runtime/training/replica.h"

namespace scavenger {

struct AllReduceParts;

// The layout of a worker that holds the whole state.
ps::ChunkLayout whole_layout(const AllReduceParts& parts);

// Returns a synchroniser that sends its snapshots to the controller.
std::unique_ptr<Synchroniser> make_collective_synchroniser(const AllReduceParts& parts,
                                                           std::unique_ptr<Replica> replica,
                                                           std::unique_ptr<Collective> collective);

}  // namespace scavenger
