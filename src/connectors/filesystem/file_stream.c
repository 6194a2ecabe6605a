#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "connectors/filesystem/filesystem.h"

enum packing { PACKING_NONE, PACKING_GZIP, PACKING_ZSTD };
enum { PACKED_BYTES = 256 * 1024 };

struct file_stream {
    int descriptor;
    enum packing packing;
    char *path;
    unsigned char *packed; /* read from the file, not yet unpacked */
    size_t packed_used, packed_count;
    bool ended;     /* of the file */
    bool in_member; /* inside a gzip member or zstd frame */
    z_stream gzip;
    ZSTD_DStream *zstd;
};

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

static enum status packing_open(struct file_stream *stream, struct error *err)
{
    if (stream->packing == PACKING_NONE) {
        return STATUS_OK;
    }
    stream->packed = malloc(PACKED_BYTES);
    bool ready = stream->packed != NULL;
    if (ready && stream->packing == PACKING_GZIP) {
        ready = inflateInit2(&stream->gzip, 15 + 32) == Z_OK;
    } else if (ready) {
        stream->zstd = ZSTD_createDStream();
        ready = stream->zstd != NULL;
    }
    return ready ? STATUS_OK : error_set(err, ERROR_BUDGET_SPENT, "no room to unpack '%s'", stream->path);
}

static enum packing packing_of(const char *path)
{
    return ends_with(path, ".gz") ? PACKING_GZIP : ends_with(path, ".zst") ? PACKING_ZSTD : PACKING_NONE;
}

bool file_is_packed(const char *path)
{
    return packing_of(path) != PACKING_NONE;
}

enum status file_stream_open(const char *path, uint64_t offset, struct file_stream **stream, struct error *err)
{
    struct file_stream *opened;
    TRY_ALLOC(opened, calloc(1, sizeof *opened), err);
    opened->descriptor = open(path, O_RDONLY | O_CLOEXEC);
    opened->path = strdup(path);
    opened->packing = packing_of(path);
    enum status status = STATUS_OK;
    if (opened->descriptor < 0 || (offset > 0 && lseek(opened->descriptor, (off_t)offset, SEEK_SET) < 0)) {
        status = error_set(err, ERROR_FILE_UNREADABLE, "cannot open '%s': %s", path, strerror(errno));
    } else if (opened->path == NULL) {
        status = error_set(err, ERROR_BUDGET_SPENT, "no room for a path");
    } else {
        (void)posix_fadvise(opened->descriptor, 0, 0, POSIX_FADV_SEQUENTIAL);
        status = packing_open(opened, err);
    }
    if (status != STATUS_OK) {
        file_stream_close(opened);
        return status;
    }
    *stream = opened;
    return STATUS_OK;
}

void file_stream_close(struct file_stream *stream)
{
    if (stream == NULL) {
        return;
    }
    if (stream->descriptor >= 0) {
        close(stream->descriptor);
    }
    if (stream->packing == PACKING_GZIP && stream->gzip.state != NULL) {
        inflateEnd(&stream->gzip);
    }
    ZSTD_freeDStream(stream->zstd);
    free(stream->packed);
    free(stream->path);
    free(stream);
}

static enum status read_bytes(struct file_stream *stream, void *to, size_t room, size_t *got, struct error *err)
{
    *got = 0;
    while (*got < room && !stream->ended) {
        ssize_t count = read(stream->descriptor, (char *)to + *got, room - *got);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            return error_set(err, ERROR_FILE_UNREADABLE, "cannot read '%s': %s", stream->path, strerror(errno));
        }
        stream->ended = count == 0;
        *got += (size_t)count;
    }
    return STATUS_OK;
}

