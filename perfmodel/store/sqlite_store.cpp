#include "perfmodel/store/sqlite_store.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cmath>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"

namespace scavenger::perfmodel {
namespace {

constexpr int kApplicationId = 0x53434156;  // "SCAV": says whose file it is

constexpr const char* kSchema = R"(
CREATE TABLE model (id TEXT PRIMARY KEY, architecture TEXT NOT NULL, parameters INTEGER NOT NULL,
  data_set TEXT NOT NULL, samples_per_epoch INTEGER NOT NULL, optimizer TEXT NOT NULL, name TEXT NOT NULL,
  price_per_worker_hour REAL NOT NULL, updated_utc TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE time (model TEXT NOT NULL REFERENCES model(id) ON DELETE CASCADE, job TEXT NOT NULL,
  machine TEXT NOT NULL, workers REAL NOT NULL, batch_size REAL NOT NULL, seconds REAL NOT NULL,
  standard_error REAL NOT NULL, iterations REAL NOT NULL,
  PRIMARY KEY (model, machine, workers, batch_size, job)) WITHOUT ROWID;
CREATE TABLE noise (model TEXT NOT NULL REFERENCES model(id) ON DELETE CASCADE, job TEXT NOT NULL,
  phase INTEGER NOT NULL, workers REAL NOT NULL, batch_size REAL NOT NULL, noise_scale REAL NOT NULL,
  noise_scale_low REAL NOT NULL, noise_scale_high REAL NOT NULL, normalised_noise REAL NOT NULL,
  iterations REAL NOT NULL, PRIMARY KEY (model, phase, workers, batch_size, job)) WITHOUT ROWID;
CREATE TABLE epochs (model TEXT NOT NULL REFERENCES model(id) ON DELETE CASCADE, job TEXT NOT NULL,
  target TEXT NOT NULL, workers REAL NOT NULL, batch_size REAL NOT NULL, epochs REAL NOT NULL,
  seconds REAL NOT NULL, PRIMARY KEY (model, target, workers, batch_size, job)) WITHOUT ROWID;
CREATE TABLE fit (model TEXT PRIMARY KEY REFERENCES model(id) ON DELETE CASCADE, json TEXT NOT NULL,
  fitted_utc TEXT NOT NULL) WITHOUT ROWID;
)";

// Came with version 2.
constexpr const char* kComputeTable = R"(
CREATE TABLE compute (model TEXT NOT NULL REFERENCES model(id) ON DELETE CASCADE, job TEXT NOT NULL,
  machine TEXT NOT NULL, workers REAL NOT NULL, batch_size REAL NOT NULL, seconds REAL NOT NULL,
  standard_error REAL NOT NULL, iterations REAL NOT NULL,
  PRIMARY KEY (model, machine, workers, batch_size, job)) WITHOUT ROWID;
)";

}  // namespace

void require_store_place(const std::filesystem::path& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const auto refuse = [](std::string what, const fs::path& where) {
    throw InputError({.what = std::move(what),
                      .where = where.string(),
                      .remedy = "name a file of SQLite; a store is made where there is none"});
  };
  if (fs::exists(path, ignored)) {
    if (!fs::is_regular_file(path, ignored)) refuse("is not a regular file, so no store", path);
    return;
  }
  fs::path folder = fs::absolute(path, ignored).parent_path();
  while (!fs::exists(folder, ignored) && folder.has_relative_path()) folder = folder.parent_path();
  if (!fs::is_directory(folder, ignored))
    refuse("is not a folder, so no store can be in it", folder);
}

