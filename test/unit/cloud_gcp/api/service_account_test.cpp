#include "cloud_gcp/api/service_account.h"

#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "runtime/base/error.h"
#include "runtime/base/file.h"

namespace scavenger::gcp {
namespace {

using json = nlohmann::json;

constexpr std::string_view kPassphrase = "open sesame";

// A new key in PEM, enciphered where `cipher` says how.
std::string make_pem(const EVP_CIPHER* cipher = nullptr) {
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_RSA_gen(2048), &EVP_PKEY_free);
  const std::unique_ptr<BIO, decltype(&BIO_free)> memory(BIO_new(BIO_s_mem()), &BIO_free);
  REQUIRE(PEM_write_bio_PKCS8PrivateKey(
              memory.get(), key.get(), cipher, kPassphrase.data(),
              cipher == nullptr ? 0 : static_cast<int>(kPassphrase.size()), nullptr, nullptr) == 1);
  char* begin = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &begin);
  return {begin, static_cast<std::size_t>(size)};
}

json key_with(const std::string& pem) {
  return {{"client_email", "a@p.iam.gserviceaccount.com"}, {"private_key", pem}};
}

// As a person who answers at the terminal.
class TypedPassphrase final {
 public:
  TypedPassphrase() : before_(::dup(STDIN_FILENO)) {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    const FileDescriptor out(ends[0]), in(ends[1]);
    const std::string line = std::string(kPassphrase) + "\n";
    REQUIRE(::write(in.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size()));
    ::dup2(out.get(), STDIN_FILENO);
  }
  ~TypedPassphrase() { ::dup2(before_.get(), STDIN_FILENO); }
  TypedPassphrase(const TypedPassphrase&) = delete;
  TypedPassphrase& operator=(const TypedPassphrase&) = delete;

 private:
  const FileDescriptor before_;
};

}  // namespace

TEST_CASE("What is missing in a key or is no text has its default, or the key is refused") {
  json key = key_with(make_pem());
  key["token_uri"] = 7;
  key["project_id"] = nullptr;
  const ServiceAccountKey read = parse_service_account_key(key.dump(), "key.json");
  CHECK(read.token_uri == "https://oauth2.googleapis.com/token");
  CHECK(read.project_id.empty());
  const std::string token = token_assertion(read, 1.7e9);
  CHECK(std::count(token.begin(), token.end(), '.') == 2);

  key["client_email"] = true;
  CHECK_THROWS_WITH(parse_service_account_key(key.dump(), "key.json"),
                    Catch::Contains("client_email") && Catch::Contains("key.json"));
  CHECK_THROWS_AS(parse_service_account_key("[]", "key.json"), InputError);
}

TEST_CASE("An enciphered key is refused: nobody is asked for its passphrase in mid-training") {
  const std::string pem = make_pem(EVP_aes_256_cbc());
  const ServiceAccountKey key = parse_service_account_key(key_with(pem).dump(), "key.json");
  const TypedPassphrase typed;
  CHECK_THROWS_AS(token_assertion(key, 1.7e9), InputError);
}

}  // namespace scavenger::gcp
