/* connectors/filesystem/filesystem_reader.h: the file source and its reader, for the files of its implementation.
 *
 * For         filesystem_source.c (columns, the list of files), filesystem_reader.c (reading), filesystem_position.c (places),
 *             filesystem_lead.c (what others choose), file_piece.c (what other processes read).
 * Order       A bounded table is read in the order of its files' paths. A followed folder (source.monitor-interval) is scanned again and
 *             again; each scan takes, in that order, new files and what known ones have gained.
 * Place       filesystem/1 rows=7 done=2 file=5:/a.gz byte=120 line=9 repeat=0 tail=64 check=HASH files=4 last=5:/d.gz list=HASH
 *             rows     of the partition before it
 *             done     (bounded) files before it
 *             file     the one that it lies in, below the table's path; without one it lies between files
 *             byte, line   in the file, unpacked: a record begins there
 *             repeat   rows of that record (an array of JSON) that come before the place
 *             tail, check  a hash of so many bytes before `byte`, to notice a file that is another now
 *             files, last, list   (bounded) how many files, the last one, a hash of their paths, to notice that others are there now
 *             History (followed folders): file_progress.h.
 */
#ifndef SPATE_CONNECTORS_FILESYSTEM_FILESYSTEM_READER_H
#define SPATE_CONNECTORS_FILESYSTEM_FILESYSTEM_READER_H

#include "connectors/error_policy.h"
#include "connectors/filesystem/filesystem.h"
#include "connectors/filesystem/file_progress.h"

enum column_origin { ORIGIN_RECORD, ORIGIN_PARTITION, ORIGIN_METADATA };
enum file_metadata { METADATA_PATH, METADATA_NAME, METADATA_SIZE, METADATA_TIME };
struct output_column {
    enum column_origin origin;
    uint32_t index; /* of the record's column; of the partition column; enum file_metadata */
};

struct filesystem_source {
    struct source base;
    struct source_context context;
    struct filesystem_settings settings;
    const char *root;
    struct format_context format; /* row and projections of the record */
    struct output_column *outputs;
    bool constant_outputs;
    bool by_file;           /* each file is a partition; those of a piece are one, whose readers would else be as many as files */
    bool followed;          /* files and rows that come later are read, too, unless it shall end: then base.bounded */
    struct file_list files; /* not followed: all of them */
};

enum { BLOCKS_KEPT = 8 };
struct file_mark { /* of the place asked for last, or sought: the bytes before it may be gone from the block */
    uint64_t byte, check;
    size_t tail;
};
struct filesystem_reader {
    struct reader base;
    const struct filesystem_source *source;
    struct arena *arena;
    struct decoder *decoder;
    struct error_reporter reporter;
    struct file_list files;        /* a followed folder: those of the last scan */
    struct progress_log *progress; /* a followed folder; NULL otherwise */
    size_t next_file, end_file;
    size_t list_count;     /* a bounded source: its input is so many files of its list */
    uint64_t list_hash;    /* of their paths */
    uint64_t done;         /* a bounded source: files that were read to their end */
    struct file_mark mark; /* of the open file */
    int64_t next_scan_us;
    struct file_entry *entry; /* the open file */
    bool follows;             /* it may grow: the line at its end is held back until it has its line end */
    struct file_stream *stream;
    bool stream_ended;
    struct vector *constants; /* per output column that is one, a row */
    char label[512];
    struct buffer *blocks[BLOCKS_KEPT]; /* the current one is among them */
    struct buffer *block;
    char *bytes;
    size_t used, filled, capacity;
    bool starved;      /* the rest of the block is no whole record */
    uint32_t returned; /* rows of the record at `used` that were given already */
    int64_t rows;
    bool led; /* a followed folder: only `part` is read (connectors/source.h) */
    struct text_builder part;
};

/* filesystem_reader.c */
enum status filesystem_reader_open(struct source *source, uint32_t partition, struct reader **reader, struct error *err);
void filesystem_reader_close(struct reader *reader);
enum status filesystem_read(struct reader *reader, uint32_t row_limit, struct batch *batch, enum read_state *state, int64_t *wait_us,
                            struct error *err);
/* Begins the file, where it was left. */
enum status filesystem_open_file(struct filesystem_reader *self, struct file_entry *entry, struct error *err);
/* At most row_limit rows of the open file; it is closed at its end. 0 rows: batch is empty. */
enum status filesystem_read_file(struct filesystem_reader *self, uint32_t row_limit, struct batch *batch, struct error *err);
/* A followed folder: what is there now. */
enum status filesystem_scan(struct filesystem_reader *self, struct error *err);
const char *filesystem_relative_path(const struct filesystem_source *source, const char *path);

/* file_piece.c: which piece a file is of (connectors/source.h).
 *
 *      key % pieces, the key of a file being made of the values in its folders (a table that is PARTITIONED BY columns: equal values, in
 *      whatever spelling, have equal keys), or of its path below the table's folder. Numbers count as they are, so that files and
 *      values that are numbered are dealt out in turn; all else is hashed. Never by its place in a list: lists differ while files come. */
enum status filesystem_keep_piece(const struct filesystem_source *source, struct file_list *list, struct error *err); /* drops all others */
enum status filesystem_divide(struct source *source, struct source_division *division, struct error *err);

enum status filesystem_leave_file(struct filesystem_reader *self, struct error *err); /* it was read as far as it goes */
enum status filesystem_record_progress(struct filesystem_reader *self, const struct file_entry *entry, struct error *err);

/* filesystem_lead.c: a followed folder. */
enum status filesystem_turn_to_part(struct filesystem_reader *self, struct error *err); /* not there yet: self->stream stays NULL */
enum status filesystem_lead(struct reader *reader, const struct text *part, struct error *err);
enum status filesystem_present(struct reader *reader, const struct source_position *from, struct text_builder *told, struct error *err);

/* filesystem_position.c */
uint64_t filesystem_list_hash(const struct filesystem_source *source, size_t count); /* of the paths of the list's first files */
enum status filesystem_position(struct reader *reader, struct text_builder *place, struct error *err);
enum status filesystem_history(struct reader *reader, struct text_builder *out, struct error *err);
enum status filesystem_seek(struct reader *reader, const struct source_position *position, struct error *err);

#endif
