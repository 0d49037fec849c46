#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace bench {

/// What is to be done to a server.
struct Plan {
  std::vector<std::string> works = {"put"};  ///< connection i does work i modulo their number: see
                                             ///< `make_dialogue`; all are of one protocol
  std::uint16_t port = 11300;
  std::size_t connections = 50;
  std::size_t operations = 200'000;  ///< of all connections together
  double seconds = 0;                ///< 0: until the operations are done
  std::size_t depth = 1;             ///< commands in flight on a connection; of cycles so many
                                     ///< puts, then so many reserves, then so many deletes
  std::size_t queues = 1;            ///< connections take turns in them, as many at a time as
                                     ///< there are works, so that each has all the works
  std::string prefix = "q";          ///< of the queues' names, which end in their numbers
  std::vector<std::size_t> body_bytes = {128};  ///< of job i: size i modulo their number
  int delay_seconds = 0;                        ///< of a put
  std::string at;        ///< of a PUSH: when the job is due, as RFC 3339; empty: now
  std::size_t rate = 0;  ///< operations a second, begun whether or not earlier ones are done; 0:
                         ///< closed loop
  bool is_draining = false;  ///< at the end all that is left is taken: see `Generator::drain`
  int server_pid = 0;        ///< whose processor time is told; 0: nobody's
};

}  // namespace bench
