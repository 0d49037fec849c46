# millrace_commit(VARIABLE): the commit of the sources, 40 digits. In a checkout git knows it. In a
# tarball that `git archive` made, git has written it into cmake/commit.txt. Else it is `unknown`.
# Changes that are not committed are told by `-dirty` at the end, as they were when cmake ran.
function(millrace_commit variable)
  set(${variable} unknown PARENT_SCOPE)
  file(STRINGS ${CMAKE_SOURCE_DIR}/cmake/commit.txt archived LIMIT_COUNT 1)
  if(archived MATCHES "^[0-9a-f]+$")
    set(${variable} ${archived} PARENT_SCOPE)
    return()
  endif()
  find_package(Git QUIET)
  # Not the repository of a folder above, in which the sources were unpacked.
  if(NOT GIT_FOUND OR NOT EXISTS ${CMAKE_SOURCE_DIR}/.git)
    return()
  endif()
  execute_process(
    COMMAND ${GIT_EXECUTABLE} -C ${CMAKE_SOURCE_DIR} describe --always --abbrev=40 --dirty
            --exclude=*
    OUTPUT_VARIABLE told OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    return()
  endif()
  set(${variable} ${told} PARENT_SCOPE)
  # cmake runs again after the next commit.
  execute_process(
    COMMAND ${GIT_EXECUTABLE} -C ${CMAKE_SOURCE_DIR} rev-parse --git-path logs/HEAD
    OUTPUT_VARIABLE log OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  get_filename_component(log "${log}" ABSOLUTE BASE_DIR ${CMAKE_SOURCE_DIR})
  if(EXISTS "${log}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${log}")
  endif()
endfunction()
