// meshwright cluster new|check: a cluster file from a few words, and what a file makes.
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <iostream>
#include <memory>

#include "command.hpp"
#include "meshwright/core/document.hpp"
#include "meshwright/core/error.hpp"
#include "meshwright/core/limits.hpp"
#include "meshwright/core/names.hpp"
#include "meshwright/core/units.hpp"
#include "meshwright/hardware/cluster_file.hpp"
#include "meshwright/hardware/schema.hpp"
#include "meshwright/topology/tiers.hpp"
#include "output.hpp"
#include "prediction_text.hpp"
#include "table.hpp"

namespace meshwright::cli {
namespace {

using Json = nlohmann::ordered_json;

enum class Form { text, count, text_or_rate, ratios };

/// What can be said of a cluster: one row an option, which is also a question and a line of the file.
struct Row {
  std::string_view flag, part, key;  ///< --nic-rate, "node", "nic_bandwidth": where it stands in a cluster file
  Form form;
  std::string_view doc;
  std::string_view question = "";  ///< "" = not asked
};
constexpr std::array rows = {
    Row{"--name", "", "name", Form::text, "What it is called in results"},
    Row{"--node", "node", "name", Form::text, "A node of the catalogue to start from (see 'hardware list nodes')",
        "Node to start from, or an accelerator"},
    Row{"--accelerator", "node", "accelerator", Form::text, "The accelerator; its usual node by default"},
    Row{"--accelerators", "node", "accelerators", Form::count, "Accelerators in a node"},
    Row{"--scale-up-domain", "node", "scale_up_domain", Form::count, "Accelerators that share NVLink or its like"},
    Row{"--scale-up-bandwidth", "node", "scale_up_bandwidth", Form::text, "Of an accelerator, each way: '450 GB/s'"},
    Row{"--nodes", "", "nodes", Form::count, "Nodes", "Nodes"},
    Row{"--nics", "node", "nics", Form::count, "NICs of a node for training", "NICs of a node"},
    Row{"--nic", "node", "nic", Form::text_or_rate, "A NIC of the catalogue, or its rate: connectx-7, 400G, '400 Gb/s'",
        "Each NIC: a name, or a rate such as 400 Gb/s"},
    Row{"--fabric", "node", "fabric", Form::text, "infiniband, roce, spectrum-x, ethernet, ...", "Fabric"},
    Row{"--topology", "network", "topology", Form::text, "rail-optimised, fat-tree (leaf-spine), multi-plane, ...",
        "Topology"},
    Row{"--tiers", "network", "tiers", Form::count, "Tiers of switches; as many as it takes by default",
        "Tiers of switches"},
    Row{"--oversubscription", "network", "oversubscription", Form::ratios,
        "Downlink:uplink, leaf first: 4:1, or 2:1,1:1", "Oversubscription, leaf first"},
    Row{"--planes", "network", "planes", Form::count, "Independent copies that split each NIC's ports", "Planes"},
    Row{"--switch", "network", "switch", Form::text, "A switch of the catalogue"},
};

struct Options {
  std::array<std::string, rows.size()> said;
  std::string file, output;
  bool json = false;
};

/// A rate of a NIC as files state it; "" where it is none. NICs are sold by their gigabits: "400G" is 400 Gb/s.
std::string rate_of_nic(const std::string& text) {
  const bool short_form = text.size() > 1 && (text.back() == 'G' || text.back() == 'g');
  const std::string rate = short_form ? text.substr(0, text.size() - 1) + " Gb/s" : text;
  try {
    parse_quantity<BytesPerSecond::dimension>(rate, "");
    return rate;
  } catch (const Error&) {
    return "";
  }
}

Json value_of(const Row& row, const std::string& text) {
  if (row.form == Form::count) return parse_size(text, std::string(row.flag), 0, largest_count);
  if (row.form != Form::ratios) return text;
  Json list = Json::array();
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    list.push_back(part);
  }
  return list;
}

/// The cluster file that the options make.
Json document_of(const Options& o) {
  Json document = Json::object();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    if (o.said[i].empty()) continue;
    const std::string rate = row.form == Form::text_or_rate ? rate_of_nic(o.said[i]) : "";
    Json& object = row.part.empty() ? document : document[std::string(row.part)];
    if (rate.empty())
      object[std::string(row.key)] = value_of(row, o.said[i]);
    else
      object["nic_bandwidth"] = rate;
  }
  return document;
}

