// The connections that a library opens behind our back, and how to end them. Gloo has no way to
// abandon what waits for a peer; the end of its connections does it, and tells the peers as well.
#pragma once

#include <sys/types.h>

#include <set>

namespace scavenger {

// Thread: any.
class NewSockets final {
 public:
  // Those that are open now are not meant.
  NewSockets();
  // Shuts all TCP connections down that were opened since. What listens goes on.
  void shut_down() const;

 private:
  std::set<ino_t> before_;
};

}  // namespace scavenger
