// GOAL, the schedule language of LogGOPSim: a tokeniser and a reader of its statements, and the way back.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <map>
#include <optional>

#include "meshwright/core/error.hpp"
#include "meshwright/cost/loggp.hpp"

namespace meshwright::cost {
namespace {

struct Token {
  std::string_view text;  ///< empty at the end
  int line = 1;
};

class Tokens {
 public:
  Tokens(std::string_view text, const std::string& where) : text_(text), where_(where) { advance(); }

  const Token& next() const { return token_; }
  bool done() const { return token_.text.empty(); }
  Token take() {
    const Token taken = token_;
    advance();
    return taken;
  }
  bool take_if(std::string_view word) {
    if (token_.text != word) return false;
    advance();
    return true;
  }
  void expect(std::string_view word) {
    if (!take_if(word)) refuse(token_, fmt::format("expected '{}'", word));
  }
  std::uint64_t number(std::string_view what, std::uint64_t most) {
    const Token t = take();
    std::string_view digits = t.text;
    if (digits.ends_with('b')) digits.remove_suffix(1);  // bytes
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc{} || end != digits.data() + digits.size())
      refuse(t, fmt::format("expected {}, a whole number", what));
    if (value > most) refuse(t, fmt::format("expected {} of at most {}", what, most));
    return value;
  }
  [[noreturn]] void refuse(const Token& t, const std::string& expected) const {
    throw Error(
        fmt::format("{}:{}", where_, t.line),
        fmt::format("found {}; {}", t.text.empty() ? "the end of the text" : fmt::format("'{}'", t.text), expected));
  }

