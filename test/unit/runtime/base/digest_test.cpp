#include "runtime/base/digest.h"

#include <catch2/catch.hpp>

#include "runtime/base/text.h"

namespace scavenger {

TEST_CASE("SHA-256 and HMAC agree with the published vectors (FIPS 180-4, RFC 4231 case 2)") {
  CHECK(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  const std::string_view key = "Jefe";
  const std::string_view message = "what do ya want for nothing?";
  CHECK(to_hex(hmac_sha256(std::as_bytes(std::span(key)), std::as_bytes(std::span(message)))) ==
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

}  // namespace scavenger