/// The flag of a place in the file: "cluster new:/node/nics" -> "--nics".
std::string flag_of(const std::string& where) {
  const std::string key = where.substr(where.rfind('/') + 1);
  if (key == "node") return "--node";
  for (const Row& row : rows) {
    const bool rate = row.form == Form::text_or_rate && key == "nic_bandwidth";
    if (where.find('/') != std::string::npos && (row.key == key || rate)) return std::string(row.flag);
  }
  if (where.find("/oversubscription") != std::string::npos) return "--oversubscription";
  return where;
}

Cluster completed(const Json& document, const Catalog& catalog) {
  const std::string place = "cluster new";
  try {
    if (!document.contains("node")) throw Error("--node", "expected a node or, with --accelerator, an accelerator");
    return complete(read_cluster_spec(Reader::text(json_text(document), place)), catalog);
  } catch (const Error& e) {
    throw Error(flag_of(e.where()), e.what_happened());
  }
}

// --- questions ---

std::string answer_to(std::string_view question, const std::string& usual) {
  std::cerr << question << (usual.empty() ? "" : fmt::format(" [{}]", usual)) << ": " << std::flush;
  std::string line;
  if (!std::getline(std::cin, line)) throw Negative{"no answer"};
  return line.empty() ? usual : line;
}

/// What the file would say of a row where nothing is stated.
std::string usual_of(const Row& row, const Cluster& c);

/// Asks for what matters and is not stated; what is refused is asked again.
void ask(Options& o, const Catalog& catalog) {
  std::cerr << "An empty answer takes what stands in brackets.\n";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    if (row.question.empty() || !o.said[i].empty()) continue;
    const bool first = row.flag == "--node";
    if (first && !o.said[i + 1].empty()) continue;  // an accelerator is stated
    const bool torus = !first && completed(document_of(o), catalog).node.nics == 0;
    if (torus && row.flag != "--nodes") continue;
    while (true) {
      const std::string usual = first ? "dgx-h100" : usual_of(row, completed(document_of(o), catalog));
      Options tried = o;
      std::string text = answer_to(row.question, usual);
      const bool device = first && find_named(catalog.nodes, text) == nullptr;
      (device ? tried.said[i + 1] : tried.said[i]) = text == usual && !first ? "" : text;
      try {
        completed(document_of(tried), catalog);
        o = tried;
        break;
      } catch (const Error& e) {
        std::cerr << "  " << one_line(e.what_happened()) << "\n";
      }
    }
  }
}

// --- the file ---

std::string ratios_text(const std::vector<double>& ratios) {
  std::string text;
  for (const double ratio : ratios) text += fmt::format("{}{:g}", text.empty() ? "" : ", ", ratio);
  return "[" + (text.empty() ? "1" : text) + "]";
}

std::string rate_text(BytesPerSecond rate, bool of_network) {
  return of_network ? fmt::format("{:.6g} Gb/s", rate.value() * 8e-9) : fmt::format("{:.6g} GB/s", rate.value() * 1e-9);
}

/// Members of a completed cluster as the file would state them.
std::string value_in(std::string_view part, std::string_view key, const Cluster& c) {
  const Node& n = c.node;
  if (part == "node") {
    if (key == "accelerator") return n.accelerator;
    if (key == "accelerators") return std::to_string(n.accelerators);
    if (key == "scale_up_domain") return std::to_string(n.scale_up_domain);
    if (key == "scale_up_bandwidth") return rate_text(n.scale_up_bandwidth, false);
    if (key == "nics") return std::to_string(n.nics);
    if (key == "nic") return n.nics > 0 ? n.nic : "";
    if (key == "nic_bandwidth") return n.nics > 0 ? rate_text(n.nic_bandwidth, true) : "";
    if (key == "fabric") return n.fabric;
  }
  if (part == "network") {
    if (key == "topology") return c.network.topology;
    if (key == "tiers") return std::to_string(c.network.tiers);
    if (key == "oversubscription") return ratios_text(c.network.oversubscription);
    if (key == "planes") return std::to_string(std::max(1, c.network.planes));
    if (key == "switch") return c.fabric_switch.name;
  }
  return key == "nodes" ? std::to_string(c.nodes) : "";
}

