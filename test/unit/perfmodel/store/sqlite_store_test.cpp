#include "perfmodel/store/sqlite_store.h"

#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <tuple>

#include "runtime/base/error.h"
#include "runtime/base/file.h"
#include "test/support/temporary_folder.h"
#include "test/unit/perfmodel/store/sample_record.h"

using namespace scavenger;
using namespace scavenger::perfmodel;

namespace {

struct StoreFolder {
  TemporaryFolder folder;
  std::filesystem::path path = folder.path() / "new" / "models.sqlite";
};

// Another program that uses the file.
class Stranger final {
 public:
  explicit Stranger(const std::filesystem::path& path) {
    REQUIRE(sqlite3_open(path.c_str(), &database_) == SQLITE_OK);
  }
  ~Stranger() { sqlite3_close(database_); }
  void run(const char* sql) {
    REQUIRE(sqlite3_exec(database_, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
  }

 private:
  sqlite3* database_ = nullptr;
};

void sort_rows(ModelRecord& record) {
  std::sort(record.times.begin(), record.times.end(), [](const TimeRow& a, const TimeRow& b) {
    return std::tie(a.workers, a.batch_size, a.job) < std::tie(b.workers, b.batch_size, b.job);
  });
}

}  // namespace

TEST_CASE("what was recorded is found again, also by another process's eyes") {
  const StoreFolder place;
  const ModelRecord record = sample_record();
  const std::string id = record.signature.id();
  {
    SqliteStore store(place.path);
    store.record(record);
    store.record_fit(id, "{\"form\": 1}");
  }
  SqliteStore store(place.path, StoreAccess::kReadOnly);

  auto found = store.find(id);
  REQUIRE(found);
  sort_rows(*found);
  CHECK(*found == record);
  CHECK(store.find_fit(id) == "{\"form\": 1}");
  CHECK_FALSE(store.find("0000"));
  CHECK_FALSE(store.find_fit("0000"));
  const auto models = store.list();
  REQUIRE(models.size() == 1);
  CHECK(models[0].id == id);
  CHECK(models[0].name == "fashion_mlp");
  CHECK(models[0].jobs == 1);
  CHECK(models[0].configurations == 6);
  CHECK(models[0].runs == 1);
}

TEST_CASE("a job that goes on replaces its own rows; another job's stay") {
  const StoreFolder place;
  SqliteStore store(place.path);
  ModelRecord record = sample_record("job1");
  store.record(record);
  store.record(sample_record("job2"));
  record.times[0].seconds = 0.5;
  store.record(record);

  const auto found = store.find(record.signature.id());

  CHECK(found->times.size() == 12);
  CHECK(std::count_if(found->times.begin(), found->times.end(),
                      [](const TimeRow& row) { return row.seconds == 0.5; }) == 1);
  CHECK(store.list().at(0).jobs == 2);
}

TEST_CASE("a forgotten model is gone with all that was known of it") {
  const StoreFolder place;
  SqliteStore store(place.path);
  const std::string id = sample_record().signature.id();
  store.record(sample_record());
  store.record_fit(id, "{}");

  CHECK(store.forget(id));
  CHECK_FALSE(store.forget(id));
  CHECK_FALSE(store.find(id));
  CHECK(store.list().empty());
  store.record(sample_record());
  CHECK(store.find(id)->times.size() == 6);
  CHECK_FALSE(store.find_fit(id));
}

TEST_CASE("impossible numbers leave the store as it was") {
  const StoreFolder place;
  SqliteStore store(place.path);
  ModelRecord record = sample_record();
  record.times.back().seconds = 0.0;
  CHECK_THROWS_AS(store.record(record), DataError);
  CHECK(store.list().empty());
}

TEST_CASE("jobs in many processes share one file, from its making on") {
  const StoreFolder place;
  constexpr int kJobs = 6, kRounds = 10;
  std::vector<pid_t> children;
  for (int job = 0; job < kJobs; ++job) {
    const pid_t child = fork();
    if (child == 0) {
      try {
        for (int round = 0; round < kRounds; ++round) {
          SqliteStore store(place.path, StoreAccess::kReadWrite, 60.0);
          ModelRecord record = sample_record("job" + std::to_string(job));
          for (TimeRow& row : record.times) row.iterations = round + 1;
          store.record(record);
        }
        _exit(0);
      } catch (const Error& error) {
        fprintf(stderr, "%s\n", error.what());
        _exit(1);
      }
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
  const auto found = SqliteStore(place.path).find(sample_record().signature.id());
  REQUIRE(found);
  CHECK(found->times.size() == 6 * kJobs);
  for (const TimeRow& row : found->times) CHECK(row.iterations == kRounds);
}

TEST_CASE("a locked store says so") {
  const StoreFolder place;
  { SqliteStore(place.path).record(sample_record()); }
  Stranger stranger(place.path);
  stranger.run("BEGIN IMMEDIATE");
  SqliteStore store(place.path, StoreAccess::kReadWrite, 0.05);

  CHECK_THROWS_WITH(store.record(sample_record("job2")), Catch::Contains("locked by another"));
  CHECK(store.find(sample_record().signature.id()));  // readers go on

  stranger.run("ROLLBACK");
  store.record(sample_record("job2"));
}

TEST_CASE("a store that may not be written says so, and can be read") {
  const StoreFolder place;
  { SqliteStore(place.path).record(sample_record()); }
  SqliteStore store(place.path, StoreAccess::kReadOnly);
  CHECK(store.list().size() == 1);
  CHECK_THROWS_WITH(store.record(sample_record("job2")), Catch::Contains("may not be written"));
}

TEST_CASE("what is no store, and a place where there can be none, are refused with the remedy") {
  const StoreFolder place;
  const auto folder = place.folder.path();
  for (const auto& none : {folder / "none.sqlite", folder / "nowhere" / "none.sqlite"}) {
    CHECK_THROWS_AS(SqliteStore(none, StoreAccess::kReadOnly), InputError);
    CHECK_THROWS_WITH(SqliteStore(none, StoreAccess::kReadOnly),
                      Catch::StartsWith(none.string() + ": there is no store") &&
                          Catch::Contains("scavenger-plan record"));
  }
  CHECK(std::filesystem::is_empty(folder));
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  write_file_atomically(folder / "file", "");
  std::filesystem::create_symlink("/dev/zero", folder / "zero");
  for (const StoreAccess access : {StoreAccess::kReadOnly, StoreAccess::kReadWrite}) {
    for (const auto& other : {folder / "pipe", folder / "zero", folder}) {
      CHECK_THROWS_AS(SqliteStore(other, access), InputError);
      CHECK_THROWS_WITH(SqliteStore(other, access), Catch::Contains("is not a regular file"));
    }
    CHECK_THROWS_WITH(SqliteStore(folder / "file" / "x" / "none.sqlite", access),
                      Catch::Contains("file: is not a folder"));
  }
}

TEST_CASE("a store of version 1 is read as it is, and gets the table of compute when written") {
  const StoreFolder place;
  ModelRecord record = sample_record();
  const std::string id = record.signature.id();
  { SqliteStore(place.path).record(record); }
  {
    Stranger old(place.path);
    old.run("DROP TABLE compute");
    old.run("PRAGMA user_version = 1");
  }
  {
    SqliteStore store(place.path, StoreAccess::kReadOnly);
    const auto found = store.find(id);
    REQUIRE(found);
    CHECK(found->compute.empty());
    CHECK(found->times.size() == record.times.size());
  }
  SqliteStore store(place.path);
  CHECK(store.find(id)->times.size() == record.times.size());
  CHECK(store.find(id)->compute.empty());
  store.record(record);
  CHECK(store.find(id)->compute == record.compute);
}

TEST_CASE("a newer store, another program's file and no database at all are refused") {
  const StoreFolder place;
  { SqliteStore(place.path).record(sample_record()); }
  { Stranger(place.path).run("PRAGMA user_version = 99"); }
  CHECK_THROWS_WITH(SqliteStore(place.path), Catch::Contains("schema version 99"));

  const auto other = place.folder.path() / "other.sqlite";
  { Stranger(other).run("CREATE TABLE t (x)"); }
  CHECK_THROWS_WITH(SqliteStore(other), Catch::Contains("not a store of Scavenger"));

  const auto text = place.folder.path() / "text.sqlite";
  write_file_atomically(text, std::string(4096, 'x'));
  CHECK_THROWS_WITH(SqliteStore(text), Catch::Contains("not a SQLite database"));
}
