/* Arrow arrays into a feed: cut into chunks when they are pushed; their strings are not copied. */
#include "connectors/feed.h"

#include "connectors/feed_queue.h"
#include "data/arrow.h"

static enum status push_chunks(struct feed *feed, uint32_t partition, struct arrow_import *import, struct error *err)
{
    for (;;) {
        struct batch batch = {0};
        TRY(arrow_import_next(import, feed_budget(feed), CHUNK_ROWS, &batch, err));
        if (batch.count == 0) {
            batch_release(&batch);
            return STATUS_OK;
        }
        TRY(feed_push_batch(feed, partition, &batch, err));
    }
}

enum status feed_push(struct feed *feed, uint32_t partition, struct ArrowArray *array, struct error *err)
{
    struct ArrowSchema schema;
    struct arrow_import *import = NULL;
    enum status status = arrow_export_schema(feed_row(feed), &schema, err);
    if (status == STATUS_OK) {
        status = arrow_import_open(feed_row(feed), &schema, array, &import, err);
        schema.release(&schema);
    }
    if (status == STATUS_OK) {
        status = push_chunks(feed, partition, import, err);
        arrow_import_close(import);
    }
    if (array->release != NULL) {
        array->release(array);
    }
    return status;
}
