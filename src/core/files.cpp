#include "meshwright/core/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <random>
#include <system_error>

#include "meshwright/core/document.hpp"
#include "meshwright/core/error.hpp"
#include "meshwright/core/reader.hpp"
#include "meshwright/core/units.hpp"

namespace meshwright {
namespace {

namespace fs = std::filesystem;

std::string reason(int code) { return std::generic_category().message(code); }

/// A descriptor that is closed when it goes.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return number_; }
  /// Closes it and says whether that went well: some file systems tell of a full disk only here.
  bool close() {
    const int number = number_;
    number_ = -1;
    return ::close(number) == 0;
  }

 private:
  int number_;
};

/// Refuses what is no file before it is opened: opening alone sets some devices going.
void refuse_unreadable(const fs::path& path) {
  struct stat what {};
  if (::stat(path.c_str(), &what) != 0) {
    const bool absent = errno == ENOENT || errno == ENOTDIR;
    throw Error(path.string(), absent ? "no such file" : "cannot be read: " + reason(errno));
  }
  if (S_ISDIR(what.st_mode)) throw Error(path.string(), "is a folder, expected a file");
  if (!S_ISREG(what.st_mode) && !S_ISFIFO(what.st_mode))
    throw Error(path.string(), "is a device or a socket, expected a file");
}

/// A descriptor of its own, so that closing it leaves stdin open.
int open_stdin() {
  struct stat what {};
  if (::fstat(STDIN_FILENO, &what) != 0) throw Error("stdin", "cannot be read: " + reason(errno));
  if (!S_ISREG(what.st_mode) && !S_ISFIFO(what.st_mode) && !S_ISSOCK(what.st_mode))
    throw Error("stdin", "is a terminal or a device, expected a pipe or a file");
  const int opened = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
  if (opened < 0) throw Error("stdin", "cannot be read: " + reason(errno));
  return opened;
}

int open_to_read(const fs::path& path) {
  if (path == fs::path(stdin_path)) return open_stdin();
  refuse_unreadable(path);
  const int opened = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (opened < 0) throw Error(path.string(), "cannot be read: " + reason(errno));
  return opened;
}

// Text and tables shrink to a tenth or a fiftieth; only what is all alike shrinks more than to a two hundredth.
constexpr std::uint64_t most_swelling = 200, swelling_counts_from = 16ULL << 20;

}  // namespace

struct InputFile::Impl {
  std::string path;
  Descriptor file;
  std::uint64_t most, given = 0, taken = 0;
  std::array<char, 1 << 16> buffer{};
  std::size_t at = 0, filled = 0;
  bool begun = false, ended = false, gzip = false, damaged = false;
  z_stream inflater{};

