#pragma once

#include <set>
#include <string>

#include "core/state/view.hpp"
#include "simulation/model/model.hpp"

namespace millrace::simulation {

/// Learns from the server what the model cannot foretell, and demands that it is within its bounds:
/// the random part of a back-off, and whether a job that a connection held was written once more.
void settle(const View& view, Facts& facts);

/// Demands that the server's jobs, orders, holders, queues and counters are those of the model; the
/// counters are recounted.
void compare(const View& view, const Model& model, Time now);

/// Everything that a restart must bring back, as bytes that are equal when it is. Of jobs in the
/// hands of connections only the ids are told: those found are added to `held`, and those in it are
/// told so.
[[nodiscard]] std::string stored_state(const View& view, std::set<JobId>& held);

}  // namespace millrace::simulation
