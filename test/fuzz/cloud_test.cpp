// What people and other programs write for a job in the cloud: price catalogs and the lists that
// they are made of, keys, the ledger of VMs, a VM's certificate.
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include <cmath>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cloud_gcp/api/price_refresh.h"
#include "cloud_gcp/api/sealed_ticket.h"
#include "cloud_gcp/api/service_account.h"
#include "cloud_gcp/pricing/prices.h"
#include "cloud_gcp/provider/vm_ledger.h"
#include "runtime/base/file.h"
#include "test/fuzz/fuzz.h"
#include "test/support/temporary_folder.h"

using namespace scavenger;
using namespace scavenger::gcp;

namespace {

const std::vector<std::string> kCloudFragments = {
    "null", "-1",    "1e400", "1e300", "[]",  "{}",  "\"\"",
    "true", "\"x\"", ",",     ":",     "[[[", "nan", "18446744073709551616"};

const std::string kCatalog = R"({"as_of":"2026-07-30","custom_factors":{"n1":1.05,"n2":1.05},
"machine_types":{"n2-standard-8":[8,32,"",0],"n1-standard-4":[4,15],"g2-standard-4":[4,16,"l4",1]},
"regions":{"us-central1":{"series":{"n2":[[0.03,0.004,0],[0.01,0.001,0]],
"n1":[[0.03,0.004,0],[0.01,0.001,0]],"g2":[[0.02,0.003,0.5],[0.01,0.001,0.2]]},
"gpus":{"nvidia-tesla-t4":[0.35,0.1]}}}})";

std::string sku(const std::string& description, const std::string& usage) {
  return R"({"description":")" + description +
         R"( running in Americas","category":{"usageType":")" + usage +
         R"("},"serviceRegions":["us-central1"],"pricingInfo":[{"pricingExpression":)" +
         R"({"tieredRates":[{"unitPrice":{"units":"0","nanos":30000000}}]}}]})";
}

std::string sample_skus() {
  return "[" + sku("N2 Instance Core", "OnDemand") + "," + sku("N2 Instance Ram", "OnDemand") +
         "," + sku("Spot Preemptible N2 Instance Core", "Preemptible") + "," +
         sku("Spot Preemptible N2 Instance Ram", "Preemptible") + "," +
         sku("Nvidia Tesla T4 GPU", "OnDemand") + "," +
         sku("Spot Preemptible Nvidia Tesla T4 GPU", "Preemptible") + "]";
}

// What a catalog says is a price, or it has none.
void ask(const PriceCatalog& catalog) {
  std::vector<std::string> types = catalog.machine_types();
  types.push_back("n2-custom-8-16384");
  for (const std::string& region : catalog.regions())
    for (const std::string& type : types)
      for (const Provisioning provisioning : {Provisioning::kSpot, Provisioning::kOnDemand}) try {
          const double dollars =
              catalog.per_hour(type, region, provisioning, {"nvidia-tesla-t4", 1});
          require_consistent(std::isfinite(dollars) && dollars >= 0.0);
        } catch (const ConfigError&) {
        }
}

// ---- Keys and certificates; small ones, that a million are made soon. ----

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;

Key make_key() {
  return {EVP_RSA_gen(1024), &EVP_PKEY_free};
}

template <typename Write>
std::string pem_of(const Write& write) {
  const Bio memory(BIO_new(BIO_s_mem()), &BIO_free);
  REQUIRE(write(memory.get()) == 1);
  char* begin = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &begin);
  return {begin, static_cast<std::size_t>(size)};
}

std::string private_pem(EVP_PKEY* key) {
  return pem_of([&](BIO* out) {
    return PEM_write_bio_PKCS8PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr);
  });
}

std::string certificate_of(EVP_PKEY* key) {
  const std::unique_ptr<X509, decltype(&X509_free)> made(X509_new(), &X509_free);
  X509_set_version(made.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), 7);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), 0);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), 3600);
  X509_NAME* const name = X509_get_subject_name(made.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("vm"),
                             -1, -1, 0);
  X509_set_issuer_name(made.get(), name);
  X509_set_pubkey(made.get(), key);
  REQUIRE(X509_sign(made.get(), key, EVP_sha256()) > 0);
  return pem_of([&](BIO* out) { return PEM_write_bio_X509(out, made.get()); });
}

std::string key_file(const std::string& pem) {
  return nlohmann::json{{"type", "service_account"},
                        {"project_id", "p"},
                        {"private_key_id", "1f2e"},
                        {"private_key", pem},
                        {"client_email", "a@p.iam.gserviceaccount.com"},
                        {"token_uri", "https://oauth2.googleapis.com/token"}}
      .dump();
}

