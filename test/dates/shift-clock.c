/**
 * Preload of each process in a run as of a date: its time of day and its file times are CLOCK_OFFSET_MS later. It shifts no other clock.
 *
 * libfaketime does not do: Redis hangs with it, since jemalloc asks for the time before libfaketime can answer, and Node asks the kernel for
 * file times by statx(2), past it. The variable is read for each reading of the clock, so a process can change it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

#define NEXT(name) static typeof(name) *next; if (next == NULL) next = (typeof(name) *)dlsym(RTLD_NEXT, #name)

static long long offset_ms(void) {
  const char *text = getenv("CLOCK_OFFSET_MS");
  return text == NULL ? 0 : atoll(text);
}

static struct timespec shifted(long long secs, long nanos, long long by_ms) {
  long long ns = nanos + by_ms % 1000 * 1000000;
  secs += by_ms / 1000;
  if (ns < 0) ns += 1000000000, secs--;
  if (ns >= 1000000000) ns -= 1000000000, secs++;
  return (struct timespec){secs, ns};
}

int clock_gettime(clockid_t clock, struct timespec *at) {
  NEXT(clock_gettime);
  int code = next(clock, at);
  if (code == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
    *at = shifted(at->tv_sec, at->tv_nsec, offset_ms());
  return code;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
  (void)zone;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  *at = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
  return 0;
}

time_t time(time_t *at) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (at != NULL) *at = now.tv_sec;
  return now.tv_sec;
}

long syscall(long number, ...) {
  NEXT(syscall);
  va_list given;
  va_start(given, number);
  long a = va_arg(given, long), b = va_arg(given, long), c = va_arg(given, long);
  long d = va_arg(given, long), e = va_arg(given, long), f = va_arg(given, long);
  va_end(given);
  long code = next(number, a, b, c, d, e, f);
  if (number == SYS_statx && code == 0) {
    struct statx *stats = (struct statx *)e;
    struct timespec at = shifted(stats->stx_mtime.tv_sec, stats->stx_mtime.tv_nsec, offset_ms());
    stats->stx_mtime.tv_sec = at.tv_sec;
    stats->stx_mtime.tv_nsec = at.tv_nsec;
  }
  return code;
}

static const struct timespec *unshifted(const struct timespec from[2], struct timespec to[2]) {
  if (from == NULL) return NULL;
  for (int i = 0; i < 2; i++)
    to[i] = from[i].tv_nsec >= 1000000000 ? from[i] : shifted(from[i].tv_sec, from[i].tv_nsec, -offset_ms());
  return to;
}

int utimensat(int folder, const char *path, const struct timespec times[2], int flags) {
  NEXT(utimensat);
  struct timespec real[2];
  return next(folder, path, unshifted(times, real), flags);
}

int futimens(int file, const struct timespec times[2]) {
  NEXT(futimens);
  struct timespec real[2];
  return next(file, unshifted(times, real));
}
