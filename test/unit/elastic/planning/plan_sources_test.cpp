#include "elastic/planning/plan_sources.h"

#include <catch2/catch.hpp>

#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "test/support/temporary_folder.h"
#include "test/unit/elastic/plan/known_model.h"

namespace scavenger::elastic {
namespace {

class Folder {
 public:
  std::string exported(const std::string& name, const perfmodel::ModelRecord& record) const {
    const auto file = folder_.path() / name;
    write_file_atomically(file, perfmodel::to_json_text(record));
    return file.string();
  }
  StoreAddress store_with(const std::vector<perfmodel::ModelRecord>& records) const {
    StoreAddress address{(folder_.path() / "store.db").string(), {}};
    const auto store = open_store(address, perfmodel::StoreAccess::kReadWrite);
    for (const perfmodel::ModelRecord& record : records) store->record(record);
    return address;
  }

 private:
  TemporaryFolder folder_;
};

perfmodel::ModelRecord row_of_8_workers() {
  perfmodel::ModelRecord record = small_record();
  record.times = {{"other", "small", 8.0, 64.0, 0.02, 1e-5, 100.0}};
  return record;
}

}  // namespace

TEST_CASE("Sources of one model add up, each row once; of two models they are refused") {
  const Folder folder;
  PlanSources sources;
  sources.paths = {folder.exported("a.json", small_record()),
                   folder.exported("b.json", row_of_8_workers())};
  const KnownModel known = gather_model(sources);
  CHECK(known.record.times.size() == 7);
  CHECK(known.record.epochs.size() == 2);
  CHECK_THAT(known.title, Catch::EndsWith("a.json and 1 more"));
  sources.paths.push_back(folder.exported("c.json", small_record("letters")));
  CHECK_THROWS_WITH(gather_model(sources), Catch::Contains("another model"));
}

TEST_CASE("Without sources there is nothing to plan from, and a path that is none is named") {
  CHECK_THROWS_WITH(gather_model({}), Catch::Contains("nothing to plan from"));
  PlanSources sources;
  sources.paths = {"/nowhere/run"};
  CHECK_THROWS_WITH(gather_model(sources), Catch::Contains("/nowhere/run"));
  CHECK_THROWS_WITH(gather_all({}), Catch::Contains("--store"));
}

TEST_CASE("A store adds what it knows of the same model, or stands for a similar one") {
  const Folder folder;
  PlanSources sources;
  sources.paths = {folder.exported("a.json", small_record())};
  sources.store = folder.store_with({row_of_8_workers(), small_record("letters")});
  const KnownModel same = gather_model(sources);
  CHECK(same.record.times.size() == 7);
  CHECK(same.notes.size() == 1);

  const KnownModel similar = gather_model(sources, Knowledge::kSimilar);
  CHECK(similar.record.times.size() == 1);  // the store's alone
  CHECK_THAT(similar.notes.at(0), Catch::Contains("similarity"));
  CHECK(gather_all(sources.store).size() == 1);  // the other has one configuration
}

TEST_CASE("A model of the store is named by its id, or how that begins") {
  const Folder folder;
  PlanSources sources;
  sources.store = folder.store_with({small_record(), small_record("letters")});
  sources.model = small_record("letters").signature.id().substr(0, 12);
  CHECK_THAT(gather_model(sources).title, Catch::StartsWith("letters ("));
  sources.model = "";
  CHECK_THROWS_WITH(gather_model(sources), Catch::Contains("2 models begin"));
  sources.model = "no such id";
  CHECK_THROWS_WITH(gather_model(sources), Catch::Contains("no model"));
}

TEST_CASE("One worker of a run with shards synchronises, too") {
  PlanSources sources;
  sources.paths = {SCAVENGER_OLD_RUN};
  CHECK(gather_model(sources).state_is_elsewhere);
  const Folder folder;
  sources.paths = {folder.exported("a.json", small_record())};
  CHECK(!gather_model(sources).state_is_elsewhere);
}

TEST_CASE("A mode is one of three words, and a service needs its token") {
  CHECK(parse_knowledge("none") == Knowledge::kSimilar);
  CHECK(parse_knowledge("universal") == Knowledge::kUniversal);
  CHECK_THROWS_WITH(parse_knowledge("all"), Catch::Contains("--mode"));
  CHECK_THROWS_WITH(open_store({"http://localhost:1", ""}, perfmodel::StoreAccess::kReadOnly),
                    Catch::Contains("--token-file"));
}

}  // namespace scavenger::elastic
