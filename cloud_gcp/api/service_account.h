// A service account's key, and the signed statements (JWT, RS256) that it makes. Pure.
#pragma once

#include <string>

namespace scavenger::gcp {

inline constexpr const char* kCloudScope = "https://www.googleapis.com/auth/cloud-platform";
inline constexpr double kStatementSeconds =
    3600.0;  // a statement's life: the longest that is taken

struct ServiceAccountKey {
  std::string client_email;
  std::string private_key;     // PEM, PKCS#8: a secret
  std::string private_key_id;  // may be empty
  std::string token_uri;
  std::string project_id;  // may be empty
};

// The JSON file that the console makes. Throws InputError naming `where`; never quotes the key.
ServiceAccountKey parse_service_account_key(const std::string& text, const std::string& where);

// To be exchanged for a token at key.token_uri. `now_seconds`: of Unix time. Throw InputError if
// the private key is none.
std::string token_assertion(const ServiceAccountKey& key, double now_seconds);
// To be used as a token itself, without asking anybody.
std::string self_signed_token(const ServiceAccountKey& key, double now_seconds);

}  // namespace scavenger::gcp
