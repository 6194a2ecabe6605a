#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cluster/local.h"

struct local_watch {
    int fd, stop;
    local_wake_fn wake;
    cluster_hint_fn hint;
    void *owner, *context;
    pthread_t thread;
};

static void *watch_run(void *argument)
{
    const struct local_watch *self = argument;
    for (;;) {
        _Alignas(8) char events[4096];
        struct pollfd ready[] = {{.fd = self->fd, .events = POLLIN}, {.fd = self->stop, .events = POLLIN}};
        if (poll(ready, 2, -1) < 0 && errno != EINTR) {
            return NULL;
        }
        if (ready[1].revents != 0) {
            return NULL;
        }
        ssize_t length = ready[0].revents == 0 ? 0 : read(self->fd, events, sizeof events);
        if (length > 0) {
            if (self->wake != NULL) {
                self->wake(self->owner, events, (size_t)length);
            }
            self->hint(self->context, CLUSTER_CHANGED); /* one for all that came together */
        }
    }
}

static enum status watch_fail(struct local_watch *self, struct error *err)
{
    if (self != NULL && self->stop >= 0) {
        close(self->stop);
    }
    free(self);
    return error_set(err, ERROR_THREAD, "no thread for the hints of coordination");
}

enum status local_watch_open(int fd, local_wake_fn wake, void *owner, cluster_hint_fn hint, void *context, struct local_watch **watch,
                             struct error *err)
{
    struct local_watch *self = calloc(1, sizeof *self);
    if (self != NULL) {
        *self =
            (struct local_watch){.fd = fd, .wake = wake, .hint = hint, .owner = owner, .context = context, .stop = eventfd(0, EFD_CLOEXEC)};
    }
    if (self == NULL || self->stop < 0 || pthread_create(&self->thread, NULL, watch_run, self) != 0) {
        close(fd);
        return watch_fail(self, err);
    }
    *watch = self;
    return STATUS_OK;
}

void local_watch_close(struct local_watch *watch)
{
    if (watch == NULL) {
        return;
    }
    while (eventfd_write(watch->stop, 1) != 0 && errno == EINTR) {
    }
    pthread_join(watch->thread, NULL);
    close(watch->fd);
    close(watch->stop);
    free(watch);
}
