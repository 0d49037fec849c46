#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "support/in_memory_server.hpp"
#include "support/transcript.hpp"

namespace millrace::test {

/// A fresh server for one playing of a transcript, with the options that it asks for.
using MakeDriver = std::function<std::unique_ptr<Driver>(const Transcript&)>;

/// Plays every transcript of the folder (below tests/transcripts), each as a SUBCASE of the running
/// test case, with the input cut into pieces of each size of `cuts` (0: whole).
void run_transcripts(const std::string& folder, const std::vector<std::size_t>& cuts,
                     const MakeDriver& make_driver);

/// In memory, with pieces of 1, 2, 5 and 100 bytes and whole.
void run_transcripts(const std::string& folder, Protocol protocol, bool reads_ahead = false);

/// True when the transcript sends a line that begins with the verb, and the next reply begins with
/// none of the refusals.
[[nodiscard]] bool is_understood(const Transcript& transcript, std::string_view verb,
                                 const std::vector<std::string_view>& refusals);

/// Every transcript of the folder.
[[nodiscard]] std::vector<Transcript> read_transcripts(const std::string& folder);

/// A server in memory as a driver.
[[nodiscard]] std::unique_ptr<Driver> make_in_memory_driver(const Transcript& transcript,
                                                            Protocol protocol,
                                                            bool reads_ahead = false);

}  // namespace millrace::test
