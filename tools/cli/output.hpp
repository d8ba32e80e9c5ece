#pragma once
// Where everything goes that the program prints: names come from files that anybody wrote, and a full disk
// must not look like an answer.
#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>

namespace meshwright::cli {

/// What could not be printed, and why: exit 74.
struct OutputFailed {
  std::string why;
};

/// Stands in for the buffer of std::cout or std::cerr while it lives. Lines leave it as they are, but for control
/// characters, which come out as "\u001b" (in JSON, too, that is what they are), and bytes that are no UTF-8, which
/// become U+FFFD. Styles are put between marks that only this buffer turns into escape sequences.
class Output : public std::streambuf {
 public:
  Output(std::ostream& stream, int descriptor);
  ~Output() override;
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  /// Forgets what is not written yet: bad input says nothing on stdout.
  void discard() { held_.clear(); }
  /// Writes what is left. Throws OutputFailed where anything could not be written since the start.
  void finish();

 protected:
  int_type overflow(int_type c) override;
  std::streamsize xsputn(const char* text, std::streamsize count) override;
  int sync() override;

 private:
  void put(std::string_view text);
  void write_lines(bool all);

  std::ostream& stream_;
  const int descriptor_;
  std::streambuf* const before_;
  std::string held_;
  int failed_ = 0;
};

/// From here on what is printed is for machines: whatever the locale, it stays as it is.
void prints_data();

/// `text` in a style of a terminal (its SGR code), which Output shows where there is one.
std::string marked(std::string_view text, std::string_view code);

/// The length of the style mark that `text` begins with ("\x01" "31" "\x02", which Output shows as "\x1b[31m"); 0 where
/// none begins here.
std::size_t style_at(std::string_view text);

/// Opens what stands closed of stdin, stdout and stderr, so that no file gets their numbers and what is meant for them.
/// What is written to a stdout that stood closed fails.
void hold_standard_streams();

}  // namespace meshwright::cli
