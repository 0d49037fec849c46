/* Preloaded into a server, this library notes all that reaches its data directory, and what it
 * sends, in one file and in one order. disk.py reads the file and builds from it what a disk may
 * hold after a power cut.
 *
 * RECORDER_DATA is the data directory (absolute), RECORDER_LOG the file to write. RECORDER_SYNC_US:
 * each sync takes up to so many microseconds longer. RECORDER_LOSE is a planted mistake: `files`
 * or `directories` are said to be synced and are not. While the file RECORDER_FULL exists, the disk
 * has no room for more.
 *
 * One lock is held during each call and the note of it, so the notes have the order of the calls.
 * A sync has two notes, before and after, and is not held: what was written before the first is on
 * the disk at the second. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { DESCRIPTORS_MAX = 65536, NAME_MAX_BYTES = 4096 };

struct note {
  uint8_t kind;
  uint8_t flag;
  uint16_t name_bytes;
  int32_t handle;
  int64_t a;
  int64_t b;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char data[NAME_MAX_BYTES], parent[NAME_MAX_BYTES];
static const char* lose = "";
static const char* full = "";
static long sync_us;
static unsigned delay_state = 1;
static int log_descriptor = -1;
/* Each opening has a handle of its own; 0 is none. `.` is the data directory, `..` its parent. */
static int32_t handles[DESCRIPTORS_MAX];
static char is_directory[DESCRIPTORS_MAX];
static int32_t last_handle;
static int64_t last_sync;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void begin(void) {
  const char* directory = getenv("RECORDER_DATA");
  const char* path = getenv("RECORDER_LOG");
  if (!directory || !path) return;
  snprintf(data, sizeof data, "%s", directory);
  snprintf(parent, sizeof parent, "%s", directory);
  *strrchr(parent, '/') = 0;
  if (getenv("RECORDER_LOSE")) lose = getenv("RECORDER_LOSE");
  if (getenv("RECORDER_FULL")) full = getenv("RECORDER_FULL");
  if (getenv("RECORDER_SYNC_US")) sync_us = atol(getenv("RECORDER_SYNC_US"));
  int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;
  log_descriptor = syscall(SYS_openat, AT_FDCWD, path, flags, 0600);
}

static void put(const void* bytes, size_t size) {
  const char* next = bytes;
  while (size > 0) {
    ssize_t done = syscall(SYS_write, log_descriptor, next, size);
    if (done <= 0) abort();
    next += done;
    size -= done;
  }
}

static void note(char kind, int flag, int32_t handle, int64_t a, int64_t b, const char* name) {
  struct note each = {kind, flag, name ? strlen(name) : 0, handle, a, b};
  char whole[sizeof each + 2 * NAME_MAX_BYTES];
  memcpy(whole, &each, sizeof each);
  memcpy(whole + sizeof each, name ? name : "", each.name_bytes);
  put(whole, sizeof each + each.name_bytes);
}

static int32_t handle_of(int descriptor) {
  return descriptor >= 0 && descriptor < DESCRIPTORS_MAX ? handles[descriptor] : 0;
}

/* The name of what a call means, from the data directory on; null: something else. */
static const char* name_of(int at, const char* path) {
  if (log_descriptor < 0 || !path) return 0;
  if (path[0] != '/') return at != AT_FDCWD && handle_of(at) && is_directory[at] ? path : 0;
  size_t length = strlen(data);
  if (strcmp(path, parent) == 0) return "..";
  if (strncmp(path, data, length) != 0) return 0;
  if (path[length] == 0) return ".";
  return path[length] == '/' ? path + length + 1 : 0;
}

static int open_noted(int at, const char* path, int flags, mode_t mode) {
  int error;
  pthread_mutex_lock(&lock);
  const char* name = name_of(at, path);
  struct stat before;
  int was = name && fstatat(at, path, &before, 0) == 0;
  int descriptor = syscall(SYS_openat, at, path, flags, mode);
  error = errno;
  if (name && descriptor >= 0 && descriptor < DESCRIPTORS_MAX) {
    handles[descriptor] = ++last_handle;
    is_directory[descriptor] = name[0] == '.' && (!name[1] || !strcmp(name, ".."));
    note('O', !was, last_handle, 0, 0, name);
    if (was && (flags & O_TRUNC)) note('T', 0, last_handle, 0, 0, 0);
  } else if (descriptor >= 0 && descriptor < DESCRIPTORS_MAX) {
    handles[descriptor] = 0;
  }
  pthread_mutex_unlock(&lock);
  errno = error;
  return descriptor;
}

static mode_t mode_of(int flags, va_list more) {
  return flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
}

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  mode_t mode = mode_of(flags, more);
  va_end(more);
  return open_noted(AT_FDCWD, path, flags, mode);
}