// One statement, its parameters bound in order, its columns read in order.
class SqliteStore::Statement final {
 public:
  Statement(SqliteStore& store, const char* sql) : store_(store) {
    const int code = sqlite3_prepare_v2(store.database_, sql, -1, &statement_, nullptr);
    if (code != SQLITE_OK) store.fail(code, "read");
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  template <typename... Values>
  Statement& bind(const Values&... values) {
    sqlite3_reset(statement_);
    int index = 0;
    (bind_one(++index, values), ...);
    return *this;
  }
  // True where there is a row.
  bool step() {
    const int code = sqlite3_step(statement_);
    if (code != SQLITE_ROW && code != SQLITE_DONE) store_.fail(code, "use");
    column_ = 0;
    return code == SQLITE_ROW;
  }
  std::string text() {
    const auto* value = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column_++));
    return value == nullptr ? "" : value;
  }
  double real() { return sqlite3_column_double(statement_, column_++); }
  std::uint64_t whole() {
    return static_cast<std::uint64_t>(sqlite3_column_int64(statement_, column_++));
  }

 private:
  void bind_one(int index, const std::string& value) {
    sqlite3_bind_text(statement_, index, value.c_str(), -1, SQLITE_TRANSIENT);
  }
  void bind_one(int index, double value) { sqlite3_bind_double(statement_, index, value); }
  void bind_one(int index, std::uint64_t value) {
    sqlite3_bind_int64(statement_, index, static_cast<sqlite3_int64>(value));
  }
  void bind_one(int index, std::uint32_t value) { bind_one(index, std::uint64_t{value}); }

  SqliteStore& store_;
  sqlite3_stmt* statement_ = nullptr;
  int column_ = 0;
};

// Rolled back where it is not committed. `immediate`: takes the write lock at once, so that nothing
// that was read can be out of date when it is written.
class SqliteStore::Transaction final {
 public:
  Transaction(SqliteStore& store, bool immediate) : store_(store) {
    store_.run(immediate ? "BEGIN IMMEDIATE" : "BEGIN");
  }
  ~Transaction() {
    if (open_) sqlite3_exec(store_.database_, "ROLLBACK", nullptr, nullptr, nullptr);
  }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit() {
    store_.run("COMMIT");
    open_ = false;
  }

 private:
  SqliteStore& store_;
  bool open_ = true;
};

SqliteStore::SqliteStore(const std::filesystem::path& path, StoreAccess access,
                         double patience_seconds)
    : path_(path) {
  const bool writes = access == StoreAccess::kReadWrite;
  std::error_code ignored;
  require_store_place(path);
  if (!writes && !std::filesystem::exists(path, ignored))
    throw InputError({.what = "there is no store",
                      .where = path.string(),
                      .remedy = "a job makes one (model_store.path), and so does scavenger-plan "
                                "record SOURCES --store FILE"});
  if (writes && path.has_parent_path())
    std::filesystem::create_directories(path.parent_path(), ignored);
  const int flags = writes ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
  const int code = sqlite3_open_v2(path.c_str(), &database_, flags, nullptr);
  try {
    if (code != SQLITE_OK) fail(code, "open");
    sqlite3_busy_timeout(database_, static_cast<int>(std::lround(1000.0 * patience_seconds)));
    prepare_schema(access);
  } catch (...) {
    sqlite3_close(database_);
    throw;
  }
}

SqliteStore::~SqliteStore() {
  sqlite3_close(database_);
}

void SqliteStore::prepare_schema(StoreAccess access) {
  const auto pragma = [this](const char* sql) {
    Statement statement(*this, sql);
    return statement.step() ? static_cast<int>(statement.whole()) : 0;
  };
  const auto check_version = [&] {
    const int version = pragma("PRAGMA user_version");
    if (version > kStoreSchemaVersion)
      throw InputError({.what = fmt::format("the store has schema version {}, and this program "
                                            "knows versions up to {}",
                                            version, kStoreSchemaVersion),
                        .where = path_.string(),
                        .remedy = "use the version of Scavenger that wrote it, or another file"});
    const int tables = pragma("SELECT count(*) FROM sqlite_master");
    if (tables > 0 && pragma("PRAGMA application_id") != kApplicationId)
      throw InputError({.what = "this SQLite file is not a store of Scavenger",
                        .where = path_.string(),
                        .remedy = "name another file; a store is made where there is none"});
    return version;
  };
  const int version = check_version();
  if (version == kStoreSchemaVersion) {
    if (access == StoreAccess::kReadWrite) settle_for_writing();
    return;
  }
  if (access == StoreAccess::kReadOnly && version > 0) {
    has_compute_ = false;  // of version 1, which only a writer changes
    return;
  }
  if (access == StoreAccess::kReadOnly)
    throw InputError({.what = "the store is empty",
                      .where = path_.string(),
                      .remedy = "train with model_store.path first, or record observations"});
  Transaction transaction(*this, true);
  const int now = check_version();  // another process may have been quicker
  if (now == 0) {
    run(kSchema);
    run(fmt::format("PRAGMA application_id = {}", kApplicationId).c_str());
  }
  if (now < kStoreSchemaVersion) {
    run(kComputeTable);
    run(fmt::format("PRAGMA user_version = {}", kStoreSchemaVersion).c_str());
  }
  transaction.commit();
  settle_for_writing();
}

