#include "cloud_gcp/api/sealed_ticket.h"

#include <openssl/cms.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>

#include "cloud_gcp/api/pem_text.h"
#include "runtime/base/error.h"

namespace scavenger::gcp {
namespace {

using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using Message = std::unique_ptr<CMS_ContentInfo, decltype(&CMS_ContentInfo_free)>;

struct FreeReaders {
  void operator()(STACK_OF(X509) * readers) const { sk_X509_free(readers); }
};
using Readers = std::unique_ptr<STACK_OF(X509), FreeReaders>;

}  // namespace

std::string seal(const std::string& text, const std::string& certificate) {
  const Bio pem = reader_of(certificate);
  const Certificate recipient(PEM_read_bio_X509(pem.get(), nullptr, &no_passphrase, nullptr),
                              &X509_free);
  const Readers readers(sk_X509_new_null());
  if (recipient) sk_X509_push(readers.get(), recipient.get());
  const Bio content = reader_of(text);
  const Message sealed(
      recipient ? CMS_encrypt(readers.get(), content.get(), EVP_aes_256_cbc(), CMS_BINARY)
                : nullptr,
      &CMS_ContentInfo_free);
  const Bio out(BIO_new(BIO_s_mem()), &BIO_free);
  if (!sealed || PEM_write_bio_CMS_stream(out.get(), sealed.get(), nullptr, 0) != 1)
    throw ProtocolError({.what = "a VM's certificate that nothing can be enciphered for",
                         .where = "its guest attributes",
                         .remedy = {}});
  char* begin = nullptr;
  const long size = BIO_get_mem_data(out.get(), &begin);
  return {begin, static_cast<std::size_t>(size)};
}

}  // namespace scavenger::gcp