static enum status unpack_gzip(struct file_stream *stream, char *to, size_t room, size_t *got, struct error *err)
{
    z_stream *gzip = &stream->gzip;
    gzip->next_in = stream->packed + stream->packed_used;
    gzip->avail_in = (uInt)(stream->packed_count - stream->packed_used);
    gzip->next_out = (unsigned char *)to;
    gzip->avail_out = (uInt)(room > 1u << 30 ? 1u << 30 : room);
    size_t asked = gzip->avail_out;
    stream->in_member = true;
    int result = inflate(gzip, Z_NO_FLUSH);
    stream->packed_used = stream->packed_count - gzip->avail_in;
    *got = asked - gzip->avail_out;
    if (result == Z_STREAM_END) { /* another member may follow */
        stream->in_member = false;
        result = inflateReset(gzip);
    }
    if (result != Z_OK && result != Z_BUF_ERROR) {
        return error_set(err, ERROR_FILE_UNREADABLE, "'%s' is no gzip file: %s", stream->path, gzip->msg == NULL ? "damaged" : gzip->msg);
    }
    return STATUS_OK;
}

static enum status unpack_zstd(struct file_stream *stream, char *to, size_t room, size_t *got, struct error *err)
{
    ZSTD_inBuffer in = {stream->packed, stream->packed_count, stream->packed_used};
    ZSTD_outBuffer out = {to, room, 0};
    size_t result = ZSTD_decompressStream(stream->zstd, &out, &in);
    stream->packed_used = in.pos;
    *got = out.pos;
    if (ZSTD_isError(result)) {
        return error_set(err, ERROR_FILE_UNREADABLE, "'%s' is no zstd file: %s", stream->path, ZSTD_getErrorName(result));
    }
    stream->in_member = result != 0;
    return STATUS_OK;
}

enum status file_stream_read(struct file_stream *stream, char *to, size_t room, size_t *got, struct error *err)
{
    if (stream->packing == PACKING_NONE) {
        return read_bytes(stream, to, room, got, err);
    }
    *got = 0;
    while (*got < room) {
        if (stream->packed_used == stream->packed_count && !stream->ended) {
            stream->packed_used = 0;
            TRY(read_bytes(stream, stream->packed, PACKED_BYTES, &stream->packed_count, err));
        }
        bool drained = stream->packed_used == stream->packed_count;
        if (drained && !stream->in_member) {
            return STATUS_OK;
        }
        size_t count, before = stream->packed_used;
        TRY(stream->packing == PACKING_GZIP ? unpack_gzip(stream, to + *got, room - *got, &count, err)
                                            : unpack_zstd(stream, to + *got, room - *got, &count, err));
        *got += count;
        if (drained && count == 0 && stream->packed_used == before && stream->in_member) {
            return error_set(err, ERROR_FILE_UNREADABLE, "'%s' ends in the middle", stream->path);
        }
    }
    return STATUS_OK;
}

/* A seek past the end succeeds, so the end is asked for first. */
static enum status skip_plain(struct file_stream *stream, uint64_t bytes, bool *reached, struct error *err)
{
    off_t end = lseek(stream->descriptor, 0, SEEK_END);
    *reached = end >= 0 && (uint64_t)end >= bytes;
    if (end < 0 || (*reached && lseek(stream->descriptor, (off_t)bytes, SEEK_SET) < 0)) {
        return error_set(err, ERROR_FILE_UNREADABLE, "cannot read '%s' from byte %llu on: %s", stream->path, (unsigned long long)bytes,
                         strerror(errno));
    }
    return STATUS_OK;
}

enum status file_stream_skip(struct file_stream *stream, uint64_t bytes, bool *reached, struct error *err)
{
    if (stream->packing == PACKING_NONE) {
        return skip_plain(stream, bytes, reached, err);
    }
    char *passed;
    TRY_ALLOC(passed, malloc(PACKED_BYTES), err);
    enum status status = STATUS_OK;
    size_t got = PACKED_BYTES;
    while (status == STATUS_OK && bytes > 0 && got > 0) {
        status = file_stream_read(stream, passed, bytes < PACKED_BYTES ? (size_t)bytes : PACKED_BYTES, &got, err);
        bytes -= got;
    }
    *reached = bytes == 0;
    free(passed);
    return status;
}
