// Preloaded, the main loop hangs once the file HANG_FILE is there, until it is gone.

#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

int epoll_wait(int set, struct epoll_event* events, int size, int milliseconds) {
  const char* const file = getenv("HANG_FILE");
  while (access(file, F_OK) == 0) usleep(10000);
  const int longest = milliseconds < 0 || milliseconds > 100 ? 100 : milliseconds;
  return (int)syscall(SYS_epoll_pwait, set, events, size, longest, NULL, 8);
}
