#pragma once

#include <set>
#include <string>
#include <string_view>

#include "core/broker/broker.hpp"
#include "core/broker/view.hpp"
#include "core/model/record.hpp"
#include "simulation/model/model.hpp"

namespace millrace::simulation {

/// Learns from the server what the model cannot foretell, and demands that it is within its bounds:
/// the random part of a back-off, and whether a job that a connection held was written once more.
void settle(const View& view, Facts& facts);

/// Demands that the server's jobs, orders, holders, queues and counters are those of the model; the
/// counters are recounted. So are locks, batches and tracks: from the jobs.
void compare(const Broker& broker, const Model& model, Time now);

/// The server's job is not where the model has it: it has another state, time, queue or holder, or
/// is gone. The broker of that process numbers connections from 1, the model from `first`.
[[nodiscard]] bool has_moved(const View& view, JobId id, const ModelJob& expected,
                             ClientNumber first);

/// Everything that a restart must bring back, as bytes that are equal when it is. Of jobs in the
/// hands of connections only the ids are told: those found are added to `held`, and those in it are
/// told so.
[[nodiscard]] std::string stored_state(const Broker& broker, std::set<JobId>& held);

/// The latest time that the record tells, read as plainly as can be: also by a delay that it has.
[[nodiscard]] Time error_of(const Record& record);

/// The same of all records of the batch.
[[nodiscard]] Time told_by_batch(std::string_view batch);

}  // namespace millrace::simulation
