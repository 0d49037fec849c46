#pragma once

#include <string>
#include <string_view>

#include "core/broker/broker.hpp"
#include "core/model/features/job_features.hpp"
#include "core/state/store.hpp"
#include "simulation/model/model.hpp"

namespace millrace::simulation {

/// The callback of that name.
[[nodiscard]] BatchRole role_named(std::string_view name);

/// Demands that the locks, batches and tracks are those that follow from the model's jobs.
void compare_features(const Broker& broker, const Model& model);

/// What is stored of batches and tracks, as bytes that are equal when it is.
[[nodiscard]] std::string stored_features(const Store& store);

}  // namespace millrace::simulation
