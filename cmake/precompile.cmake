# Precompiled headers: most of the time to build goes into reading the same headers again. The dev
# and tsan presets build without, so that a file that forgets an include is found.
option(MILLRACE_PRECOMPILE "Precompile the headers of the libraries that are used" ON)

set(MILLRACE_STANDARD_HEADERS
    <algorithm> <array> <chrono> <deque> <functional> <map> <memory> <optional> <string>
    <string_view> <variant> <vector>)
set(MILLRACE_CONTAINER_HEADERS
    <absl/container/btree_map.h> <absl/container/btree_set.h> <absl/container/flat_hash_map.h>
    <absl/container/flat_hash_set.h> <absl/container/inlined_vector.h>)
# What the sources of one folder include besides.
set(MILLRACE_faktory_HEADERS <nlohmann/json.hpp> <simdjson.h>)
set(MILLRACE_http_HEADERS <nlohmann/json.hpp>)

# ccache takes part only when it may trust the precompiled header's own checks.
if(MILLRACE_PRECOMPILE AND CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
                                  CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
endif()

# What g++ 12 finds in its own headers it keeps to itself, but not when they come precompiled.
set(MILLRACE_PRECOMPILED_NOISE -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow
                               -Wno-stringop-overread)

function(millrace_precompile target)
  if(MILLRACE_PRECOMPILE)
    target_precompile_headers(${target} PRIVATE ${MILLRACE_STANDARD_HEADERS}
                              ${MILLRACE_CONTAINER_HEADERS} ${ARGN})
    target_compile_options(
      ${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:${MILLRACE_PRECOMPILED_NOISE}>)
  endif()
endfunction()
