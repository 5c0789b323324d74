// The store in one SQLite file, which any number of jobs of a machine may share: SQLite's locks
// keep them apart, and its write-ahead log lets readers go on while one writes.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "perfmodel/store/model_store.h"

struct sqlite3;
struct sqlite3_stmt;

namespace scavenger::perfmodel {

// Raised when a table or a column is added or changes its meaning; a newer file is refused.
inline constexpr int kStoreSchemaVersion = 2;

enum class StoreAccess { kReadOnly, kReadWrite };

// Throws InputError if there is no store at this path, and none can be made there: what is there is
// no regular file (a pipe would be waited for), or one of its folders is a file. Makes nothing.
void require_store_place(const std::filesystem::path& path);

// Thread: one at a time. All calls throw SystemError where the file is locked by others for longer
// than the patience, cannot be written, or is damaged.
class SqliteStore final : public ModelStore {
 public:
  // Makes the file if it is not there and access allows it. Throws InputError if it is not there
  // otherwise, is no store, or a newer one.
  explicit SqliteStore(const std::filesystem::path& path,
                       StoreAccess access = StoreAccess::kReadWrite, double patience_seconds = 5.0);
  ~SqliteStore() override;

  void record(const ModelRecord& record) override;
  std::vector<ModelSummary> list() override;
  std::optional<ModelRecord> find(const std::string& id) override;
  bool forget(const std::string& id) override;
  void record_fit(const std::string& id, const std::string& json) override;
  std::optional<std::string> find_fit(const std::string& id) override;

 private:
  class Statement;
  class Transaction;

  void prepare_schema(StoreAccess access);
  void settle_for_writing();
  // Rows of the table "time" or "compute".
  void record_times(const std::string& id, const std::vector<TimeRow>& rows, const char* table);
  std::vector<TimeRow> find_times(const std::string& id, const char* table);
  void run(const char* sql);
  [[noreturn]] void fail(int code, const char* doing) const;

  std::filesystem::path path_;
  sqlite3* database_ = nullptr;
  bool has_compute_ = true;  // false: a file of version 1 that may only be read
};

}  // namespace scavenger::perfmodel