std::string usual_of(const Row& row, const Cluster& c) {
  const std::string text = value_in(row.part, row.key, c);
  return row.form == Form::text_or_rate && text.empty() ? value_in(row.part, "nic_bandwidth", c) : text;
}

/// A text that YAML reads as that text.
std::string yaml_scalar(const Json& value) {
  const std::string text = value.is_string() ? value.get<std::string>() : json_text(value);
  if (!value.is_string()) return text;
  const bool plain = !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view(" -_./+").find(static_cast<char>(c)) != std::string_view::npos;
  });
  const Json read = Json::parse(yaml_to_json(plain ? text : json_text(value), "value"));
  return plain && read.is_string() && read == value ? text : json_text(value);
}

std::string yaml_value(const Json& value) {
  if (!value.is_array()) return yaml_scalar(value);
  std::string text;
  for (const Json& item : value) text += (text.empty() ? "" : ", ") + yaml_scalar(item);
  return "[" + text + "]";
}

/// One line: what was stated, or the usual value as a comment to take the mark from.
std::string line_of(std::string_view indent, std::string_view key, const Json* stated, const std::string& usual,
                    std::string_view doc) {
  const std::string text = stated != nullptr ? yaml_value(*stated) : usual;
  const std::string line = fmt::format("{}{}{}: {}", indent, stated != nullptr ? "" : "# ", key, text);
  return fmt::format("{:<44}  # {}\n", line, doc);
}

std::string yaml_of(const Json& document, const Cluster& c) {
  const Json schema = Json::parse(cluster_shape().schema).at("properties");
  const Json parts = {{"node", schema.at("node").at("anyOf").at(1).at("properties")},
                      {"network", schema.at("network").at("properties")}};
  const auto doc = [](const Json& members, std::string_view key) {
    return members.at(std::string(key)).value("description", "");
  };
  const auto stated = [](const Json& object, std::string_view key) {
    const auto at = object.find(std::string(key));
    return at == object.end() ? nullptr : &*at;
  };
  std::string out = fmt::format(
      "# {} x {}: a cluster file of Meshwright.\n"
      "# Lines that begin with '# key:' are what is assumed; take the mark away to state something else.\n"
      "# `meshwright cluster check FILE` says what it makes, and `--cluster FILE` uses it.\n"
      "# `meshwright schema cluster` lists every key, for editors.\n",
      with_commas(c.accelerators()), c.accelerator.name);
  out += line_of("", "name", stated(document, "name"), "my-cluster", doc(schema, "name"));
  out += line_of("", "nodes", stated(document, "nodes"), std::to_string(c.nodes), "of the node below");
  for (const char* part : {"node", "network"}) {
    const Json object = document.value(part, Json::object());
    if (std::string_view(part) == "network" && object.empty() && c.node.nics == 0) continue;
    out += object.empty() ? fmt::format("# {}:\n", part) : fmt::format("{}:\n", part);
    const std::string_view indent = object.empty() ? "#   " : "  ";
    std::vector<std::string_view> keys;
    for (const Row& row : rows) {
      if (row.part != part) continue;
      keys.push_back(row.key);
      if (row.form == Form::text_or_rate) keys.emplace_back("nic_bandwidth");
    }
    for (const std::string_view key : keys) {
      const Json* said = stated(object, key);
      const std::string usual = value_in(part, key, c);
      if (said == nullptr && usual.empty()) continue;
      const bool marked = object.empty();  // the whole part is a comment
      out += marked ? fmt::format("{:<44}  # {}\n", fmt::format("{}{}: {}", indent, key, usual), doc(parts[part], key))
                    : line_of(indent, key, said, usual, doc(parts[part], key));
    }
  }
  return out;
}

void make(Options o, const Globals& globals) {
  const Catalog catalog = load_catalog(globals.hardware);
  const bool named = !o.said[1].empty() || !o.said[2].empty();
  if (!named && isatty(STDIN_FILENO) != 0) ask(o, catalog);
  const Json document = document_of(o);
  const Cluster cluster = completed(document, catalog);
  const bool as_json = o.json || std::string_view(o.output).ends_with(".json");
  const std::string text = as_json ? json_text(document, 2) + "\n" : yaml_of(document, cluster);
  // What is written has to read back as what was said.
  complete(read_cluster_spec(read_document(text, as_json ? "cluster.json" : "cluster.yaml")), catalog);
  if (o.output.empty()) {
    prints_data();
    std::cout << text;
    return;
  }
  write_file(o.output, text);
  std::cerr << fmt::format("wrote {}; see what it makes with: meshwright cluster check {}\n", o.output, o.output);
}

