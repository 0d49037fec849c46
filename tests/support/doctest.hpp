#pragma once

// Both doctest and the core have a CHECK. Test code means doctest's: the core's is defined first,
// used by the core's headers, and then gives way.
#include "base/check.hpp"
#include "base/result.hpp"
#include "core/broker/broker.hpp"

#undef CHECK
#include <doctest/doctest.h>
