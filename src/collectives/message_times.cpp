#include "meshwright/collectives/message_times.hpp"

namespace meshwright::collectives {

MessageTimes::MessageTimes(const CollectivePrices& prices) {
  for (std::size_t i = 0; i < points; ++i) {
    const double size = std::bit_cast<double>((first_half + i) << 51);
    times_[i] = prices.time(Bytes::base(size)).value();
  }
}

}  // namespace meshwright::collectives
