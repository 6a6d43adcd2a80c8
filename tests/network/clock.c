/* A clock that a test moves: what is asked for the time of day gets the true one and the seconds in a shared file.
   Time that passes (the monotonic clock, all waiting) is left alone: that is what a jump of a clock is. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long ahead(void)
{
    static volatile long *seconds;
    if (!seconds) {
        const char *path = getenv("FLORA_TEST_CLOCK");
        int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
        void *shared = file < 0 ? MAP_FAILED : mmap(0, sizeof(long), PROT_READ, MAP_SHARED, file, 0);
        if (file >= 0)
            close(file);
        if (shared == MAP_FAILED)
            return 0;
        seconds = shared;
    }
    return *seconds;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int failed = (int)syscall(SYS_clock_gettime, clock, now);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += ahead();
    return failed;
}

time_t time(time_t *seconds)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (seconds)
        *seconds = now.tv_sec;
    return now.tv_sec;
}

int gettimeofday(struct timeval *restrict day, void *restrict zone)
{
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    day->tv_sec = now.tv_sec;
    day->tv_usec = now.tv_nsec / 1000;
    return 0;
}
