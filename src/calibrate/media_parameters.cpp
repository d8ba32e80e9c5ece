#include "calibrate/media_parameters.hpp"

#include <array>

namespace meshwright::calibrate {
namespace {

double value_of(Seconds q) { return q.value(); }
double value_of(BytesPerSecond q) { return q.value(); }
double value_of(double q) { return q; }
void assign(Seconds& q, double v) { q = Seconds::base(v); }
void assign(BytesPerSecond& q, double v) { q = BytesPerSecond::base(v); }
void assign(double& q, double v) { q = v; }

struct Row {
  double (*get)(const Medium&);
  void (*set)(Medium&, double);
  double width;
};

template <auto Field>
constexpr Row of_medium(double width) {
  return {[](const Medium& m) { return value_of(m.*Field); }, [](Medium& m, double v) { assign(m.*Field, v); }, width};
}
template <auto Way, auto Field>
constexpr Row of_rate(double width) {
  return {[](const Medium& m) { return value_of((m.*Way).*Field); },
          [](Medium& m, double v) { assign((m.*Way).*Field, v); }, width};
}
template <auto Way, auto Field>
constexpr Row of_exchange(double width) {
  return {[](const Medium& m) { return value_of((m.all_to_all.*Way).*Field); },
          [](Medium& m, double v) { assign((m.all_to_all.*Way).*Field, v); }, width};
}
template <std::size_t P, auto Field>
constexpr Row of_ring(double width) {
  return {[](const Medium& m) { return value_of(m.ring[P].*Field); },
          [](Medium& m, double v) { assign(m.ring[P].*Field, v); }, width};
}

/// Widths: latencies within a factor of 1.6 of the start, efficiencies within a third, chunk costs within 2.7.
constexpr std::array rows = {
    of_medium<&Medium::base>(0.5),
    of_ring<0, &Rate::step>(0.5),
    of_ring<0, &Rate::efficiency>(0.3),
    of_ring<0, &Rate::ramp>(1),
    of_ring<1, &Rate::step>(0.5),
    of_ring<1, &Rate::efficiency>(0.3),
    of_ring<1, &Rate::ramp>(1),
    of_ring<2, &Rate::step>(0.5),
    of_ring<2, &Rate::efficiency>(0.3),
    of_ring<2, &Rate::ramp>(1),
    of_medium<&Medium::tree_efficiency>(0.2),
    of_rate<&Medium::in_switch, &Rate::step>(0.4),
    of_rate<&Medium::in_switch, &Rate::efficiency>(0.15),
    of_rate<&Medium::in_switch, &Rate::ramp>(1),
    of_medium<&Medium::local_copy>(0.5),
    of_medium<&Medium::crowding>(0.7),
    of_rate<&Medium::all_to_all, &Exchange::base>(0.5),
    of_exchange<&Exchange::ll, &Rate::step>(0.7),
    of_exchange<&Exchange::ll, &Rate::efficiency>(0.7),
    of_exchange<&Exchange::ll, &Rate::ramp>(1),
    of_rate<&Medium::all_to_all, &Exchange::fence>(0.7),
    of_exchange<&Exchange::simple, &Rate::step>(0.7),
    of_exchange<&Exchange::simple, &Rate::efficiency>(0.3),
    of_exchange<&Exchange::simple, &Rate::ramp>(1),
    of_rate<&Medium::all_to_all, &Exchange::congestion>(0.7),
    of_rate<&Medium::point_to_point, &Rate::step>(0.5),
    of_rate<&Medium::point_to_point, &Rate::efficiency>(0.3),
    of_rate<&Medium::point_to_point, &Rate::ramp>(1),
};

}  // namespace

double FreeParameter::get(const std::vector<Medium>& media) const {
  return rows[row].get(media[static_cast<std::size_t>(medium)]);
}

void FreeParameter::set(std::vector<Medium>& media, double value) const {
  rows[row].set(media[static_cast<std::size_t>(medium)], value);
}

std::vector<FreeParameter> free_parameters(const std::vector<Medium>& media, int medium) {
  std::vector<FreeParameter> free;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (rows[row].get(media[static_cast<std::size_t>(medium)]) > 0) free.push_back({medium, row, rows[row].width});
  }
  return free;
}

}  // namespace meshwright::calibrate
