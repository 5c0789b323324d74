#include "elastic/plan/model_identity.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <vector>

#include "elastic/plan/run_record.h"
#include "perfmodel/store/sqlite_store.h"
#include "runtime/config/config_file.h"
#include "test/support/temporary_folder.h"

using namespace scavenger;
using namespace scavenger::elastic;

namespace {

// The digests of model, data and optimizer that stores hold since schema 1. The folders of data
// are part of those of parallel_text, so these have none here.
struct KnownIdentity {
  const char* config;
  const char* model;
  const char* data;
  const char* optimizer;
};
const std::vector<KnownIdentity> kKnown{
    {"cifar100_resnet50.json", "bea55dc81f6c526f", "5f7d6e51db880a54", "9bfe6880a02abe35"},
    {"cifar10_cnn.json", "08eabf3583fb9252", "6c53c36774ba1e20", "4adc1d8989332a8f"},
    {"cifar10_resnet18.json", "45d73c3d551692fe", "6c53c36774ba1e20", "ca9a6bdc53c3a75a"},
    {"cifar10_resnet18_full.json", "45d73c3d551692fe", "45b5a5b8be7f02cb", "9be3a84d2c167640"},
    {"digits_mlp.json", "a3b33030178ad2c4", "b67775dc7922e7c3", "3f565d93e60d9e43"},
    {"fashion_adamw.json", "f1c21cb27b36729c", "674f6f1abf3e503f", "610af6a0e674d502"},
    {"fashion_cnn.json", "a7a1209014464909", "674f6f1abf3e503f", "feaf16708f706f8b"},
    {"fashion_mlp.json", "f09a89d4331b18e1", "674f6f1abf3e503f", "9ea710c15a4baefe"},
    {"fashion_spot.json", "f09a89d4331b18e1", "674f6f1abf3e503f", "9ea710c15a4baefe"},
    {"gcp_spot.json", "f09a89d4331b18e1", "674f6f1abf3e503f", "9ea710c15a4baefe"},
    {"mnist_cnn.json", "a7a1209014464909", "1562684f65681486", "3f565d93e60d9e43"},
    {"multi30k_transformer.json", "f28d342b6ba35f42", "", "bd38b329e216ec4f"},
    {"synthetic_mlp.json", "092c81cb3a889af9", "e3f60106e431a9dc", "1e82f8583163b331"},
    {"tinyshakespeare_lm.json", "cc23313361466a9d", "f5e71ef135ae55fa", "e8ab4f47b88217fc"},
    {"wmt14_transformer.json", "f20ec5eb432d6192", "", "7ed136b80a8f96d6"},
};

}  // namespace

TEST_CASE("the ready configurations have the identities that stores know them by") {
  for (const KnownIdentity& known : kKnown) {
    INFO(known.config);
    const auto path = std::filesystem::path(SCAVENGER_CONFIGS) / known.config;
    const ModelIdentity identity = identity_of(load_job_config(path, {}, DataFiles::kNotChecked));
    CHECK(identity_digest(identity.model) == known.model);
    if (*known.data != '\0') CHECK(identity_digest(identity.data) == known.data);
    CHECK(identity_digest(identity.optimizer) == known.optimizer);
  }
}

TEST_CASE("a key that came later counts only where it is not as it came") {
  const std::vector<IdentityKey> keys{{"/type"}, {"/schedule/type"}, {"/averaging/decay", 0.0}};
  nlohmann::json section{{"type", "sgd"}, {"schedule", {{"type", "step"}}}};
  const nlohmann::json before = picked(section, keys);
  CHECK(before == section);

  section["averaging"] = {{"decay", 0.0}};
  section["unheard_of"] = 1;
  CHECK(picked(section, keys) == before);

  section["averaging"]["decay"] = 0.9;
  CHECK(picked(section, keys) != before);
  CHECK(picked(section, keys).at("averaging").at("decay") == 0.9);
}

TEST_CASE("the rows of a store of schema 1 are found by the run that they are of") {
  const TemporaryFolder folder;
  const std::filesystem::path old = SCAVENGER_OLD_RUN, store_path = folder.path() / "models.sqlite";
  std::filesystem::copy_file(old / "models.sqlite", store_path);

  const perfmodel::ModelRecord record = read_run(old).record;

  perfmodel::SqliteStore store(store_path);
  const auto found = store.find(record.signature.id());
  REQUIRE(found);
  CHECK(found->signature == record.signature);
  CHECK(found->times == record.times);
  CHECK(found->epochs == record.epochs);
  store.record(record);  // the job's own rows again
  REQUIRE(store.list().size() == 1);
  CHECK(store.list().front().jobs == 1);
}
