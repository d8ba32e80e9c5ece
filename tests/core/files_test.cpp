// Files: what is read and within which bounds, and writing that leaves what stands beside it alone.
#include "meshwright/core/files.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <fstream>
#include <functional>
#include <thread>

#include "core/refusal.hpp"
#include "meshwright/core/error.hpp"
#include "meshwright/core/reader.hpp"

namespace meshwright {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// An empty folder of the running test's own.
fs::path folder() {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  const fs::path path = fs::path(testing::TempDir()) / (std::string("files-") + test->name());
  fs::remove_all(path);
  fs::create_directories(path);
  return path;
}

std::string gzipped(const std::string& text) {
  z_stream z{};
  deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&z, text.size()), '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data())), z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data()), z.avail_out = static_cast<uInt>(out.size());
  deflate(&z, Z_FINISH);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

fs::path put(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

std::size_t entries(const fs::path& where) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(where), fs::directory_iterator()));
}

TEST(ReadFile, TellsGzipByItsContent) {
  const fs::path here = folder();
  EXPECT_EQ(read_file(put(here / "plain.gz", "no gzip")), "no gzip");
  EXPECT_EQ(read_file(put(here / "packed", gzipped("hello"))), "hello");
  EXPECT_EQ(read_file(put(here / "two", gzipped("one ") + gzipped("two"))), "one two");
  EXPECT_EQ(read_file(put(here / "padded", gzipped("one") + std::string(512, '\0'))), "one");
  EXPECT_EQ(read_file(put(here / "empty", "")), "");
  EXPECT_EQ(read_file(put(here / "one", "\x1f")), "\x1f");
}

TEST(ReadFile, RefusesWhatIsNotWhole) {
  const fs::path here = folder();
  const std::string whole = gzipped(std::string(100000, 'x') + "end");
  for (const std::size_t kept : {std::size_t{2}, std::size_t{9}, whole.size() / 2, whole.size() - 1}) {
    EXPECT_THAT(refusal([&] { read_file(put(here / "cut.gz", whole.substr(0, kept))); }), HasSubstr("whole gzip"))
        << kept;
  }
  std::string damaged = whole;
  damaged[damaged.size() - 6] = static_cast<char>(damaged[damaged.size() - 6] ^ 0x55);  // the check sum
  EXPECT_THAT(refusal([&] { read_file(put(here / "bad.gz", damaged)); }), HasSubstr("whole gzip"));
}

TEST(ReadFile, RefusesFoldersDevicesAndSilentPipes) {
  const fs::path here = folder();
  EXPECT_THAT(refusal([&] { read_file(here); }), HasSubstr("folder"));
  EXPECT_THAT(refusal([&] { read_file("/dev/zero"); }), HasSubstr("device"));
  EXPECT_THAT(refusal([&] { read_file(here / "absent"); }), HasSubstr("no such file"));
  ASSERT_EQ(::mkfifo((here / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(read_file(here / "pipe"), "");  // nobody writes: at its end at once
}

TEST(ReadFile, ReadsWhatAWriterSendsThroughAPipe) {
  const fs::path here = folder();
  ASSERT_EQ(::mkfifo((here / "pipe").c_str(), 0600), 0);
  const std::string sent = std::string(300000, 'x') + "end";
  const int kept_open = ::open((here / "pipe").c_str(), O_RDWR);  // a writer is there before the reader comes
  std::jthread writer([&] {
    std::ofstream(here / "pipe", std::ios::binary) << sent;
    ::close(kept_open);
  });
  EXPECT_EQ(read_file(here / "pipe"), sent);
}

TEST(ReadFile, IsBounded) {
  const fs::path here = folder();
  put(here / "sparse", "");
  fs::resize_file(here / "sparse", 1ULL << 40);
  EXPECT_THAT(refusal([&] { read_file(here / "sparse"); }), HasSubstr("more than"));
  std::string bomb;
  for (int i = 0; i < 8; ++i) bomb += gzipped(std::string(8 << 20, '\0'));
  EXPECT_THAT(refusal([&] { read_file(put(here / "bomb.gz", bomb)); }), HasSubstr("inflates"));
  std::array<char, 4096> piece{};
  InputFile small(put(here / "small", std::string(100, 'x')), 64);
  EXPECT_THAT(refusal([&] {
                while (small.read(piece.data(), piece.size()) > 0) {
                }
              }),
              HasSubstr("more than 64.0 B"));
}

TEST(WriteFile, LeavesNothingBesideAndKeepsPermissions) {
  const fs::path here = folder(), out = here / "out.json";
  write_file(out, "one");
  fs::permissions(out, fs::perms::owner_read | fs::perms::owner_write);
  write_file(out, "two");
  EXPECT_EQ(read_file(out), "two");
  EXPECT_EQ(fs::status(out).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(entries(here), 1U);
}

TEST(WriteFile, FollowsAUsersLinkAndNoPlantedOne) {
  const fs::path here = folder();
  put(here / "real", "old"), put(here / "victim", "mine");
  fs::create_symlink("real", here / "link");
  fs::create_symlink("victim", here / "out.part");
  write_file(here / "link", "new");
  write_file(here / "out", "new");
  EXPECT_TRUE(fs::is_symlink(here / "link"));
  EXPECT_EQ(read_file(here / "real"), "new");
  EXPECT_EQ(read_file(here / "victim"), "mine");
  fs::create_symlink("nowhere", here / "dangling");
  EXPECT_THAT(refusal([&] { write_file(here / "dangling", "x"); }), HasSubstr("cannot be written"));
}

TEST(WriteFile, WritesThroughWhatIsNoFile) {
  write_file("/dev/null", "x");
  struct stat null {};
  ASSERT_EQ(::lstat("/dev/null", &null), 0);
  EXPECT_TRUE(S_ISCHR(null.st_mode));
  EXPECT_THAT(refusal([] { write_file("/dev/full", "x"); }), HasSubstr("No space left"));
  EXPECT_THAT(refusal([] { write_file(folder(), "x"); }), HasSubstr("folder"));
  EXPECT_THAT(refusal([] { write_file("", "x"); }), HasSubstr("empty text"));
}

TEST(WriteFile, ByManyAtOnceIsOneOfThem) {
  const fs::path here = folder();
  std::vector<std::jthread> writers;
  for (const char letter : {'a', 'b', 'c', 'd'}) {
    writers.emplace_back([&, letter] {
      for (int i = 0; i < 20; ++i) write_file(here / "out", std::string(100000, letter));
    });
  }
  for (int i = 0; i < 50; ++i) {
    if (!fs::exists(here / "out")) continue;
    const std::string seen = read_file(here / "out");
    EXPECT_EQ(seen, std::string(100000, seen.front()));
  }
  writers.clear();
  EXPECT_EQ(entries(here), 1U);
}

}  // namespace
}  // namespace meshwright
