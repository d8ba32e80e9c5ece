#pragma once
// The namespaces of the library: one a folder, each of which sees the folders below it (docs/architecture.md). Names of
// core (quantities, errors, the reader) stand in `meshwright` itself.
namespace meshwright {

namespace hardware {}
namespace workload {}

namespace cost {
using namespace hardware;
}

namespace topology {
using namespace hardware;
}

namespace collectives {
using namespace hardware;
using namespace cost;
using namespace topology;
}  // namespace collectives

namespace parallel {
using namespace hardware;
using namespace workload;
using namespace cost;
using namespace topology;
using namespace collectives;
}  // namespace parallel

namespace search {
using namespace hardware;
using namespace workload;
using namespace cost;
using namespace topology;
using namespace collectives;
using namespace parallel;
}  // namespace search

namespace calibrate {
using namespace hardware;
using namespace workload;
using namespace cost;
using namespace topology;
using namespace collectives;
using namespace parallel;
}  // namespace calibrate

namespace capacity {
using namespace hardware;
using namespace workload;
using namespace cost;
using namespace topology;
using namespace collectives;
using namespace parallel;
using namespace search;
}  // namespace capacity

/// Every folder, for programs on top of the library: `using namespace meshwright::everything;`.
namespace everything {
using namespace hardware;
using namespace workload;
using namespace cost;
using namespace topology;
using namespace collectives;
using namespace parallel;
using namespace search;
using namespace calibrate;
using namespace capacity;
}  // namespace everything

namespace cli {
using namespace everything;
}
namespace python {
using namespace everything;
}
namespace tests {
using namespace everything;
}

}  // namespace meshwright
