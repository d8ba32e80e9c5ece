#include "bindings.hpp"
#include "meshwright/version.hpp"

PYBIND11_MODULE(_meshwright, module) {
  using namespace meshwright::python;
  module.doc() = "Performance modelling and capacity planning for distributed training of large models.";
  module.attr("__version__") = meshwright::version;
  bind_core(module);
  bind_hardware(module);
  bind_workload(module);
  bind_topology(module);
  bind_collectives(module);
  bind_parallel(module);
  bind_search(module);
  bind_calibrate(module);
  bind_capacity(module);
}