int openat(int at, const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  mode_t mode = mode_of(flags, more);
  va_end(more);
  return open_noted(at, path, flags, mode);
}

/* With 64 bits they are the same. */
int open64(const char* path, int flags, ...) __attribute__((alias("open")));
int openat64(int at, const char* path, int flags, ...) __attribute__((alias("openat")));

int close(int descriptor) {
  pthread_mutex_lock(&lock);
  if (descriptor >= 0 && descriptor < DESCRIPTORS_MAX) handles[descriptor] = 0;
  int result = REAL(close)(descriptor);
  int error = errno;
  pthread_mutex_unlock(&lock);
  errno = error;
  return result;
}

/* Closes its descriptor in the C library, past close. */
int closedir(DIR* directory) {
  int descriptor = dirfd(directory);
  pthread_mutex_lock(&lock);
  if (descriptor >= 0 && descriptor < DESCRIPTORS_MAX) handles[descriptor] = 0;
  pthread_mutex_unlock(&lock);
  return REAL(closedir)(directory);
}

static int is_full(void) { return *full && access(full, F_OK) == 0; }

/* Whether the file would need room that it has not. */
static int needs_room(int descriptor, off_t end) {
  struct stat status;
  return fstat(descriptor, &status) == 0 && end > status.st_size && is_full();
}

static int is_zero(const struct iovec* parts, int count) {
  for (int i = 0; i < count; ++i) {
    const char* bytes = parts[i].iov_base;
    size_t size = parts[i].iov_len;
    if (size > 0 && (bytes[0] != 0 || memcmp(bytes, bytes + 1, size - 1) != 0)) return 0;
  }
  return 1;
}

static ssize_t written(int descriptor, const struct iovec* parts, int count, off_t offset) {
  off_t end = offset;
  for (int i = 0; i < count; ++i) end += parts[i].iov_len;
  pthread_mutex_lock(&lock);
  int has_room = !handle_of(descriptor) || !needs_room(descriptor, end);
  ssize_t done = has_room ? REAL(pwritev)(descriptor, parts, count, offset) : -1;
  int error = has_room ? errno : ENOSPC;
  if (handle_of(descriptor) && done > 0) {
    int zeros = is_zero(parts, count);
    note('W', zeros, handle_of(descriptor), offset, done, 0);
    ssize_t left = zeros ? 0 : done;
    for (int i = 0; left > 0; ++i) {
      ssize_t taken = left < (ssize_t)parts[i].iov_len ? left : (ssize_t)parts[i].iov_len;
      put(parts[i].iov_base, taken);
      left -= taken;
    }
  }
  pthread_mutex_unlock(&lock);
  errno = error;
  return done;
}

ssize_t pwritev(int descriptor, const struct iovec* parts, int count, off_t offset) {
  return written(descriptor, parts, count, offset);
}

ssize_t pwrite(int descriptor, const void* bytes, size_t size, off_t offset) {
  struct iovec part = {(void*)bytes, size};
  return written(descriptor, &part, 1, offset);
}

/* The recorder cannot note these calls. So none of them may reach the data directory. */
ssize_t write(int descriptor, const void* bytes, size_t size) {
  if (handle_of(descriptor)) abort();
  return REAL(write)(descriptor, bytes, size);
}

ssize_t writev(int descriptor, const struct iovec* parts, int count) {
  if (handle_of(descriptor)) abort();
  return REAL(writev)(descriptor, parts, count);
}

void* mmap(void* at, size_t size, int access, int flags, int descriptor, off_t offset) {
  if ((flags & MAP_SHARED) && (access & PROT_WRITE) && handle_of(descriptor)) abort();
  return (void*)syscall(SYS_mmap, at, size, access, flags, descriptor, offset);
}

static void refuse_here(const char* path) {
  if (name_of(AT_FDCWD, path)) abort();
}

int rename(const char* from, const char* to) {
  refuse_here(from);
  refuse_here(to);
  return REAL(rename)(from, to);
}

int link(const char* from, const char* to) {
  refuse_here(from);
  refuse_here(to);
  return REAL(link)(from, to);
}

int unlink(const char* path) {
  refuse_here(path);
  return REAL(unlink)(path);
}

#define NOTED(call, kind, handle, a, b, name) \
  pthread_mutex_lock(&lock);                  \
  int result = call;                          \
  int error = errno;                          \
  if (result == 0 && log_descriptor >= 0) note(kind, 0, handle, a, b, name); \
  pthread_mutex_unlock(&lock);                \
  errno = error;                              \
  return result;

int ftruncate(int descriptor, off_t size) {
  if (!handle_of(descriptor)) return REAL(ftruncate)(descriptor, size);
  NOTED(REAL(ftruncate)(descriptor, size), 'T', handle_of(descriptor), size, 0, 0)
}

