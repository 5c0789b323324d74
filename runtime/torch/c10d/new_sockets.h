// Finds and ends the connections that a library opens by itself. Gloo cannot abort an operation
// that waits for a peer; ending its connections aborts it, and also informs the peers.
#pragma once

#include <sys/types.h>

#include <set>

namespace scavenger {

// Thread: any.
class NewSockets final {
 public:
  // Sockets that are open now are excluded.
  NewSockets();
  // Shuts down all TCP connections that were opened since then. Listening sockets are not affected.
  void shut_down() const;

 private:
  std::set<ino_t> before_;
};

}  // namespace scavenger