  Impl(const fs::path& file_path, std::uint64_t limit)
      : path(shown_path(file_path)), file(open_to_read(file_path)), most(limit) {}
  ~Impl() {
    if (gzip) inflateEnd(&inflater);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  /// Bytes as they stand in the file. A pipe's reader waits for its writer, where there is one.
  std::size_t read_raw(char* to, std::size_t room) {
    while (true) {
      const ssize_t got = ::read(file.get(), to, room);
      if (got >= 0) {
        taken += static_cast<std::uint64_t>(got);
        return static_cast<std::size_t>(got);
      }
      if (errno == EAGAIN) {
        pollfd wait{.fd = file.get(), .events = POLLIN, .revents = 0};
        ::poll(&wait, 1, -1);
      } else if (errno != EINTR) {
        throw Error(path, "cannot be read: " + reason(errno));
      }
    }
  }

  bool fill() {
    at = 0;
    filled = ended ? 0 : read_raw(buffer.data(), buffer.size());
    ended = filled == 0;
    return !ended;
  }

  void begin() {
    begun = true;
    // The magic number may come in two pieces through a pipe.
    while (filled < 2 && !ended) {
      const std::size_t got = read_raw(buffer.data() + filled, buffer.size() - filled);
      filled += got;
      ended = got == 0;
    }
    gzip =
        filled >= 2 && static_cast<unsigned char>(buffer[0]) == 0x1f && static_cast<unsigned char>(buffer[1]) == 0x8b;
    constexpr int gzip_window = 15 + 16;
    if (gzip && inflateInit2(&inflater, gzip_window) != Z_OK) throw std::bad_alloc();
  }

  std::size_t plain(char* to, std::size_t room) {
    if (at == filled && !fill()) return 0;
    const std::size_t count = std::min(room, filled - at);
    std::memcpy(to, buffer.data() + at, count);
    at += count;
    return count;
  }

  /// Inflates member after member; what follows the last one and is none is passed over, as gzip does.
  std::size_t inflated(char* to, std::size_t room) {
    inflater.next_out = reinterpret_cast<Bytef*>(to);
    inflater.avail_out = static_cast<uInt>(room);
    while (inflater.avail_out == room && !damaged) {
      if (at == filled && !fill()) {
        damaged = inflater.total_in > 0;  // the end of the file inside a member
        break;
      }
      inflater.next_in = reinterpret_cast<Bytef*>(buffer.data() + at);
      inflater.avail_in = static_cast<uInt>(filled - at);
      const int code = inflate(&inflater, Z_NO_FLUSH);
      at = filled - inflater.avail_in;
      if (code == Z_STREAM_END) {
        inflateReset(&inflater);
        const bool more = at < filled || fill();
        if (!more || static_cast<unsigned char>(buffer[at]) != 0x1f) {
          at = filled = 0;
          ended = true;
          break;
        }
      } else if (code != Z_OK && code != Z_BUF_ERROR) {
        damaged = true;
      }
    }
    return room - inflater.avail_out;
  }

  void refuse_too_much() const {
    if (given > most)
      throw Error(path, fmt::format("holds more than {}, the most that is read", format(Bytes::base(double(most)))));
    if (gzip && given > swelling_counts_from && given / most_swelling > taken)
      throw Error(path,
                  fmt::format("inflates to more than {} times its size: nothing but padding does", most_swelling));
  }
};

InputFile::InputFile(const fs::path& path, std::uint64_t most) : impl_(std::make_unique<Impl>(path, most)) {}
InputFile::~InputFile() = default;

std::size_t InputFile::read(char* to, std::size_t room) {
  Impl& s = *impl_;
  if (!s.begun) s.begin();
  const std::size_t count = s.gzip ? s.inflated(to, room) : s.plain(to, room);
  s.given += count;
  s.refuse_too_much();
  return count;
}

bool InputFile::damaged() const { return impl_->damaged; }

std::string read_file(const fs::path& path) {
  InputFile file(path);
  std::string content;
  std::array<char, 1 << 16> piece;
  while (const std::size_t got = file.read(piece.data(), piece.size())) content.append(piece.data(), got);
  if (file.damaged()) throw Error(path.string(), "is not a whole gzip file");
  return content;
}

namespace {

[[noreturn]] void refuse_to_write(const fs::path& path, int code) {
  throw Error(path.string(), "cannot be written: " + reason(code));
}

/// 0, or what went wrong.
int write_all(int file, std::string_view content) {
  while (!content.empty()) {
    const ssize_t put = ::write(file, content.data(), content.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno;
    content.remove_prefix(static_cast<std::size_t>(put));
  }
  return 0;
}

/// Into what stands there: a pipe, a terminal, a device.
void write_through(const fs::path& path, std::string_view content, int flags) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | flags));
  if (file.get() < 0) refuse_to_write(path, errno);
  if (const int code = write_all(file.get(), content)) refuse_to_write(path, code);
  if (!file.close()) refuse_to_write(path, errno);
}

/// A new file in `folder` that nobody can have foreseen.
std::pair<fs::path, int> open_sibling(const fs::path& folder) {
  std::random_device random;
  for (int attempt = 0;; ++attempt) {
    const fs::path path = folder / fmt::format(".meshwright-{:08x}{:08x}.part", random(), random());
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (file >= 0 || errno != EEXIST || attempt == 100) return {path, file};
  }
}

/// Writes beside `path` and renames: readers see the old file or the new one, whole. `before` is the file that stands
/// there, null where there is none.
void replace(const fs::path& path, std::string_view content, const struct stat* before) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const auto [beside, opened] = open_sibling(folder);
  if (opened < 0) refuse_to_write(path, errno);
  Descriptor file(opened);
  const auto give_up = [&, &part = beside](int code) {
    ::unlink(part.c_str());
    refuse_to_write(path, code);
  };
  if (before != nullptr) ::fchmod(file.get(), before->st_mode & 07777);
  if (const int code = write_all(file.get(), content)) give_up(code);
  if (::fsync(file.get()) != 0 && errno != EINVAL && errno != ENOTSUP) give_up(errno);
  if (!file.close()) give_up(errno);
  if (::rename(beside.c_str(), path.c_str()) == 0) return;
  const int code = errno;
  ::unlink(beside.c_str());
  if (code != EBUSY || before == nullptr) refuse_to_write(path, code);
  write_through(path, content, O_TRUNC);  // a file that is mounted by itself cannot be replaced
}

}  // namespace

void write_file(const fs::path& path, std::string_view content) {
  if (path.empty()) throw Error("output file", "found an empty text, expected a path");
  struct stat there {};
  if (::lstat(path.c_str(), &there) != 0) {
    if (errno != ENOENT) refuse_to_write(path, errno);
    return replace(path, content, nullptr);
  }
  fs::path target = path;
  if (S_ISLNK(there.st_mode)) {
    // Opening asks the system whether this link may be followed: in shared folders others' links may not.
    const Descriptor probe(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    if (probe.get() < 0 || ::fstat(probe.get(), &there) != 0) refuse_to_write(path, errno);
    std::error_code failed;
    if (S_ISREG(there.st_mode)) target = fs::canonical(path, failed);
    if (failed) refuse_to_write(path, failed.value());
  }
  if (S_ISDIR(there.st_mode)) throw Error(path.string(), "cannot be written: it is a folder");
  S_ISREG(there.st_mode) ? replace(target, content, &there) : write_through(path, content, 0);
}

}  // namespace meshwright
