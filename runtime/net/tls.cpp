#include "runtime/net/tls.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/error.hpp>
#include <charconv>
#include <string_view>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/base/error.h"
#include "runtime/base/text.h"
#include "runtime/net/frame.h"

namespace scavenger {
namespace {

constexpr std::string_view kKeyLabel = "scavenger tls 1.3 pre-shared key";
constexpr std::string_view kIdentityName = "scavenger ";
constexpr unsigned char kAes128GcmSha256[2] = {0x13, 0x01};  // the suite's number in TLS 1.3
constexpr int kFirstAlert = 1000;  // OpenSSL: reasons from here on are alerts that the peer sent

// Allows TLS 1.3 only, one cipher suite, no tickets, no early data (which could be replayed) and no
// renegotiation. A peer's certificate is never accepted.
asio::ssl::context make_context(TlsSide side) {
  asio::ssl::context context(side == TlsSide::kClient ? asio::ssl::context::tls_client
                                                      : asio::ssl::context::tls_server);
  SSL_CTX* const handle = context.native_handle();
  SCAVENGER_CHECK(SSL_CTX_set_min_proto_version(handle, TLS1_3_VERSION) == 1);
  SCAVENGER_CHECK(SSL_CTX_set_max_proto_version(handle, TLS1_3_VERSION) == 1);
  SCAVENGER_CHECK(SSL_CTX_set_ciphersuites(handle, "TLS_AES_128_GCM_SHA256") == 1);
  SSL_CTX_set_options(handle, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_num_tickets(handle, 0);
  SSL_CTX_set_session_cache_mode(handle, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_max_early_data(handle, 0);
  if (side == TlsSide::kClient) context.set_verify_mode(asio::ssl::verify_peer);
  return context;
}

// Returns why a client that names this key is refused. The client is not authenticated, so the
// message does not quote it.
std::string refusal_of(std::string_view theirs, std::string_view ours) {
  if (theirs == ours) return {};
  if (!theirs.starts_with(kIdentityName)) return "the peer does not speak Scavenger's protocol";
  theirs.remove_prefix(kIdentityName.size());
  unsigned version = 0;
  const auto parsed = std::from_chars(theirs.data(), theirs.data() + theirs.size(), version);
  if (parsed.ec != std::errc{}) return "the peer does not speak Scavenger's protocol";
  if (version != kProtocolVersion)
    return fmt::format("the peer speaks protocol version {}, this build speaks {}", version,
                       kProtocolVersion);
  return "the peer belongs to another job";
}

}  // namespace

Digest tls_key(const JobCredentials& credentials) {
  // RFC 5869, for one block: extract, then expand.
  const Digest extracted = hmac_sha256(credentials.job_id, credentials.secret);
  std::vector<std::byte> info;
  const auto label = std::as_bytes(std::span(kKeyLabel));
  info.assign(label.begin(), label.end());
  info.push_back(std::byte{1});
  return hmac_sha256(extracted, info);
}

std::string tls_identity(const JobCredentials& credentials) {
  return fmt::format("{}{} {}", kIdentityName, kProtocolVersion, to_hex(credentials.job_id));
}

// The data of OpenSSL's callbacks, which find it through the connection.
struct TlsLayer::Key {
  SSL_SESSION* session = nullptr;  // OpenSSL's form of a pre-shared key
  std::string identity;
  std::string refusal;  // server: why the client's key was refused

  Key(SSL* ssl, const JobCredentials& credentials)
      : session(SSL_SESSION_new()), identity(tls_identity(credentials)) {
    const Digest key = tls_key(credentials);
    SCAVENGER_CHECK(session != nullptr);
    SCAVENGER_CHECK(SSL_SESSION_set1_master_key(session,
                                                reinterpret_cast<const unsigned char*>(key.data()),
                                                key.size()) == 1);
    SCAVENGER_CHECK(SSL_SESSION_set_cipher(session, SSL_CIPHER_find(ssl, kAes128GcmSha256)) == 1);
    SCAVENGER_CHECK(SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1);
    SCAVENGER_CHECK(SSL_set_ex_data(ssl, index(), this) == 1);
  }
  ~Key() { SSL_SESSION_free(session); }
  Key(const Key&) = delete;
  Key& operator=(const Key&) = delete;

  // OpenSSL's "app data" cannot be used, since Asio uses it.
  static int index() {
    static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
    return index;
  }
  static Key& of(SSL* ssl) { return *static_cast<Key*>(SSL_get_ex_data(ssl, index())); }

  static int use(SSL* ssl, const EVP_MD*, const unsigned char** name, std::size_t* size,
                 SSL_SESSION** session) {
    const Key& key = of(ssl);
    *name = reinterpret_cast<const unsigned char*>(key.identity.data());
    *size = key.identity.size();
    SSL_SESSION_up_ref(key.session);  // OpenSSL frees one reference
    *session = key.session;
    return 1;
  }

  static int find(SSL* ssl, const unsigned char* name, std::size_t size, SSL_SESSION** session) {
    Key& key = of(ssl);
    *session = nullptr;
    key.refusal = refusal_of({reinterpret_cast<const char*>(name), size}, key.identity);
    if (!key.refusal.empty()) return 1;  // the handshake goes on without a key, and fails
    SSL_SESSION_up_ref(key.session);
    *session = key.session;
    return 1;
  }
};

namespace {

TlsLayer::Stream make_stream(tcp::socket socket, TlsSide side) {
  asio::ssl::context context = make_context(side);  // each connection keeps a reference
  return TlsLayer::Stream(std::move(socket), context);
}

}  // namespace

TlsLayer::TlsLayer(tcp::socket socket, const JobCredentials& credentials, TlsSide side)
    : side_(side), stream_(make_stream(std::move(socket), side)) {
  SSL* const ssl = stream_.native_handle();
  key_ = std::make_unique<Key>(ssl, credentials);
  if (side == TlsSide::kClient)
    SSL_set_psk_use_session_callback(ssl, &Key::use);
  else
    SSL_set_psk_find_session_callback(ssl, &Key::find);
}

TlsLayer::~TlsLayer() = default;

awaitable<void> TlsLayer::handshake() {
  const auto role = side_ == TlsSide::kClient ? Stream::client : Stream::server;
  const auto [error] = co_await stream_.async_handshake(role, asio::as_tuple(use_awaitable));
  const auto refuse = [](std::string what) {
    throw ProtocolError({.what = std::move(what), .where = "TLS handshake", .remedy = {}});
  };
  if (!key_->refusal.empty()) refuse(key_->refusal);
  if (error && error.category() == asio::error::get_ssl_category() &&
      ERR_GET_REASON(static_cast<unsigned>(error.value())) < kFirstAlert)
    refuse(fmt::format("the {} does not show that it knows the job's secret: {}",
                       side_ == TlsSide::kClient ? "server" : "client", error.message()));
  if (error) throw boost::system::system_error(error);
  // Without the key the peer would have needed a certificate, which is never accepted; make sure.
  if (SSL_session_reused(stream_.native_handle()) != 1)
    refuse("the peer did not use the job's key");
}

}  // namespace scavenger
