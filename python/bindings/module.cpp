#include "bindings.hpp"
#include "meshwright/version.hpp"

namespace meshwright::python {
namespace {

/// `T.__new__(T)` makes an object in which nothing stands until its __init__ or __setstate__ has run. Whoever asks it
/// meanwhile would be given memory for it by pybind11 (type_caster_generic::load_value), with what happens to be there.
void refuse_what_is_not_initialised(py::detail::type_info& type) {
  type.operator_new = [](std::size_t) -> void* { throw py::type_error("found an object whose __init__ has not run"); };
}

/// What protocols 0 and 1 of pickle do makes an object of pybind11's base of all classes, which ends the process. What
/// 2 does serves them as well.
void reduce_as_protocol_2(const py::object& type) {
  const auto reduced = [](const py::object& self) {
    const py::object own = py::type::of(self);
    if (!py::hasattr(own, "__setstate__"))
      throw py::type_error("cannot pickle a " + own.attr("__name__").cast<std::string>());
    return py::make_tuple(py::module_::import("copyreg").attr("__newobj__"), py::make_tuple(own),
                          self.attr("__getstate__")());
  };
  type.attr("__reduce__") = py::cpp_function(reduced, py::name("__reduce__"), py::is_method(type));
  type.attr("__reduce_ex__") = py::cpp_function([reduced](const py::object& self, int) { return reduced(self); },
                                                py::name("__reduce_ex__"), py::is_method(type), py::arg("protocol"));
}

void guard_classes(const py::module_& module) {
  for (const auto& [name, value] : py::dict(module.attr("__dict__"))) {
    if (!PyType_Check(value.ptr())) continue;
    auto* type = py::detail::get_type_info(reinterpret_cast<PyTypeObject*>(value.ptr()));
    if (type == nullptr) continue;  // an exception
    refuse_what_is_not_initialised(*type);
    reduce_as_protocol_2(py::reinterpret_borrow<py::object>(value));
  }
}

}  // namespace
}  // namespace meshwright::python

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
  guard_classes(module);
}
