// SHA-256 and HMAC-SHA-256, computed by OpenSSL.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace scavenger {

using Digest = std::array<std::byte, 32>;

// SHA-256 of data that arrives in pieces. Thread: one thread at a time.
class DigestStream final {
 public:
  DigestStream();
  ~DigestStream();
  DigestStream(const DigestStream&) = delete;
  DigestStream& operator=(const DigestStream&) = delete;
  void update(std::span<const std::byte> bytes);
  Digest finish();  // call it once

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

Digest sha256(std::span<const std::byte> bytes);
std::string sha256_hex(std::string_view text);
Digest hmac_sha256(std::span<const std::byte> key, std::span<const std::byte> message);

// Compares in a time that does not depend on where the first difference is.
bool equal_in_constant_time(std::span<const std::byte> a, std::span<const std::byte> b);

}  // namespace scavenger