const std::vector<std::string> kPemFragments = {
    "\\n", "-----BEGIN RSA PRIVATE KEY-----", "-----END", "Proc-Type: 4,ENCRYPTED\\n", "=", "AAAA"};

}  // namespace

TEST_CASE("fuzz: a damaged price catalog is refused, or all its prices are some") {
  const Verdicts verdicts =
      fuzz<InputError>(Mutations(151, {kCatalog}, kCloudFragments),
                       [](const std::string& text) { ask(PriceCatalog::parse(text, "damaged")); },
                       {.bytes = 1 << 17});

  CHECK(verdicts.accepted > 0);
}

TEST_CASE("fuzz: a damaged list of prices is refused, or makes a catalog") {
  const Verdicts verdicts = fuzz<ProtocolError>(
      Mutations(157, {sample_skus()}, kCloudFragments),
      [](const std::string& text) {
        const auto skus = nlohmann::json::parse(text, nullptr, false);
        if (!skus.is_array()) throw ProtocolError({.what = "no list", .where = {}, .remedy = {}});
        const RefreshedPrices made = refresh_prices(kCatalog, skus, "2026-11-22");
        require_consistent(made.updated > 0);
        ask(PriceCatalog::parse(made.catalog, "refreshed"));
      },
      {.bytes = 1 << 18});

  CHECK(verdicts.accepted > 0);
}

TEST_CASE("fuzz: a damaged service account's key is refused, or it signs") {
  std::vector<std::string> fragments = kCloudFragments;
  fragments.insert(fragments.end(), kPemFragments.begin(), kPemFragments.end());

  const Verdicts verdicts =
      fuzz<InputError>(Mutations(163, {key_file(private_pem(make_key().get()))}, fragments),
                       [](const std::string& text) {
                         const ServiceAccountKey key = parse_service_account_key(text, "damaged");
                         require_consistent(!key.client_email.empty() && !key.token_uri.empty());
                         const std::string token = token_assertion(key, 1.7e9);
                         require_consistent(std::count(token.begin(), token.end(), '.') == 2);
                       });

  CHECK(verdicts.accepted > 0);
}

TEST_CASE("fuzz: for a damaged certificate nothing is enciphered, or it is one all the same") {
  const Verdicts verdicts =
      fuzz<ProtocolError>(Mutations(167, {certificate_of(make_key().get())}, kPemFragments),
                          [](const std::string& certificate) {
                            const std::string sealed = seal("the secret of the job", certificate);
                            require_consistent(sealed.starts_with("-----BEGIN CMS-----") &&
                                               sealed.find("secret") == std::string::npos);
                          });

  CHECK(verdicts.accepted > 0);
}

TEST_CASE("fuzz: whatever a ledger of VMs has come to, the job has one name, and goes on in it") {
  const std::string original =
      "{\"job\":\"mlp-3f2a9c01\"}\n"
      "{\"request_id\":\"r\",\"step\":\"create\",\"vm\":\"mlp-1\",\"zone\":\"us-central1-a\"}\n"
      "{\"step\":\"created\",\"vm\":\"mlp-1\",\"zone\":\"us-central1-a\"}\n"
      "{\"step\":\"deleted\",\"vm\":\"mlp-0\",\"zone\":\"us-central1-b\"}\n";
  std::vector<std::string> fragments = kCloudFragments;
  fragments.insert(fragments.end(), {"\n", "\"job\"", "\"vm\"", "\"create\""});
  Mutations mutations(173, {original}, fragments);
  const TemporaryFolder folder;

  for (int i = fuzz_inputs(); i > 0; --i) {
    const bool accepted = judge<InputError>(
        mutations.next(),
        [&](const std::string& text) {
          std::ofstream(VmLedger::file_in(folder.path()), std::ios::binary) << text;
          std::string job;
          {
            VmLedger ledger(folder.path(), "mlp");
            job = ledger.job_id();
            for (const LedgerEntry& entry : ledger.unsettled())
              require_consistent(!entry.vm.empty() && !entry.zone.empty());
            ledger.note("new", "us-east1-b", VmStep::kCreate, "r");
          }
          const VmLedger next(folder.path(), "another");
          require_consistent(!job.empty() && next.job_id() == job);
          const auto open = next.unsettled();
          require_consistent(std::any_of(open.begin(), open.end(), [](const LedgerEntry& entry) {
            return entry.vm == "new" && entry.zone == "us-east1-b";
          }));
        },
        {.bytes = 1 << 18, .bytes_per_byte = 1000});
    REQUIRE(accepted);
  }
}
