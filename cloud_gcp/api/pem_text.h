// PEM text for OpenSSL to read.
#pragma once

#include <openssl/bio.h>

#include <memory>
#include <string>

namespace scavenger::gcp {

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;

// Reads `text` where it lies: it must outlive the reader.
inline Bio reader_of(const std::string& text) {
  return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), &BIO_free};
}

// Nobody is at hand to be asked for a passphrase: without this OpenSSL would ask at the terminal.
inline int no_passphrase(char*, int, int, void*) {
  return -1;
}

}  // namespace scavenger::gcp
