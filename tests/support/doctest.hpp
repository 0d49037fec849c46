#pragma once

// Both doctest and the core have a CHECK. Test code means doctest's: the core's is defined first,
// used by the core's headers, and then gives way.
#include "core/broker.hpp"
#include "core/check.hpp"
#include "core/result.hpp"

#undef CHECK
#include <doctest/doctest.h>
