#pragma once
// Files, read within bounds and written without harm. read_file() and write_file() stand in reader.hpp.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace meshwright {

/// The most that is held of one file at a time (JSON, CSV, dumps), after it is inflated.
inline constexpr std::uint64_t most_file_bytes = 64ULL << 20;
/// The most that is read of a file that passes by (logs, traces).
inline constexpr std::uint64_t most_stream_bytes = 64ULL << 30;

/// A file or a pipe as a stream of bytes, inflated where it is gzip. Folders and devices are refused; so are more than
/// `most` bytes, and gzip that swells as nothing but a trap does. A read that fails is an Error, never an end of the
/// file; a pipe into which nobody writes is at its end.
class InputFile {
 public:
  explicit InputFile(const std::filesystem::path& path, std::uint64_t most = most_file_bytes);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  /// Fills `to` as far as there is something; 0 at the end.
  std::size_t read(char* to, std::size_t room);
  /// True once a gzip stream turned out to break off or to be damaged; what came before it was given.
  bool damaged() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace meshwright
