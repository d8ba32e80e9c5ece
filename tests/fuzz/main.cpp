// meshwright_fuzz TARGET CORPUS [--seconds N] [--runs N] [--seed N]: seeds and their mutations through one reader.
// The input that is being run stands in a file, so that what brought the program down is known; a run of more than a
// second or an address space of more than a gibibyte brings it down, too.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "fuzz/mutate.hpp"
#include "fuzz/targets.hpp"

namespace {

using namespace meshwright::fuzz;
using Clock = std::chrono::steady_clock;

/// Pages that outlive a crash, because a file backs them.
class Witness {
 public:
  explicit Witness(const std::string& path) : path_(path) {
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (file < 0 || ::ftruncate(file, room) != 0) std::abort();
    pages_ = static_cast<char*>(::mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    ::close(file);
    if (pages_ == MAP_FAILED) std::abort();
  }
  ~Witness() { ::unlink(path_.c_str()); }
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;
  /// The length, then the bytes.
  void hold(const std::string& input) {
    const std::uint32_t size = static_cast<std::uint32_t>(std::min(input.size(), room - sizeof(std::uint32_t)));
    std::memcpy(pages_, &size, sizeof size);
    std::memcpy(pages_ + sizeof size, input.data(), size);
  }

 private:
  static constexpr std::size_t room = 1 << 20;
  std::string path_;
  char* pages_ = nullptr;
};

struct Options {
  const Target* target = nullptr;
  std::string corpus;
  double seconds = 10;
  unsigned long long runs = ~0ULL, seed = 1;
};

Options read_options(int argc, char** argv) {
  Options options;
  if (argc >= 3) options.target = target(argv[1]), options.corpus = argv[2];
  for (int i = 3; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    if (name == "--seconds") options.seconds = std::atof(argv[i + 1]);
    if (name == "--runs") options.runs = std::strtoull(argv[i + 1], nullptr, 10);
    if (name == "--seed") options.seed = std::strtoull(argv[i + 1], nullptr, 10);
  }
  return options;
}

void bound_memory() {
#if !defined(__SANITIZE_ADDRESS__)
  const rlimit limit{1ULL << 30, 1ULL << 30};
  ::setrlimit(RLIMIT_AS, &limit);
#endif
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = read_options(argc, argv);
  if (options.target == nullptr) {
    std::fputs("usage: meshwright_fuzz TARGET CORPUS [--seconds N] [--runs N] [--seed N]; targets:", stderr);
    for (const Target& row : targets())
      std::fprintf(stderr, " %.*s", static_cast<int>(row.name.size()), row.name.data());
    std::fputs("\n", stderr);
    return 2;
  }
  const std::vector<std::string> seeds = read_seeds(options.corpus);
  Witness witness("fuzz-" + std::string(options.target->name) + ".input");
  for (const std::string& seed : seeds) options.target->run(seed);  // tables that are made once
  bound_memory();
  Mutator mutator(seeds, options.seed);
  const auto start = Clock::now();
  unsigned long long runs = 0;
  double slowest = 0;
  for (auto now = start; runs < options.runs; ++runs) {
    if (std::chrono::duration<double>(now - start).count() > options.seconds) break;
    const std::string input = mutator.next();
    witness.hold(input);
    ::alarm(10);
    options.target->run(input);
    const auto end = Clock::now();
    slowest = std::max(slowest, std::chrono::duration<double>(end - now).count());
    now = end;
  }
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  std::printf("%-10s %10llu runs in %.0f s, slowest %.0f ms, %ld MiB\n", std::string(options.target->name).c_str(),
              runs, std::chrono::duration<double>(Clock::now() - start).count(), 1000 * slowest, used.ru_maxrss / 1024);
  return 0;
}
