#include "command_tree.hpp"

#include "meshwright/core/namespaces.hpp"
#include "meshwright/hardware/catalog.hpp"
#include "meshwright/parallel/framework.hpp"
#include "meshwright/parallel/launcher.hpp"
#include "meshwright/workload/precision.hpp"
#include "meshwright/workload/presets.hpp"

namespace meshwright::cli {
namespace {

OptionFacts facts_of(const CLI::Option& option) {
  OptionFacts facts{.doc = option.get_description(),
                    .positional = option.get_positional() && option.get_lnames().empty() && option.get_snames().empty(),
                    .required = option.get_required()};
  for (const std::string& name : option.get_lnames()) facts.names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) facts.names.push_back("-" + name);
  if (facts.positional) facts.names.push_back(option.get_name(true));
  if (option.get_type_size() != 0) facts.value = option.get_type_name();
  if (facts.value.find(':') != std::string::npos) facts.value.resize(facts.value.find(':'));  // "TEXT:{a,b}"
  return facts;
}

void add(const CLI::App& app, const std::string& path, std::vector<CommandFacts>& tree) {
  CommandFacts facts{.path = path, .doc = app.get_description(), .footer = app.get_footer()};
  for (const CLI::Option* option : app.get_options()) facts.options.push_back(facts_of(*option));
  for (const CLI::App* sub : app.get_subcommands({}))
    facts.commands.emplace_back(sub->get_name(), sub->get_description());
  tree.push_back(std::move(facts));
  for (const CLI::App* sub : app.get_subcommands({}))
    add(*sub, path + (path.empty() ? "" : " ") + sub->get_name(), tree);
}

template <class Entries>
void append_names(const Entries& entries, std::vector<std::string>& names) {
  for (const auto& entry : entries) names.emplace_back(entry.name);
}

}  // namespace

std::vector<CommandFacts> command_tree(const CLI::App& any) {
  const CLI::App* root = &any;
  while (root->get_parent() != nullptr) root = root->get_parent();
  std::vector<CommandFacts> tree;
  add(*root, "", tree);
  return tree;
}

std::vector<std::string> values_of(const std::string& option) {
  std::vector<std::string> names;
  if (option == "--model") append_names(model_presets(), names);
  if (option == "--cluster")
    append_names(builtin_catalog().clusters, names), append_names(builtin_catalog().nodes, names);
  if (option == "--node") append_names(builtin_catalog().nodes, names);
  if (option == "--accelerator") append_names(builtin_catalog().accelerators, names);
  if (option == "--nic") append_names(builtin_catalog().nics, names);
  if (option == "--fabric") append_names(builtin_catalog().fabrics, names);
  if (option == "--framework") append_names(frameworks(), names);
  if (option == "--precision") append_names(precisions(), names);
  if (option == "--flags") names = launcher_dialects();
  return names;
}

}  // namespace meshwright::cli
