#include "job/file_relay.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buffer.h"
#include "base/condition.h"

enum { RING_PIECES = 8, JOIN_US = 1000000 };

struct piece {
    char *bytes;
    size_t length, capacity;
    bool end; /* of the file, without bytes */
};
struct relay_reader {
    bool joined, left, alone;
    uint64_t taken, files;
};
struct file_relay {
    const struct job_image *image;
    pthread_t thread;
    pthread_mutex_t mutex; /* guards the rest; a piece is its writer's until it counts, then nobody writes it until all have taken it */
    pthread_cond_t changed;
    struct piece ring[RING_PIECES];
    uint64_t written;        /* pieces */
    uint64_t asked, ended;   /* files */
    uint32_t chain, file;    /* that was asked for last */
    bool closing, abandoned; /* abandoned: nobody is left to read for */
    enum status status;      /* of the reading; an error is its last word */
    struct error error;
    uint32_t count, joined;
    struct relay_reader readers[];
};

static bool reads(const struct relay_reader *reader)
{
    return reader->joined && !reader->left && !reader->alone;
}

/* ---- the thread ---- */

static bool has_room(struct file_relay *relay)
{
    bool room = true, any = false;
    for (uint32_t i = 0; i < relay->count; i++) {
        const struct relay_reader *reader = &relay->readers[i];
        any = any || reads(reader);
        room = room && (!reads(reader) || relay->written - reader->taken < RING_PIECES);
    }
    relay->abandoned = !any;
    return room;
}

/* The next piece, when all have taken what was in its place; NULL: nobody wants it. */
static struct piece *next_piece(struct file_relay *relay)
{
    pthread_mutex_lock(&relay->mutex);
    while (!has_room(relay)) {
        pthread_cond_wait(&relay->changed, &relay->mutex);
    }
    struct piece *piece = relay->abandoned ? NULL : &relay->ring[relay->written % RING_PIECES];
    pthread_mutex_unlock(&relay->mutex);
    return piece;
}

static void count_piece(struct file_relay *relay)
{
    pthread_mutex_lock(&relay->mutex);
    relay->written++;
    pthread_cond_broadcast(&relay->changed);
    pthread_mutex_unlock(&relay->mutex);
}

static enum status put_piece(void *context, const void *bytes, size_t length, struct error *err)
{
    struct file_relay *relay = context;
    struct piece *piece = next_piece(relay);
    if (piece == NULL) {
        return error_set(err, ERROR_CANCELLED, "nobody restores state any more");
    }
    if (length > piece->capacity) {
        free(piece->bytes);
        piece->capacity = 0;
        TRY_ALLOC(piece->bytes, malloc(length), err);
        piece->capacity = length;
    }
    if (length > 0) { /* nothing is copied to nowhere */
        memcpy(piece->bytes, bytes, length);
    }
    piece->length = length;
    piece->end = false;
    count_piece(relay);
    return STATUS_OK;
}

static void relay_file(struct file_relay *relay, uint32_t chain, uint32_t file)
{
    const struct job_image *image = relay->image;
    const struct object_sink sink = {.write = put_piece, .context = relay};
    struct error error;
    enum status status = image->read(image->context, chain, file, &sink, &error);
    struct piece *piece = next_piece(relay);
    pthread_mutex_lock(&relay->mutex);
    relay->status = status;
    if (status != STATUS_OK) {
        relay->error = error;
    }
    relay->ended++;
    if (piece != NULL) {
        piece->end = true;
        relay->written++;
    }
    pthread_cond_broadcast(&relay->changed);
    pthread_mutex_unlock(&relay->mutex);
}

/* Those that have not joined by now have no thread of their own and would keep the others waiting. */
static void wait_for_all(struct file_relay *relay)
{
    const struct timespec until = condition_deadline(JOIN_US);
    while (relay->joined < relay->count && condition_wait(&relay->changed, &relay->mutex, &until)) {
    }
    for (uint32_t i = 0; i < relay->count; i++) {
        relay->readers[i].alone = !relay->readers[i].joined;
    }
}

static void *relay_main(void *context)
{
    struct file_relay *relay = context;
    pthread_mutex_lock(&relay->mutex);
    for (bool first = true;; first = false) {
        while (relay->asked == relay->ended && !relay->closing) {
            pthread_cond_wait(&relay->changed, &relay->mutex);
        }
        if (relay->asked == relay->ended) {
            break;
        }
        if (first) {
            wait_for_all(relay);
        }
        uint32_t chain = relay->chain, file = relay->file;
        pthread_mutex_unlock(&relay->mutex);
        relay_file(relay, chain, file);
        pthread_mutex_lock(&relay->mutex);
    }
    pthread_mutex_unlock(&relay->mutex);
    buffer_trim();
    return NULL;
}

