#pragma once
// What a database file of somebody else may do while it is read.
#include <sqlite3.h>

namespace meshwright {

/// Leaves the tables of a file alone to be read: a view or a trigger that stands in for one may run without end, and
/// functions of a schema may do anything.
inline void read_tables_alone(sqlite3* database) noexcept {
  for (const int power : {SQLITE_DBCONFIG_ENABLE_VIEW, SQLITE_DBCONFIG_ENABLE_TRIGGER, SQLITE_DBCONFIG_TRUSTED_SCHEMA})
    sqlite3_db_config(database, power, 0, nullptr);
}

}  // namespace meshwright