 private:
  void advance() {
    std::size_t i = token_end_;
    const auto blank = [&] { return std::isspace(static_cast<unsigned char>(text_[i])) != 0; };
    while (i < text_.size() && (blank() || text_.substr(i, 2) == "/*" || text_.substr(i, 2) == "//")) {
      if (!blank()) {
        const std::string_view close = text_[i + 1] == '*' ? "*/" : "\n";
        const std::size_t end = text_.find(close, i + 2);
        const std::size_t after = end == std::string_view::npos ? text_.size() : end + close.size();
        for (; i < after; ++i) line_ += text_[i] == '\n';
        continue;
      }
      line_ += text_[i++] == '\n';
    }
    std::size_t end = i;
    const auto word = [&](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
    while (end < text_.size() && word(text_[end])) ++end;
    if (end == i && i < text_.size()) ++end;  // punctuation stands alone
    token_ = {text_.substr(i, end - i), line_};
    token_end_ = end;
  }

  std::string_view text_;
  const std::string& where_;
  Token token_;
  std::size_t token_end_ = 0;
  int line_ = 1;
};

constexpr std::uint64_t largest = std::numeric_limits<std::int64_t>::max();

/// "send 8b to 1", "recv 8b from 0", "calc 100", then any of "tag 3", "cpu 0", "nic 0".
Operation read_operation(Tokens& in, std::size_t ranks) {
  const Token kind = in.take();
  Operation op;
  if (kind.text == "calc") {
    op.kind = OperationKind::calculate;
    op.size = in.number("a duration in ns", largest);
  } else if (kind.text == "send" || kind.text == "recv") {
    op.kind = kind.text == "send" ? OperationKind::send : OperationKind::receive;
    op.size = in.number("a size in bytes", largest);
    in.expect(kind.text == "send" ? "to" : "from");
    op.peer = static_cast<int>(in.number("a rank", ranks - 1));
  } else {
    in.refuse(kind, "expected send, recv or calc");
  }
  for (;;) {
    if (in.take_if("tag")) {
      op.tag = static_cast<int>(in.number("a tag", std::numeric_limits<int>::max()));
    } else if (in.take_if("cpu")) {
      op.cpu = static_cast<int>(in.number("a CPU index", 1023));
    } else if (in.take_if("nic")) {
      op.nic = static_cast<int>(in.number("a NIC index", 1023));
    } else {
      return op;
    }
  }
}

std::vector<Operation> read_rank(Tokens& in, std::size_t ranks) {
  std::vector<Operation> operations;
  std::map<std::string_view, int> labels;
  const auto index_of = [&](const Token& label) {
    const auto found = labels.find(label.text);
    if (found == labels.end()) in.refuse(label, "expected the label of an operation above");
    return found->second;
  };
  in.expect("{");
  while (!in.take_if("}")) {
    if (in.done()) in.refuse(in.next(), "expected '}'");
    const Token first = in.take();
    if (in.take_if(":")) {
      if (!labels.emplace(first.text, static_cast<int>(operations.size())).second)
        in.refuse(first, "expected a label that isn't taken");
      operations.push_back(read_operation(in, ranks));
      continue;
    }
    if (first.text == "send" || first.text == "recv" || first.text == "calc")
      in.refuse(first, "expected a label before the operation, as in 'l1: send 8b to 1'");
    const int later = index_of(first);
    const Token relation = in.take();
    if (relation.text != "requires" && relation.text != "irequires")
      in.refuse(relation, "expected ':', 'requires' or 'irequires'");
    Operation& op = operations[static_cast<std::size_t>(later)];
    (relation.text == "requires" ? op.after_done : op.after_start).push_back(index_of(in.take()));
  }
  return operations;
}

/// CPUs and NICs of all ranks: the clock sweep holds a time for each.
std::size_t clocks_of(const std::vector<Operation>& operations) {
  std::size_t cpus = 0, nics = 0;
  for (const Operation& op : operations) {
    cpus = std::max(cpus, static_cast<std::size_t>(op.cpu) + 1);
    nics = std::max(nics, static_cast<std::size_t>(op.nic) + 1);
  }
  return cpus + 2 * nics;
}

}  // namespace

MessageProgram parse_goal(std::string_view text, const std::string& where) {
  Tokens in(text, where);
  constexpr std::size_t most_operations = 1 << 20, most_clocks = 1 << 21;
  std::size_t operations = 0, clocks = 0;
  in.expect("num_ranks");
  const std::uint64_t ranks = in.number("a number of ranks", 1 << 20);
  if (ranks == 0) in.refuse(in.next(), "expected at least one rank");
  MessageProgram program;
  program.ranks.resize(ranks);
  std::vector<bool> seen(ranks);
  while (!in.done()) {
    in.expect("rank");
    const Token token = in.next();
    const std::uint64_t rank = in.number("a rank", ranks - 1);
    if (seen[rank]) in.refuse(token, "expected each rank once");
    seen[rank] = true;
    program.ranks[rank] = read_rank(in, ranks);
    operations += program.ranks[rank].size();
    clocks += clocks_of(program.ranks[rank]);
    if (operations > most_operations || clocks > most_clocks)
      in.refuse(token, fmt::format("expected at most {} operations and {} CPUs and NICs in all", most_operations,
                                   most_clocks));
  }
  return program;
}

std::string goal_text(const MessageProgram& program) {
  std::string text = fmt::format("num_ranks {}\n", program.ranks.size());
  for (std::size_t rank = 0; rank < program.ranks.size(); ++rank) {
    text += fmt::format("\nrank {} {{\n", rank);
    const auto& operations = program.ranks[rank];
    for (std::size_t i = 0; i < operations.size(); ++i) {
      const Operation& op = operations[i];
      if (op.kind == OperationKind::calculate) {
        text += fmt::format("l{}: calc {}", i + 1, op.size);
      } else {
        const bool sends = op.kind == OperationKind::send;
        text += fmt::format("l{}: {} {}b {} {} tag {}", i + 1, sends ? "send" : "recv", op.size, sends ? "to" : "from",
                            op.peer, op.tag);
      }
      if (op.cpu != 0) text += fmt::format(" cpu {}", op.cpu);
      if (op.nic != 0) text += fmt::format(" nic {}", op.nic);
      text += '\n';
    }
    for (std::size_t i = 0; i < operations.size(); ++i) {
      for (const int before : operations[i].after_done) text += fmt::format("l{} requires l{}\n", i + 1, before + 1);
      for (const int before : operations[i].after_start) text += fmt::format("l{} irequires l{}\n", i + 1, before + 1);
    }
    text += "}\n";
  }
  return text;
}

}  // namespace meshwright::cost
