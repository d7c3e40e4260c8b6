/* A disk that fails on demand, for the tests: preloaded into a process that opens a store.
 *
 * The file named by LANDFORM_FAULT says what fails from now on, until it is gone:
 *   sync          fsync and fdatasync fail with EIO
 *   write N       after N more writes there is no room (ENOSPC)
 * LANDFORM_CUT=N,SEED cuts the power at the Nth operation: what was written since each file's last
 * sync is taken back, apart from a random part of it that reached the disk by chance; then the
 * process is killed. Only files whose path holds "journal.db" (not its shared memory) or
 * "acknowledged" are concerned. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct unsynced {
    char path[PATH_MAX];
    off_t offset, size_before;
    size_t length, length_before;
    char *written, *before;
    struct unsynced *older;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct unsynced *newest;
static long writes_left = -1, operations_left = -1;
static unsigned seed;

static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static int (*real_fsync)(int);

__attribute__((constructor)) static void start(void) {
    real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
    real_fsync = dlsym(RTLD_NEXT, "fsync");
    const char *cut = getenv("LANDFORM_CUT");
    if (cut) sscanf(cut, "%ld,%u", &operations_left, &seed);
}

/* The path of a file that is concerned, or an empty string. */
static void path_of(int fd, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = 0;
    int ours = strstr(path, "journal.db") || strstr(path, "acknowledged");
    if (!ours || strstr(path, "-shm")) path[0] = 0;
}

/* What the control file asks for; *count is set for "write". */
static int fault(const char *kind, long *count) {
    const char *file = getenv("LANDFORM_FAULT");
    FILE *stream = file ? fopen(file, "r") : NULL;
    if (!stream) {
        writes_left = -1;
        return 0;
    }
    char word[16] = "";
    int fields = fscanf(stream, "%15s %ld", word, count);
    fclose(stream);
    return fields > 0 && strcmp(word, kind) == 0;
}

static void take_back_and_apply_a_part(void) {
    struct unsynced *oldest = NULL;
    for (struct unsynced *entry = newest, *next; entry; entry = next) {
        next = entry->older;
        int fd = open(entry->path, O_RDWR);
        if (fd >= 0) {
            real_pwrite(fd, entry->before, entry->length_before, entry->offset);
            if (ftruncate(fd, entry->size_before)) _exit(99);
            close(fd);
        }
        entry->older = oldest; /* the list turns round: oldest first */
        oldest = entry;
    }
    for (struct unsynced *entry = oldest; entry; entry = entry->older) {
        int chance = rand_r(&seed) % 3; /* lost, torn, or whole */
        size_t length = chance == 0 ? 0 : entry->length;
        if (chance == 1 && length > 512) length = 512 * (rand_r(&seed) % (length / 512 + 1));
        int fd = open(entry->path, O_RDWR);
        if (fd >= 0) {
            if (length) real_pwrite(fd, entry->written, length, entry->offset);
            close(fd);
        }
    }
}

static void count_down(void) {
    if (operations_left < 0 || operations_left-- > 0) return;
    take_back_and_apply_a_part();
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

static void remember(int fd, const char *path, const void *data, size_t length, off_t offset) {
    struct stat status;
    struct unsynced *entry = calloc(1, sizeof *entry);
    fstat(fd, &status);
    strcpy(entry->path, path);
    entry->offset = offset;
    entry->size_before = status.st_size;
    entry->length = length;
    entry->written = malloc(length);
    entry->before = malloc(length);
    memcpy(entry->written, data, length);
    ssize_t got = pread(fd, entry->before, length, offset);
    entry->length_before = got > 0 ? got : 0;
    entry->older = newest;
    newest = entry;
}

static void forget(const char *path) {
    for (struct unsynced **place = &newest; *place;) {
        struct unsynced *entry = *place;
        if (strcmp(entry->path, path) == 0) {
            *place = entry->older;
            free(entry->written);
            free(entry->before);
            free(entry);
        } else {
            place = &entry->older;
        }
    }
}

ssize_t pwrite64(int fd, const void *data, size_t length, off_t offset) {
    char path[PATH_MAX];
    path_of(fd, path);
    if (!path[0]) return real_pwrite(fd, data, length, offset);
    pthread_mutex_lock(&lock);
    long count = 0;
    ssize_t result = -1;
    if (fault("write", &count)) {
        if (writes_left < 0) writes_left = count;
        if (writes_left == 0) {
            errno = ENOSPC;
            goto done;
        }
        writes_left--;
    }
    if (operations_left >= 0) {
        count_down();
        remember(fd, path, data, length, offset);
    }
    result = real_pwrite(fd, data, length, offset);
done:
    pthread_mutex_unlock(&lock);
    return result;
}

ssize_t pwrite(int fd, const void *data, size_t length, off_t offset) {
    return pwrite64(fd, data, length, offset);
}

int fsync(int fd) {
    char path[PATH_MAX];
    path_of(fd, path);
    if (!path[0]) return real_fsync(fd);
    pthread_mutex_lock(&lock);
    long count;
    int result = -1;
    if (fault("sync", &count)) {
        errno = EIO;
    } else {
        if (operations_left >= 0) count_down();
        /* What the process tells the world is what counts; the real disk need not spin. */
        result = operations_left >= 0 ? 0 : real_fsync(fd);
        forget(path);
    }
    pthread_mutex_unlock(&lock);
    return result;
}

int fdatasync(int fd) { return fsync(fd); }