/* ---- workers ---- */

void file_relay_join(struct file_relay *relay, uint32_t worker)
{
    pthread_mutex_lock(&relay->mutex);
    relay->readers[worker].joined = true;
    relay->joined++;
    pthread_cond_broadcast(&relay->changed);
    pthread_mutex_unlock(&relay->mutex);
}

void file_relay_leave(struct file_relay *relay, uint32_t worker)
{
    pthread_mutex_lock(&relay->mutex);
    relay->readers[worker].left = true;
    pthread_cond_broadcast(&relay->changed);
    pthread_mutex_unlock(&relay->mutex);
}

/* Asks for the reader's next file, if nobody has. False: it reads by itself. */
static bool ask(struct file_relay *relay, struct relay_reader *reader, uint32_t chain, uint32_t file)
{
    pthread_mutex_lock(&relay->mutex);
    bool relayed = !reader->alone;
    if (relayed && ++reader->files > relay->asked) {
        relay->asked = reader->files;
        relay->chain = chain;
        relay->file = file;
        pthread_cond_broadcast(&relay->changed);
    }
    pthread_mutex_unlock(&relay->mutex);
    return relayed;
}

static const struct piece *wait_for_piece(struct file_relay *relay, const struct relay_reader *reader)
{
    pthread_mutex_lock(&relay->mutex);
    while (reader->taken == relay->written) {
        pthread_cond_wait(&relay->changed, &relay->mutex);
    }
    pthread_mutex_unlock(&relay->mutex);
    return &relay->ring[reader->taken % RING_PIECES];
}

static void take_piece(struct file_relay *relay, struct relay_reader *reader)
{
    pthread_mutex_lock(&relay->mutex);
    reader->taken++;
    pthread_cond_broadcast(&relay->changed);
    pthread_mutex_unlock(&relay->mutex);
}

/* Errors end all reading, so the last one is this file's. */
static enum status file_status(struct file_relay *relay, struct error *err)
{
    pthread_mutex_lock(&relay->mutex);
    enum status status = relay->status;
    if (status != STATUS_OK) {
        *err = relay->error;
    }
    pthread_mutex_unlock(&relay->mutex);
    return status;
}

enum status file_relay_read(struct file_relay *relay, uint32_t worker, uint32_t chain, uint32_t file, const struct object_sink *sink,
                            struct error *err)
{
    struct relay_reader *reader = &relay->readers[worker];
    if (!ask(relay, reader, chain, file)) {
        return relay->image->read(relay->image->context, chain, file, sink, err);
    }
    for (bool end = false; !end;) {
        const struct piece *piece = wait_for_piece(relay, reader);
        end = piece->end;
        if (!end) {
            TRY(sink->write(sink->context, piece->bytes, piece->length, err));
        }
        take_piece(relay, reader);
    }
    return file_status(relay, err);
}

/* ---- open and close ---- */

enum status file_relay_open(const struct job_image *image, uint32_t workers, struct file_relay **relay, struct error *err)
{
    struct file_relay *opened;
    TRY_ALLOC(opened, calloc(1, sizeof *opened + workers * sizeof *opened->readers), err);
    opened->image = image;
    opened->count = workers;
    pthread_mutex_init(&opened->mutex, NULL);
    condition_init(&opened->changed);
    int failed = pthread_create(&opened->thread, NULL, relay_main, opened);
    if (failed != 0) {
        pthread_mutex_destroy(&opened->mutex);
        pthread_cond_destroy(&opened->changed);
        free(opened);
        return error_set(err, ERROR_THREAD, "cannot start the thread that reads a checkpoint: %s", strerror(failed));
    }
    *relay = opened;
    return STATUS_OK;
}

void file_relay_close(struct file_relay *relay)
{
    if (relay == NULL) {
        return;
    }
    pthread_mutex_lock(&relay->mutex);
    relay->closing = true;
    pthread_cond_broadcast(&relay->changed);
    pthread_mutex_unlock(&relay->mutex);
    pthread_join(relay->thread, NULL);
    pthread_mutex_destroy(&relay->mutex);
    pthread_cond_destroy(&relay->changed);
    for (uint32_t i = 0; i < RING_PIECES; i++) {
        free(relay->ring[i].bytes);
    }
    free(relay);
}
