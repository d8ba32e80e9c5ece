#include "meshwright/capacity/store.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include "core/sqlite.hpp"
#include "meshwright/core/error.hpp"

namespace meshwright::capacity {
namespace {

/// What a person can do about a fault of the database; in the file itself there may be results worth keeping.
std::string why(sqlite3* database) {
  const std::string said = sqlite3_errmsg(database);
  switch (sqlite3_errcode(database) & 0xff) {
    case SQLITE_FULL:
      return "the disk is full; with more room the same command goes on from what is there";
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "another program holds it; the same command goes on from what is there";
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR:
      return "cannot be written: " + said;
    default:
      return "is no usable store: " + said;
  }
}

/// A prepared statement, finished when it goes.
class Statement {
 public:
  Statement(sqlite3* database, const char* sql, const std::string& where) : database_(database), where_(where) {
    if (sqlite3_prepare_v2(database, sql, -1, &statement_, nullptr) != SQLITE_OK) fail();
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(int at, std::int64_t value) {
    if (sqlite3_bind_int64(statement_, at, value) != SQLITE_OK) fail();
    return *this;
  }
  Statement& bind(int at, const std::string& value) {
    if (sqlite3_bind_text64(statement_, at, value.data(), value.size(), SQLITE_TRANSIENT, SQLITE_UTF8) != SQLITE_OK)
      fail();
    return *this;
  }
  /// True while there is a row.
  bool step() {
    const int code = sqlite3_step(statement_);
    if (code != SQLITE_ROW && code != SQLITE_DONE) fail();
    return code == SQLITE_ROW;
  }
  std::int64_t integer(int column) const { return sqlite3_column_int64(statement_, column); }
  std::string text(int column) const {
    const auto* data = sqlite3_column_text(statement_, column);
    return data == nullptr ? ""
                           : std::string(reinterpret_cast<const char*>(data),
                                         static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
  }

 private:
  [[noreturn]] void fail() const { throw Error(where_, why(database_)); }
  sqlite3* database_;
  const std::string& where_;
  sqlite3_stmt* statement_ = nullptr;
};

/// Nothing is written into what holds something else.
void refuse_foreign(sqlite3* database, const std::string& where) {
  Statement tables(database,
                   "SELECT count(*), total(type = 'table' AND name IN ('meta', 'results')) FROM sqlite_master "
                   "WHERE name NOT LIKE 'sqlite_%'",
                   where);
  if (tables.step() && tables.integer(0) != tables.integer(1))
    throw Error(where, "it is a database of something else; expected a new file");
}

}  // namespace

struct Store::Impl {
  sqlite3* database = nullptr;
  std::string where;
  bool open = false;  ///< a transaction
  ~Impl() { sqlite3_close(database); }
  void run(const char* sql) {
    if (sqlite3_exec(database, sql, nullptr, nullptr, nullptr) != SQLITE_OK) throw Error(where, why(database));
  }
};

Store::Store(const std::filesystem::path& file, const std::string& key) : impl_(std::make_unique<Impl>()) {
  impl_->where = file.string();
  if (sqlite3_open(file.c_str(), &impl_->database) != SQLITE_OK) throw Error(impl_->where, why(impl_->database));
  read_tables_alone(impl_->database);
  sqlite3_busy_timeout(impl_->database, 10000);
  refuse_foreign(impl_->database, impl_->where);
  impl_->run(
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
      "CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
      "CREATE TABLE IF NOT EXISTS results (point INTEGER PRIMARY KEY, line TEXT NOT NULL);");
  Statement(impl_->database, "INSERT OR IGNORE INTO meta VALUES ('key', ?)", impl_->where).bind(1, key).step();
  Statement stored(impl_->database, "SELECT value FROM meta WHERE name = 'key'", impl_->where);
  if (!stored.step() || stored.text(0) != key)
    throw Error(impl_->where,
                "it holds results of another scenario, program or hardware database; expected a new file");
}

Store::~Store() {
  if (impl_ == nullptr || !impl_->open) return;
  sqlite3_exec(impl_->database, "COMMIT", nullptr, nullptr, nullptr);
}

Store::Store(Store&&) noexcept = default;

bool Store::has(std::uint64_t index) const {
  return Statement(impl_->database, "SELECT 1 FROM results WHERE point = ?", impl_->where)
      .bind(1, static_cast<std::int64_t>(index))
      .step();
}

std::uint64_t Store::count() const {
  Statement counted(impl_->database, "SELECT count(*) FROM results", impl_->where);
  counted.step();
  return static_cast<std::uint64_t>(counted.integer(0));
}

void Store::add(std::uint64_t index, const std::string& line) {
  if (!impl_->open) impl_->run("BEGIN");
  impl_->open = true;
  Statement(impl_->database, "INSERT OR IGNORE INTO results VALUES (?, ?)", impl_->where)
      .bind(1, static_cast<std::int64_t>(index))
      .bind(2, line)
      .step();
}

void Store::commit() {
  if (impl_->open) impl_->run("COMMIT");
  impl_->open = false;
}

void Store::each(const std::function<void(std::uint64_t, const std::string&)>& visit) const {
  Statement rows(impl_->database, "SELECT point, line FROM results ORDER BY point", impl_->where);
  while (rows.step()) visit(static_cast<std::uint64_t>(rows.integer(0)), rows.text(1));
}

}  // namespace meshwright::capacity
