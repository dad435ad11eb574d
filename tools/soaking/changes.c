/* Counts the changes that a program makes to the disk, and ends it at one of them.

   Loaded before the C library (LD_PRELOAD). `arm` says which change is the last and
   which signal comes then, right before it; of a write, half is written. Until then
   everything is as always. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static long counted, last = -1;
static int sign = SIGKILL;

void arm(long number, int with) {
  sign = with;
  counted = 0;
  last = number;
}

long changes(void) { return counted; }

static int is_last(void) {
  return __atomic_add_fetch(&counted, 1, __ATOMIC_SEQ_CST) == last;
}

static void change(void) {
  if (is_last()) kill(getpid(), sign);
}

static int on_disk(int descriptor) {
  struct stat status;
  return fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
}

#define REAL(name) \
  static __typeof__(name) *real; \
  if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

/* Opened for writing: made, or emptied. */
#define OPEN(name) \
  int name(const char *path, int flags, ...) { \
    REAL(name); \
    va_list more; \
    va_start(more, flags); \
    mode_t mode = va_arg(more, mode_t); \
    va_end(more); \
    if (flags & (O_CREAT | O_TRUNC)) change(); \
    return real(path, flags, mode); \
  }
OPEN(open)
OPEN(open64)

#define OPENAT(name) \
  int name(int folder, const char *path, int flags, ...) { \
    REAL(name); \
    va_list more; \
    va_start(more, flags); \
    mode_t mode = va_arg(more, mode_t); \
    va_end(more); \
    if (flags & (O_CREAT | O_TRUNC)) change(); \
    return real(folder, path, flags, mode); \
  }
OPENAT(openat)
OPENAT(openat64)

#define FOPEN(name) \
  FILE *name(const char *path, const char *mode) { \
    REAL(name); \
    if (strpbrk(mode, "wa")) change(); \
    return real(path, mode); \
  }
FOPEN(fopen)
FOPEN(fopen64)

#undef fwrite_unlocked /* a macro of the C library */

/* Written: by half before the signal, and what is left by a program that survives. */
ssize_t write(int descriptor, const void *content, size_t size) {
  REAL(write);
  ssize_t half = 0;
  if (on_disk(descriptor) && is_last()) {
    half = real(descriptor, content, size / 2);
    if (half < 0) return half;
    kill(getpid(), sign);
  }
  ssize_t rest = real(descriptor, (const char *)content + half, size - half);
  return rest < 0 ? rest : half + rest;
}

#define FWRITE(name) \
  size_t name(const void *content, size_t size, size_t count, FILE *file) { \
    REAL(name); \
    size_t half = 0; \
    if (on_disk(fileno(file)) && is_last()) { \
      half = real(content, size, count / 2, file); \
      fflush(file); \
      kill(getpid(), sign); \
    } \
    return half + real((const char *)content + half * size, size, count - half, file); \
  }
FWRITE(fwrite)
FWRITE(fwrite_unlocked)

/* Everything else. */
#define CHANGE(name, parameters, arguments) \
  int name parameters { \
    REAL(name); \
    change(); \
    return real arguments; \
  }
CHANGE(rename, (const char *from, const char *to), (from, to))
CHANGE(renameat, (int a, const char *from, int b, const char *to), (a, from, b, to))
CHANGE(renameat2, (int a, const char *from, int b, const char *to, unsigned how),
       (a, from, b, to, how))
CHANGE(unlink, (const char *path), (path))
CHANGE(unlinkat, (int folder, const char *path, int how), (folder, path, how))
CHANGE(remove, (const char *path), (path))
CHANGE(mkdir, (const char *path, mode_t mode), (path, mode))
CHANGE(mkdirat, (int folder, const char *path, mode_t mode), (folder, path, mode))
CHANGE(rmdir, (const char *path), (path))
CHANGE(ftruncate, (int descriptor, off_t size), (descriptor, size))
CHANGE(ftruncate64, (int descriptor, off64_t size), (descriptor, size))
CHANGE(fsync, (int descriptor), (descriptor))
CHANGE(symlink, (const char *from, const char *to), (from, to))
CHANGE(utimensat,
       (int folder, const char *path, const struct timespec times[2], int how),
       (folder, path, times, how))
