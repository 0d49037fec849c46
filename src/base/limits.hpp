#pragma once

#include <cstddef>

/// Limits that several folders share, each with the reason for its number. Limits on what is stored
/// are in core/model/types.hpp; those of one noun are in its header.
namespace millrace {

/// The longest body that beanstalk clients may put, unless the operator says otherwise.
/// beanstalkd's default: JOB_DATA_SIZE_LIMIT_DEFAULT, 2^16 - 1.
inline constexpr std::size_t kPutBytesMaxDefault = 65535;

/// How much a client may send ahead of a command that still waits. More is left in the socket, so
/// that the client is slowed down by TCP. Enough for hundreds of short commands, and so little that
/// ten thousand connections keep less than a gigabyte.
inline constexpr std::size_t kPipelinedBytesMax = 64 * 1024;

/// A buffer that is used again for each job is freed after one that needed more than this: one long
/// job must not keep its memory for ever.
inline constexpr std::size_t kKeptBufferBytesMax = 256 * 1024;

/// The same for a buffer that each connection has.
inline constexpr std::size_t kIdleBufferBytesMax = 512;

}  // namespace millrace
