#pragma once

#include "http/kit/cluster.hpp"

namespace millrace::server {

/// Adds the leaders of the last `NodeReports::kForgottenAfter` that died, as far as nothing was
/// heard of them since: they have reported to nobody. They are silent since the lead was taken from
/// them.
void add_dead_leaders(http::ClusterFacts& facts, Time now);

}  // namespace millrace::server
