# Precompiled headers: most of the time to build goes into reading the same headers again. There are
# a few sets, which targets share: g++ takes some seconds to make a set, and about a second to read
# one with all headers. The dev preset builds without, so that a file that forgets an include
# is found.
option(MILLRACE_PRECOMPILE "Precompile the headers of the libraries that are used" ON)

set(MILLRACE_STANDARD_HEADERS
    <algorithm> <array> <chrono> <deque> <functional> <map> <memory> <optional> <string>
    <string_view> <variant> <vector>
    <absl/container/btree_map.h> <absl/container/btree_set.h> <absl/container/flat_hash_map.h>
    <absl/container/flat_hash_set.h> <absl/container/inlined_vector.h>)
set(MILLRACE_JSON_HEADERS <nlohmann/json.hpp>)
set(MILLRACE_TEST_HEADERS
    ${CMAKE_SOURCE_DIR}/src/core/broker/broker.hpp ${CMAKE_SOURCE_DIR}/tests/support/doctest.hpp)

# The set of a folder of src, and that of its tests, where it is not the smallest one.
set(MILLRACE_faktory_SET json)
set(MILLRACE_http_SET json)
set(MILLRACE_cli_SET json)
set(MILLRACE_faktory_TEST_SET json_test)
set(MILLRACE_http_TEST_SET json_test)

# ccache takes part only when it may trust the precompiled header's own checks. It must know results
# by the files that were read, not by what the preprocessor made of them: after a change of comments
# it would bring back precompiled headers of the file before, which g++ then reads a second time.
if(MILLRACE_PRECOMPILE AND CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_DEPEND=1
                                  CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
endif()

# What g++ 12 finds in its own headers it keeps to itself, but not when they come precompiled.
set(MILLRACE_PRECOMPILED_NOISE -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow
                               -Wno-stringop-overread)

# millrace_header_set(NAME OPTIONS HEADER...): a library that only holds the standard headers and
# these, precompiled with the options of that target.
function(millrace_header_set name options)
  if(NOT MILLRACE_PRECOMPILE)
    return()
  endif()
  add_library(millrace_${name}_headers OBJECT ${CMAKE_SOURCE_DIR}/cmake/header_set.cpp)
  target_link_libraries(millrace_${name}_headers PRIVATE ${options} absl::flat_hash_map
                                                         nlohmann_json::nlohmann_json)
  target_precompile_headers(millrace_${name}_headers PRIVATE ${MILLRACE_STANDARD_HEADERS} ${ARGN})
  target_compile_options(
    millrace_${name}_headers PRIVATE $<$<CXX_COMPILER_ID:GNU>:${MILLRACE_PRECOMPILED_NOISE}>)
endfunction()

# millrace_precompile(TARGET SET...): the target, which must have the options of the set, uses its
# headers. Of several sets it is the last.
function(millrace_precompile target)
  if(MILLRACE_PRECOMPILE)
    list(POP_BACK ARGN set)
    target_precompile_headers(${target} REUSE_FROM millrace_${set}_headers)
    target_compile_options(
      ${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:${MILLRACE_PRECOMPILED_NOISE}>)
  endif()
endfunction()