void SqliteStore::settle_for_writing() {
  run("PRAGMA foreign_keys = ON");
  run("PRAGMA synchronous = NORMAL");
  // Kept in the file. Refused while another process uses it: then the next one to open it does
  // this.
  sqlite3_exec(database_, "PRAGMA journal_mode = WAL", nullptr, nullptr, nullptr);
}

void SqliteStore::run(const char* sql) {
  const int code = sqlite3_exec(database_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code, "use");
}

void SqliteStore::fail(int code, const char* doing) const {
  const std::string what =
      fmt::format("cannot {} the store: {}", doing,
                  database_ == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(database_));
  switch (code & 0xff) {
    case SQLITE_NOTADB:
      throw InputError({.what = "this file is not a SQLite database",
                        .where = path_.string(),
                        .remedy = "name another file; a store is made where there is none"});
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      throw SystemError({.what = "the store is locked by another process",
                         .where = path_.string(),
                         .remedy = "wait until it is done, or end it (fuser names it)"});
    case SQLITE_READONLY:
      throw SystemError(
          {.what = "the store may not be written",
           .where = path_.string(),
           .remedy = "allow it (chmod u+w, its folder as well), or use another file"});
    case SQLITE_CORRUPT:
      throw SystemError({.what = "the store is damaged",
                         .where = path_.string(),
                         .remedy = "save what is left with sqlite3's .recover, or delete it"});
    default:
      throw SystemError({.what = what,
                         .where = path_.string(),
                         .remedy = "check that its folder is there, may be written and has space"});
  }
}

void SqliteStore::record(const ModelRecord& record) {
  check_record(record);
  const std::string id = record.signature.id();
  const ModelSignature& signature = record.signature;
  Transaction transaction(*this, true);
  Statement model(*this,
                  "INSERT INTO model VALUES (?,?,?,?,?,?,?,?,?) ON CONFLICT(id) DO UPDATE SET "
                  "name = excluded.name, price_per_worker_hour = excluded.price_per_worker_hour, "
                  "updated_utc = excluded.updated_utc");
  model
      .bind(id, signature.architecture, signature.parameters, signature.data_set,
            signature.samples_per_epoch, signature.optimizer, record.name,
            record.price_per_worker_hour, utc_timestamp())
      .step();
  record_times(id, record.times, "time");
  record_times(id, record.compute, "compute");
  Statement noise(*this, "INSERT OR REPLACE INTO noise VALUES (?,?,?,?,?,?,?,?,?,?)");
  for (const NoiseRow& row : record.noise)
    noise
        .bind(id, row.job, row.phase, row.workers, row.batch_size, row.noise_scale,
              row.noise_scale_low, row.noise_scale_high, row.normalised_noise, row.iterations)
        .step();
  Statement epochs(*this, "INSERT OR REPLACE INTO epochs VALUES (?,?,?,?,?,?,?)");
  for (const EpochRow& row : record.epochs)
    epochs.bind(id, row.job, row.target, row.workers, row.batch_size, row.epochs, row.seconds)
        .step();
  transaction.commit();
}

void SqliteStore::record_times(const std::string& id, const std::vector<TimeRow>& rows,
                               const char* table) {
  Statement time(*this,
                 fmt::format("INSERT OR REPLACE INTO {} VALUES (?,?,?,?,?,?,?,?)", table).c_str());
  for (const TimeRow& row : rows)
    time.bind(id, row.job, row.machine, row.workers, row.batch_size, row.seconds,
              row.standard_error, row.iterations)
        .step();
}

