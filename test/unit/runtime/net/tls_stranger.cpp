#include "test/unit/runtime/net/tls_stranger.h"

#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <boost/asio/ssl.hpp>

#include "runtime/base/check.h"

namespace scavenger {
namespace {

const TlsStranger* visitor = nullptr;  // one at a time; OpenSSL's callback has no better place

int use_key(SSL* ssl, const EVP_MD*, const unsigned char** name, std::size_t* size,
            SSL_SESSION** session) {
  const unsigned char suite[2] = {0x13, 0x01};
  *session = SSL_SESSION_new();
  SSL_SESSION_set1_master_key(*session, reinterpret_cast<const unsigned char*>(visitor->key.data()),
                              visitor->key.size());
  SSL_SESSION_set_cipher(*session, SSL_CIPHER_find(ssl, suite));
  SSL_SESSION_set_protocol_version(*session, TLS1_3_VERSION);
  *name = reinterpret_cast<const unsigned char*>(visitor->identity.data());
  *size = visitor->identity.size();
  return 1;
}

void sign_itself(SSL_CTX* context) {
  EVP_PKEY* const key = EVP_EC_gen("P-256");
  X509* const certificate = X509_new();
  X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
  X509_set_pubkey(certificate, key);
  X509_NAME* const name = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("scavenger"), -1, -1, 0);
  X509_set_issuer_name(certificate, name);
  SCAVENGER_CHECK(X509_sign(certificate, key, EVP_sha256()) != 0);
  SCAVENGER_CHECK(SSL_CTX_use_certificate(context, certificate) == 1);
  SCAVENGER_CHECK(SSL_CTX_use_PrivateKey(context, key) == 1);
  X509_free(certificate);
  EVP_PKEY_free(key);
}

}  // namespace

awaitable<void> TlsStranger::visit(tcp::endpoint server) const {
  asio::ssl::context context(asio::ssl::context::tls_client);
  SSL_CTX_set_max_proto_version(context.native_handle(), newest_version);
  visitor = this;
  if (!identity.empty()) SSL_CTX_set_psk_use_session_callback(context.native_handle(), &use_key);
  asio::ssl::stream<tcp::socket> stream(co_await asio::this_coro::executor, context);
  try {
    co_await stream.next_layer().async_connect(server, use_awaitable);
    co_await stream.async_handshake(asio::ssl::stream_base::client, use_awaitable);
    co_await asio::async_write(stream, asio::buffer(says), use_awaitable);
    std::array<std::byte, 1> answer;
    co_await asio::async_read(stream, asio::buffer(answer), use_awaitable);
  } catch (const boost::system::system_error&) {
  }
}

awaitable<void> serve_with_a_certificate(tcp::acceptor& acceptor) {
  asio::ssl::context context(asio::ssl::context::tls_server);
  sign_itself(context.native_handle());
  tcp::socket socket = co_await acceptor.async_accept(use_awaitable);
  asio::ssl::stream<tcp::socket> stream(std::move(socket), context);
  try {
    co_await stream.async_handshake(asio::ssl::stream_base::server, use_awaitable);
    std::array<std::byte, 1> rest;
    co_await asio::async_read(stream, asio::buffer(rest), use_awaitable);
  } catch (const boost::system::system_error&) {
  }
}

}  // namespace scavenger