// --- check ---

std::string cluster_text(const Cluster& c) {
  Table facts({{"", Align::left}, {"", Align::left}});
  const auto fact = [&](const char* label, const std::string& text) { facts.add({label, text}); };
  fact("accelerators", fmt::format("{} x {} in {} nodes of {}", with_commas(c.accelerators()), c.accelerator.name,
                                   with_commas(c.nodes), c.node.accelerators));
  if (c.node.scale_up_domain > 1)
    fact("scale-up", fmt::format("{}, {} in a domain, {} each way", name(c.node.scale_up), c.node.scale_up_domain,
                                 format(c.node.scale_up_bandwidth)));
  if (c.node.nics > 0)
    fact("NICs", fmt::format("{} x {} {} a node", c.node.nics, rate_text(c.node.nic_bandwidth, true), c.node.fabric));
  fact("network", fmt::format("{}, {} routing, oversubscription {}", c.network.topology, c.network.routing,
                              ratios_text(c.network.oversubscription)));
  std::string out = bold(c.name) + "\n" + facts.render() + "\n";
  Table tiers({{"tier", Align::left}, {"accelerators"}, {"hops"}, {"oversubscribed"}, {"each"}, {"", Align::left}});
  if (c.nodes > 1 && c.node.nics > 0) {
    for (const Tier& t : plan_tiers(c).tiers)
      tiers.add({t.name, with_commas(t.reach), fmt::format("{}", t.hops), fmt::format("{:g}:1", t.oversubscription),
                 format(t.per_rank), t.limit});
  }
  if (!tiers.empty()) out += tiers.render() + "\n";
  return out + notes_text({}, c.assumptions);
}

void check_file(const Options& o, const Globals& globals) {
  const Cluster c = complete(cluster_spec_of(o.file, "CLUSTER"), load_catalog(globals.hardware));
  if (!o.json) {
    std::cout << cluster_text(c);
    return;
  }
  print_json({{"name", c.name},
              {"accelerators", c.accelerators()},
              {"accelerator", c.accelerator.name},
              {"nodes", c.nodes},
              {"nics", c.node.nics},
              {"nic_bandwidth_bytes_per_s", c.node.nic_bandwidth.value()},
              {"fabric", c.node.fabric},
              {"topology", c.network.topology},
              {"oversubscription", c.network.oversubscription},
              {"planes", c.network.planes},
              {"spec", Json::parse(to_json(c.spec))},
              {"assumptions", c.assumptions}});
}

}  // namespace

void add_cluster(CLI::App& command, const Globals& globals) {
  command.require_subcommand(1);
  const auto o = std::make_shared<Options>();
  CLI::App* made = command.add_subcommand("new", "A commented cluster file; asks on a terminal where no node is named");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CLI::Option* option = made->add_option(std::string(rows[i].flag), o->said[i], std::string(rows[i].doc));
    option->check(some_text())->type_name(rows[i].form == Form::count ? "COUNT" : "TEXT");
  }
  made->add_option("--output", o->output, "Write it there (.yaml, .json); on stdout by default")
      ->type_name("FILE")
      ->check(output_file());
  made->add_flag("--json", o->json, "As JSON, without comments");
  made->footer(
      "Examples:\n  meshwright cluster new --node dgx-h100 --nodes 64 --output mine.yaml\n"
      "  meshwright cluster new --accelerator H200 --nodes 128 --nics 8 --nic '400 Gb/s' --fabric roce \\\n"
      "      --oversubscription 2:1\n");
  made->callback([o, &globals] { make(*o, globals); });
  CLI::App* checked = command.add_subcommand("check", "What a cluster file makes, with everything that is assumed");
  checked->add_option("FILE", o->file, "A cluster file (- is stdin) or a name of the catalogue")->required();
  checked->add_flag("--json", o->json, "One JSON document");
  checked->footer("Examples:\n  meshwright cluster check mine.yaml\n");
  checked->callback([o, &globals] { check_file(*o, globals); });
}

}  // namespace meshwright::cli
