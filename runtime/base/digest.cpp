#include "runtime/base/digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "runtime/base/check.h"
#include "runtime/base/text.h"

namespace scavenger {
namespace {

const unsigned char* as_unsigned(std::span<const std::byte> bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

}  // namespace

struct DigestStream::Context {
  EVP_MD_CTX* evp = EVP_MD_CTX_new();
  ~Context() { EVP_MD_CTX_free(evp); }
};

DigestStream::DigestStream() : context_(std::make_unique<Context>()) {
  SCAVENGER_CHECK(EVP_DigestInit_ex(context_->evp, EVP_sha256(), nullptr) == 1);
}

DigestStream::~DigestStream() = default;

void DigestStream::update(std::span<const std::byte> bytes) {
  SCAVENGER_CHECK(EVP_DigestUpdate(context_->evp, bytes.data(), bytes.size()) == 1);
}

Digest DigestStream::finish() {
  Digest digest;
  unsigned size = 0;
  SCAVENGER_CHECK(EVP_DigestFinal_ex(context_->evp, reinterpret_cast<unsigned char*>(digest.data()),
                                     &size) == 1);
  return digest;
}

Digest sha256(std::span<const std::byte> bytes) {
  DigestStream stream;
  stream.update(bytes);
  return stream.finish();
}

std::string sha256_hex(std::string_view text) {
  return to_hex(sha256(std::as_bytes(std::span(text))));
}

Digest hmac_sha256(std::span<const std::byte> key, std::span<const std::byte> message) {
  Digest digest;
  unsigned size = 0;
  SCAVENGER_CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), as_unsigned(message),
                       message.size(), reinterpret_cast<unsigned char*>(digest.data()),
                       &size) != nullptr);
  return digest;
}

bool equal_in_constant_time(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace scavenger
