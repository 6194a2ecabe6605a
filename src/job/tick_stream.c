#include "job/tick_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "storage/file_system.h"

enum { READ_BYTES = 1 << 16, HEAD_BYTES = 5, PATH_BYTES = 4096 + 24 };

static void stream_path(const struct tick_stream *stream, uint64_t number, char *path)
{
    snprintf(path, PATH_BYTES, "%s.ticks.%" PRIu64, stream->path, number);
}

enum status tick_stream_create(struct tick_stream *stream, uint64_t number, struct text begin, struct error *err)
{
    char path[PATH_BYTES];
    stream_path(stream, number, path);
    tick_stream_close(stream);
    unlink(path); /* a standby of an earlier process may have it open */
    stream->descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_APPEND, 0666);
    if (stream->descriptor < 0) {
        return error_set(err, ERROR_STORE_UNAVAILABLE, "cannot create '%s': %s", path, strerror(errno));
    }
    stream->number = number;
    return tick_stream_write(stream, FRAME_BEGIN, begin, err);
}

enum status tick_stream_write(struct tick_stream *stream, enum frame_kind kind, struct text bytes, struct error *err)
{
    uint32_t length = (uint32_t)bytes.length;
    text_builder_clear(&stream->bytes);
    text_append_char(&stream->bytes, (char)kind);
    text_append(&stream->bytes, (const char *)&length, sizeof length);
    text_append(&stream->bytes, bytes.bytes, bytes.length);
    if (stream->bytes.failed) {
        return error_set(err, ERROR_BUDGET_SPENT, "no room for the record of a tick");
    }
    return file_system_write_all(&file_system_real, stream->descriptor, stream->bytes.bytes, stream->bytes.length)
               ? STATUS_OK
               : error_set(err, ERROR_STORE_UNAVAILABLE, "cannot write what the standby reads, '%s.ticks.%" PRIu64 "': %s", stream->path,
                           stream->number, strerror(errno));
}

void tick_stream_remove(const struct tick_stream *stream, uint64_t number)
{
    char path[PATH_BYTES];
    stream_path(stream, number, path);
    unlink(path);
}

bool tick_stream_open(struct tick_stream *stream, uint64_t number)
{
    char path[PATH_BYTES];
    stream_path(stream, number, path);
    int opened = open(path, O_RDONLY | O_CLOEXEC);
    if (opened < 0) {
        return false;
    }
    tick_stream_close(stream);
    stream->descriptor = opened;
    stream->number = number;
    return true;
}

static bool read_more(struct tick_stream *stream)
{
    char more[READ_BYTES];
    if (stream->given > 0) {
        stream->bytes.length -= stream->given;
        memmove(stream->bytes.bytes, stream->bytes.bytes + stream->given, stream->bytes.length);
        stream->given = 0;
    }
    ssize_t got = stream->descriptor < 0 ? 0 : read(stream->descriptor, more, sizeof more);
    text_append(&stream->bytes, more, got > 0 ? (size_t)got : 0);
    return got > 0 && !stream->bytes.failed;
}

bool tick_stream_read(struct tick_stream *stream, enum frame_kind *kind, struct text *bytes)
{
    do {
        size_t left = stream->bytes.length - stream->given;
        const char *at = stream->bytes.bytes + stream->given;
        uint32_t length;
        if (left >= HEAD_BYTES) {
            memcpy(&length, at + 1, sizeof length);
            if (left >= HEAD_BYTES + (size_t)length) {
                *kind = (enum frame_kind)at[0];
                *bytes = (struct text){at + HEAD_BYTES, length};
                stream->given += HEAD_BYTES + (size_t)length;
                return true;
            }
        }
    } while (read_more(stream));
    return false;
}

void tick_stream_close(struct tick_stream *stream)
{
    if (stream->descriptor >= 0) {
        close(stream->descriptor);
    }
    stream->descriptor = -1;
    stream->given = 0;
    text_builder_close(&stream->bytes);
}
