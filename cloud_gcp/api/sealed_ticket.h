// A secret on its way through a VM's metadata, which others may read.
#pragma once

#include <string>

namespace scavenger::gcp {

// Enciphers a text (CMS, AES-256) so that only who has the private key of the certificate can read
// it: openssl cms -decrypt -inform PEM -recip CERTIFICATE -inkey KEY. Throws ProtocolError if
// `certificate` is none, in PEM, with an RSA key.
std::string seal(const std::string& text, const std::string& certificate);

}  // namespace scavenger::gcp
