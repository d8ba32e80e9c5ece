#pragma once
// Work shared by threads, with errors and an end on request.
#include <cstddef>
#include <functional>

namespace meshwright {

/// Calls body(worker, index) once for every index below `count`, each worker in a thread of its own and worker 0 in the
/// caller's; fewer where the system gives no more threads. `poll` is called on the caller's thread with the number of
/// indices done; where it says false no further index is begun. The first exception of any thread ends the work and is
/// thrown here. True where every index was done.
bool share_work(std::size_t count, std::size_t workers,
                const std::function<void(std::size_t worker, std::size_t index)>& body,
                const std::function<bool(std::size_t done)>& poll);

}  // namespace meshwright
