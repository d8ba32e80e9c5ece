#pragma once
// Results of a sweep on disk: written as they come, taken up again after a crash, none lost, none twice (SQLite).
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace meshwright::capacity {

class Store {
 public:
  /// Opens or creates a store of the results of `key` (scenario, program and hardware database). Throws Error where the
  /// file holds the results of something else, is no store, or cannot be written.
  Store(const std::filesystem::path& file, const std::string& key);
  ~Store();
  Store(Store&&) noexcept;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  /// True where the point of that number is there.
  bool has(std::uint64_t index) const;
  std::uint64_t count() const;
  /// Keeps one result; a second one of the same point changes nothing. Durable with the next commit().
  void add(std::uint64_t index, const std::string& line);
  void commit();
  /// Every result in the order of its point.
  void each(const std::function<void(std::uint64_t index, const std::string& line)>& visit) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace meshwright::capacity
