#include "cloud_gcp/api/service_account.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <vector>

#include "cloud_gcp/api/json_text.h"
#include "cloud_gcp/api/pem_text.h"
#include "runtime/base/error.h"
#include "runtime/base/json_text.h"

namespace scavenger::gcp {
namespace {

using json = nlohmann::json;
using PrivateKey = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Signing = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;

constexpr const char* kTokenUri = "https://oauth2.googleapis.com/token";

[[noreturn]] void refuse(const std::string& what, const std::string& where) {
  throw InputError(
      {.what = what,
       .where = where,
       .remedy = "make a key: gcloud iam service-accounts keys create FILE --iam-account=ACCOUNT"});
}

// RFC 4648, section 5, without padding.
std::string base64url(std::span<const unsigned char> bytes) {
  std::string text(4 * ((bytes.size() + 2) / 3), '\0');
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), bytes.data(),
                  static_cast<int>(bytes.size()));
  while (text.ends_with('=')) text.pop_back();
  for (char& c : text) {
    if (c == '+') c = '-';
    if (c == '/') c = '_';
  }
  return text;
}

std::string base64url(const std::string& text) {
  return base64url(std::span(reinterpret_cast<const unsigned char*>(text.data()), text.size()));
}

std::string rs256_signature(const std::string& text, const ServiceAccountKey& key) {
  const Bio pem = reader_of(key.private_key);
  const PrivateKey private_key(PEM_read_bio_PrivateKey(pem.get(), nullptr, &no_passphrase, nullptr),
                               &EVP_PKEY_free);
  if (!private_key || EVP_PKEY_get_base_id(private_key.get()) != EVP_PKEY_RSA)
    refuse("private_key is no RSA key", key.client_email);
  const Signing signing(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  std::size_t size = 0;
  const auto* const message = reinterpret_cast<const unsigned char*>(text.data());
  std::vector<unsigned char> signature;
  bool is_signed =
      EVP_DigestSignInit(signing.get(), nullptr, EVP_sha256(), nullptr, private_key.get()) == 1 &&
      EVP_DigestSign(signing.get(), nullptr, &size, message, text.size()) == 1;
  signature.resize(size);
  is_signed = is_signed &&
              EVP_DigestSign(signing.get(), signature.data(), &size, message, text.size()) == 1;
  if (!is_signed) refuse("private_key does not sign", key.client_email);
  return base64url(std::span(signature.data(), size));
}

std::string signed_statement(const ServiceAccountKey& key, json claims, double now_seconds) {
  json header = {{"alg", "RS256"}, {"typ", "JWT"}};
  if (!key.private_key_id.empty()) header["kid"] = key.private_key_id;
  const auto now = static_cast<std::int64_t>(now_seconds);
  claims["iss"] = key.client_email;
  claims["scope"] = kCloudScope;
  claims["iat"] = now;
  claims["exp"] = now + static_cast<std::int64_t>(kStatementSeconds);
  const std::string text = base64url(json_text(header)) + "." + base64url(json_text(claims));
  return text + "." + rs256_signature(text, key);
}

std::string field(const json& document, const char* name, const std::string& where) {
  const std::string text = text_in(document, name);
  if (text.empty())
    refuse(fmt::format("this is no service account's key: it has no {}", name), where);
  return text;
}

}  // namespace

ServiceAccountKey parse_service_account_key(const std::string& text, const std::string& where) {
  const std::optional<json> document = parse_object(text);
  if (!document) refuse("this is no service account's key: it is no JSON object", where);
  ServiceAccountKey key;
  key.client_email = field(*document, "client_email", where);
  key.private_key = field(*document, "private_key", where);
  key.private_key_id = text_in(*document, "private_key_id");
  key.token_uri = text_in(*document, "token_uri");
  if (key.token_uri.empty()) key.token_uri = kTokenUri;
  key.project_id = text_in(*document, "project_id");
  return key;
}

std::string token_assertion(const ServiceAccountKey& key, double now_seconds) {
  return signed_statement(key, {{"aud", key.token_uri}}, now_seconds);
}

std::string self_signed_token(const ServiceAccountKey& key, double now_seconds) {
  return signed_statement(key, {{"sub", key.client_email}}, now_seconds);
}

}  // namespace scavenger::gcp
