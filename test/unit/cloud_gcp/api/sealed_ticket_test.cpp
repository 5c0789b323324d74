#include "cloud_gcp/api/sealed_ticket.h"

#include <catch2/catch.hpp>
#include <cstdlib>

#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "test/support/temporary_folder.h"

namespace scavenger::gcp {
namespace {

// As the startup script makes one.
std::string make_certificate(const std::string& folder) {
  const std::string command = "cd " + folder +
                              " && openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=vm "
                              "-keyout key.pem -out certificate.pem 2>/dev/null";
  REQUIRE(std::system(command.c_str()) == 0);
  return read_file(folder + "/certificate.pem");
}

bool opens(const std::string& folder) {
  const std::string command = "cd " + folder +
                              " && openssl cms -decrypt -inform PEM -in sealed -recip "
                              "certificate.pem -inkey key.pem -out opened 2>/dev/null";
  return std::system(command.c_str()) == 0;
}

}  // namespace

TEST_CASE("A sealed text is read by who has the key, byte by byte, and by nobody else") {
  const TemporaryFolder own, others;
  const std::string folder = own.path().string();
  std::string text = "the secret of the job\r\n\n";
  text += '\0';
  text += std::string(5000, '\xff');

  const std::string sealed = seal(text, make_certificate(folder));

  CHECK_THAT(sealed, Catch::StartsWith("-----BEGIN CMS-----") && !Catch::Contains("secret"));
  write_file_atomically(folder + "/sealed", sealed);
  REQUIRE(opens(folder));
  CHECK(read_file(folder + "/opened") == text);

  make_certificate(others.path().string());
  write_file_atomically(others.path() / "sealed", sealed);
  CHECK_FALSE(opens(others.path().string()));
}

TEST_CASE("What is no certificate is refused") {
  CHECK_THROWS_AS(seal("text", ""), ProtocolError);
  CHECK_THROWS_AS(seal("text", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
                  ProtocolError);
}

}  // namespace scavenger::gcp
