// Strangers who speak TLS, in ways that are not ours.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/base/digest.h"
#include "runtime/net/asio.h"

namespace scavenger {

// A client of TLS, with a pre-shared key as it likes.
struct TlsStranger {
  std::string identity;  // "": none
  Digest key{};
  int newest_version = 0x0304;  // TLS 1.3
  std::vector<std::byte> says;  // in the session, where there is one

  // Goes there, says it, and waits for the end.
  awaitable<void> visit(tcp::endpoint server) const;
};

// Serves one client with a certificate that it has signed itself, and without a pre-shared key.
awaitable<void> serve_with_a_certificate(tcp::acceptor& acceptor);

}  // namespace scavenger