std::vector<TimeRow> SqliteStore::find_times(const std::string& id, const char* table) {
  std::vector<TimeRow> rows;
  Statement time(*this, fmt::format("SELECT job, machine, workers, batch_size, seconds, "
                                    "standard_error, iterations FROM {} WHERE model = ?",
                                    table)
                            .c_str());
  for (time.bind(id); time.step();) {
    TimeRow row;
    row.job = time.text();
    row.machine = time.text();
    row.workers = time.real();
    row.batch_size = time.real();
    row.seconds = time.real();
    row.standard_error = time.real();
    row.iterations = time.real();
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<ModelSummary> SqliteStore::list() {
  Statement rows(*this,
                 "SELECT id, name, parameters, data_set, updated_utc, "
                 "(SELECT count(DISTINCT job) FROM time WHERE model = id), "
                 "(SELECT count(*) FROM (SELECT DISTINCT machine, workers, batch_size FROM time "
                 "WHERE model = id)), (SELECT count(*) FROM epochs WHERE model = id) "
                 "FROM model ORDER BY updated_utc DESC, id");
  std::vector<ModelSummary> models;
  while (rows.step()) {
    ModelSummary one;
    one.id = rows.text();
    one.name = rows.text();
    one.parameters = rows.whole();
    one.data_set = rows.text();
    one.updated_utc = rows.text();
    one.jobs = rows.whole();
    one.configurations = rows.whole();
    one.runs = rows.whole();
    models.push_back(std::move(one));
  }
  return models;
}

std::optional<ModelRecord> SqliteStore::find(const std::string& id) {
  Transaction transaction(*this, false);  // all tables as of one moment
  Statement model(*this,
                  "SELECT architecture, parameters, data_set, samples_per_epoch, optimizer, name, "
                  "price_per_worker_hour FROM model WHERE id = ?");
  if (!model.bind(id).step()) return std::nullopt;
  ModelRecord record;
  record.signature.architecture = model.text();
  record.signature.parameters = model.whole();
  record.signature.data_set = model.text();
  record.signature.samples_per_epoch = model.whole();
  record.signature.optimizer = model.text();
  record.name = model.text();
  record.price_per_worker_hour = model.real();
  record.times = find_times(id, "time");
  if (has_compute_) record.compute = find_times(id, "compute");
  Statement noise(*this,
                  "SELECT job, phase, workers, batch_size, noise_scale, noise_scale_low, "
                  "noise_scale_high, normalised_noise, iterations FROM noise WHERE model = ?");
  for (noise.bind(id); noise.step();) {
    NoiseRow row;
    row.job = noise.text();
    row.phase = static_cast<std::uint32_t>(noise.whole());
    row.workers = noise.real();
    row.batch_size = noise.real();
    row.noise_scale = noise.real();
    row.noise_scale_low = noise.real();
    row.noise_scale_high = noise.real();
    row.normalised_noise = noise.real();
    row.iterations = noise.real();
    record.noise.push_back(std::move(row));
  }
  Statement epochs(*this,
                   "SELECT job, target, workers, batch_size, epochs, seconds FROM epochs "
                   "WHERE model = ?");
  for (epochs.bind(id); epochs.step();) {
    EpochRow row;
    row.job = epochs.text();
    row.target = epochs.text();
    row.workers = epochs.real();
    row.batch_size = epochs.real();
    row.epochs = epochs.real();
    row.seconds = epochs.real();
    record.epochs.push_back(std::move(row));
  }
  return record;
}

bool SqliteStore::forget(const std::string& id) {
  Transaction transaction(*this, true);
  Statement model(*this, "DELETE FROM model WHERE id = ?");
  model.bind(id).step();
  const bool was_there = sqlite3_changes(database_) > 0;
  transaction.commit();
  return was_there;
}

void SqliteStore::record_fit(const std::string& id, const std::string& json) {
  Transaction transaction(*this, true);
  Statement fit(*this, "INSERT OR REPLACE INTO fit SELECT id, ?, ? FROM model WHERE id = ?");
  fit.bind(json, utc_timestamp(), id).step();
  transaction.commit();
}

std::optional<std::string> SqliteStore::find_fit(const std::string& id) {
  Statement fit(*this, "SELECT json FROM fit WHERE model = ?");
  if (!fit.bind(id).step()) return std::nullopt;
  return fit.text();
}

}  // namespace scavenger::perfmodel
