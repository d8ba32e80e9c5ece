// meshwright completion SHELL: a script that completes commands, options and names, made from the parser's own tree.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iostream>
#include <memory>

#include "command.hpp"
#include "command_tree.hpp"
#include "output.hpp"

namespace meshwright::cli {
namespace {

/// For single quotes of every shell: fish and zsh take '\'' too.
std::string quoted(std::string text) {
  for (std::size_t at = 0; (at = text.find('\'', at)) != std::string::npos; at += 4) text.replace(at, 1, "'\\''");
  return "'" + text + "'";
}

std::vector<std::string> words_of(const CommandFacts& command) {
  std::vector<std::string> words;
  for (const auto& [name, doc] : command.commands) words.push_back(name);
  for (const OptionFacts& option : command.options) {
    if (!option.positional) words.insert(words.end(), option.names.begin(), option.names.end());
  }
  return words;
}

/// Options of all commands whose values have names, once each.
std::vector<std::pair<std::string, std::vector<std::string>>> named_values(const std::vector<CommandFacts>& tree) {
  std::vector<std::pair<std::string, std::vector<std::string>>> all;
  for (const CommandFacts& command : tree) {
    for (const OptionFacts& option : command.options) {
      for (const std::string& name : option.names) {
        const bool known = std::ranges::any_of(all, [&](const auto& entry) { return entry.first == name; });
        std::vector<std::string> values = known ? std::vector<std::string>{} : values_of(name);
        if (!values.empty()) all.emplace_back(name, std::move(values));
      }
    }
  }
  return all;
}

/// Shell text that walks `words` down the tree: "path" becomes "topo show".
std::string walk(const std::vector<CommandFacts>& tree) {
  std::string out;
  for (const CommandFacts& command : tree) {
    if (!command.path.empty()) out += fmt::format("      {}) path={} ;;\n", quoted(command.path), quoted(command.path));
  }
  return out;
}

std::string bash_script(const std::vector<CommandFacts>& tree) {
  std::string out =
      "# bash completion of meshwright: source <(meshwright completion bash)\n"
      "_meshwright() {\n"
      "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} path= word\n"
      "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
      "    case \"${path:+$path }$word\" in\n" +
      walk(tree) + "    esac\n  done\n  COMPREPLY=()\n  case \"$prev\" in\n";
  for (const auto& [option, values] : named_values(tree))
    out += fmt::format("    {}) COMPREPLY=($(compgen -W {} -- \"$cur\")) ;;\n", option,
                       quoted(fmt::format("{}", fmt::join(values, " "))));
  out += "  esac\n  [[ ${#COMPREPLY[@]} -gt 0 ]] && return\n  case \"$path\" in\n";
  for (const CommandFacts& command : tree)
    out += fmt::format("    {}) COMPREPLY=($(compgen -W {} -- \"$cur\")) ;;\n", quoted(command.path),
                       quoted(fmt::format("{}", fmt::join(words_of(command), " "))));
  return out + "  esac\n}\ncomplete -o default -F _meshwright meshwright\n";
}

/// "word:what it is" of _describe.
std::string described(const std::string& word, std::string doc) {
  std::string name;
  for (const char c : word) name += c == ':' ? std::string("\\:") : std::string(1, c);
  return quoted(fmt::format("{}:{}", name, doc));
}

std::string zsh_script(const std::vector<CommandFacts>& tree) {
  std::string out =
      "#compdef meshwright\n"
      "# zsh completion of meshwright: meshwright completion zsh > ~/.zfunc/_meshwright\n"
      "_meshwright() {\n"
      "  local path_so_far='' word\n  local -a names\n"
      "  for word in ${words[2,CURRENT-1]}; do\n"
      "    case \"${path_so_far:+$path_so_far }$word\" in\n";
  for (const CommandFacts& command : tree) {
    if (!command.path.empty())
      out += fmt::format("      {}) path_so_far={} ;;\n", quoted(command.path), quoted(command.path));
  }
  out += "    esac\n  done\n  case \"${words[CURRENT-1]}\" in\n";
  for (const auto& [option, values] : named_values(tree)) {
    out += fmt::format("    {}) names=(", option);
    for (const std::string& value : values) out += quoted(value) + " ";
    out += ") ; compadd -a names ;;\n";
  }
  out += "  esac\n  case \"$path_so_far\" in\n";
  for (const CommandFacts& command : tree) {
    out += fmt::format("    {}) names=(", quoted(command.path));
    for (const auto& [name, doc] : command.commands) out += "\n      " + described(name, doc);
    for (const OptionFacts& option : command.options) {
      for (const std::string& name : option.names) {
        if (!option.positional) out += "\n      " + described(name, option.doc);
      }
    }
    out += ") ;;\n";
  }
  return out +
         "  esac\n  _describe -o 'meshwright' names\n  _files\n}\n"
         "if [ \"${funcstack[1]}\" = _meshwright ]; then _meshwright \"$@\"; else compdef _meshwright meshwright; fi\n";
}

std::string fish_script(const std::vector<CommandFacts>& tree) {
  std::string out =
      "# fish completion of meshwright: meshwright completion fish > ~/.config/fish/completions/meshwright.fish\n"
      "function __meshwright_path\n"
      "  set -l so_far ''\n"
      "  for word in (commandline -opc)[2..]\n"
      "    switch (string trim \"$so_far $word\")\n";
  for (const CommandFacts& command : tree) {
    if (!command.path.empty())
      out += fmt::format("      case {}\n        set so_far {}\n", quoted(command.path), quoted(command.path));
  }
  out += "    end\n  end\n  test \"$so_far\" = \"$argv[1]\"\nend\n";
  for (const CommandFacts& command : tree) {
    const std::string here = fmt::format("complete -c meshwright -n \"__meshwright_path {}\"", quoted(command.path));
    for (const auto& [name, doc] : command.commands)
      out += fmt::format("{} -f -a {} -d {}\n", here, quoted(name), quoted(doc));
    for (const OptionFacts& option : command.options) {
      if (option.positional) continue;
      std::string spelled;
      for (const std::string& name : option.names)
        spelled +=
            name.starts_with("--") ? " -l " + name.substr(2) : (name.size() == 2 ? " -s " : " -o ") + name.substr(1);
      std::vector<std::string> values = values_of(option.names.front());
      const std::string takes = option.value.empty() ? "" : " -r";
      const std::string offered =
          values.empty() ? "" : fmt::format(" -f -a {}", quoted(fmt::format("{}", fmt::join(values, " "))));
      out += fmt::format("{}{}{}{} -d {}\n", here, spelled, takes, offered, quoted(option.doc));
    }
  }
  return out;
}

}  // namespace

void add_completion(CLI::App& command, const Globals&) {
  const auto shell = std::make_shared<std::string>();
  command.add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->type_name("SHELL")
      ->check(one_of({"bash", "zsh", "fish"}));
  command.callback([shell, &command] {
    const std::vector<CommandFacts> tree = command_tree(command);
    prints_data();
    std::cout << (*shell == "bash" ? bash_script(tree) : *shell == "zsh" ? zsh_script(tree) : fish_script(tree));
  });
}

}  // namespace meshwright::cli