int fallocate(int descriptor, int mode, off_t offset, off_t size) {
  if (!handle_of(descriptor)) return REAL(fallocate)(descriptor, mode, offset, size);
  if (mode != 0) abort();
  if (needs_room(descriptor, offset + size)) {
    errno = ENOSPC;
    return -1;
  }
  int32_t handle = handle_of(descriptor);
  NOTED(REAL(fallocate)(descriptor, mode, offset, size), 'A', handle, offset, size, 0)
}

static int free_room(int result, struct statvfs* status) {
  if (result == 0 && is_full()) status->f_bavail = status->f_bfree = 0;
  return result;
}

int statvfs(const char* path, struct statvfs* status) {
  return free_room(REAL(statvfs)(path, status), status);
}

int fstatvfs(int descriptor, struct statvfs* status) {
  return free_room(REAL(fstatvfs)(descriptor, status), status);
}

static void wait_a_moment(void) {
  if (sync_us <= 0) return;
  struct timespec moment = {0, 1000L * (rand_r(&delay_state) % sync_us)};
  nanosleep(&moment, 0);
}

static int synced(int descriptor, int (*real)(int)) {
  pthread_mutex_lock(&lock);
  int32_t handle = handle_of(descriptor);
  int is_lost = handle && strcmp(lose, is_directory[descriptor] ? "directories" : "files") == 0;
  int64_t serial = ++last_sync;
  if (handle && !is_lost) note('B', 0, handle, serial, 0, 0);
  pthread_mutex_unlock(&lock);
  if (handle) wait_a_moment();
  int result = is_lost ? 0 : real(descriptor);
  int error = errno;
  pthread_mutex_lock(&lock);
  if (handle && !is_lost && result == 0) note('E', 0, handle, serial, 0, 0);
  pthread_mutex_unlock(&lock);
  errno = error;
  return result;
}

int fdatasync(int descriptor) { return synced(descriptor, REAL(fdatasync)); }

int fsync(int descriptor) { return synced(descriptor, REAL(fsync)); }

static int two_names(char kind, int (*real)(int, const char*, int, const char*, int), int from_at,
                     const char* from, int to_at, const char* to, int flags) {
  char names[2 * NAME_MAX_BYTES];
  const char* one = name_of(from_at, from);
  const char* other = name_of(to_at, to);
  /* A link from here to elsewhere is a backup: it changes nothing here. */
  int is_backup = kind == 'L' && !other;
  if (!is_backup && !one != !other) abort();
  if (!one || !other) return real(from_at, from, to_at, to, flags);
  snprintf(names, sizeof names, "%s/%s", one, other);
  NOTED(real(from_at, from, to_at, to, flags), kind, 0, 0, 0, names)
}

static int real_rename(int from_at, const char* from, int to_at, const char* to, int flags) {
  (void)flags;
  return REAL(renameat)(from_at, from, to_at, to);
}

int renameat(int from_at, const char* from, int to_at, const char* to) {
  return two_names('R', real_rename, from_at, from, to_at, to, 0);
}

int linkat(int from_at, const char* from, int to_at, const char* to, int flags) {
  return two_names('L', REAL(linkat), from_at, from, to_at, to, flags);
}

int unlinkat(int at, const char* path, int flags) {
  const char* name = name_of(at, path);
  if (!name) return REAL(unlinkat)(at, path, flags);
  NOTED(REAL(unlinkat)(at, path, flags), 'U', 0, 0, 0, name)
}

int mkdir(const char* path, mode_t mode) {
  const char* name = name_of(AT_FDCWD, path);
  if (!name) return REAL(mkdir)(path, mode);
  NOTED(REAL(mkdir)(path, mode), 'M', 0, 0, 0, name)
}

/* How much a client was told: by the ports at both ends. Clients of two of our ports may have the
 * same port at their own end. */
ssize_t send(int descriptor, const void* bytes, size_t size, int flags) {
  pthread_mutex_lock(&lock);
  ssize_t done = REAL(send)(descriptor, bytes, size, flags);
  int error = errno;
  struct sockaddr_in peer = {0}, own = {0};
  socklen_t peer_length = sizeof peer, own_length = sizeof own;
  if (done > 0 && log_descriptor >= 0 &&
      getpeername(descriptor, (struct sockaddr*)&peer, &peer_length) == 0 &&
      getsockname(descriptor, (struct sockaddr*)&own, &own_length) == 0 &&
      peer.sin_family == AF_INET)
    note('S', 0, 0, (int64_t)ntohs(own.sin_port) << 16 | ntohs(peer.sin_port), done, 0);
  pthread_mutex_unlock(&lock);
  errno = error;
  return done;
}
