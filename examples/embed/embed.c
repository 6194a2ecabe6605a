/* Spate in a C program: a table fed from memory, a query that never ends until the feed does, results as Arrow batches.
 *
 * Build: cc embed.c $(pkg-config --cflags --libs spate)
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <spate/spate.h>

/* ---- an Arrow struct array of (sensor BIGINT, celsius DOUBLE), over plain C arrays ---- */

struct readings {
    const void *struct_buffers[1], *sensor_buffers[2], *celsius_buffers[2];
    struct ArrowArray sensor, celsius, *children[2];
};

static void release_child(struct ArrowArray *array)
{
    array->release = NULL;
}

static void release_readings(struct ArrowArray *array)
{
    for (int64_t i = 0; i < array->n_children; i++) {
        if (array->children[i]->release != NULL) {
            array->children[i]->release(array->children[i]);
        }
    }
    free(array->private_data);
    array->release = NULL;
}

static int make_readings(const int64_t *sensors, const double *celsius, int64_t count, struct ArrowArray *array)
{
    struct readings *readings = calloc(1, sizeof *readings);
    if (readings == NULL) {
        return 1;
    }
    readings->sensor_buffers[1] = sensors;
    readings->celsius_buffers[1] = celsius;
    readings->sensor = (struct ArrowArray){.length = count, .n_buffers = 2, .buffers = readings->sensor_buffers, .release = release_child};
    readings->celsius =
        (struct ArrowArray){.length = count, .n_buffers = 2, .buffers = readings->celsius_buffers, .release = release_child};
    readings->children[0] = &readings->sensor;
    readings->children[1] = &readings->celsius;
    *array = (struct ArrowArray){.length = count,
                                 .n_buffers = 1,
                                 .buffers = readings->struct_buffers,
                                 .n_children = 2,
                                 .children = readings->children,
                                 .release = release_readings,
                                 .private_data = readings};
    return 0;
}

/* ---- the program ---- */

static int fail(const spate_session *session)
{
    const struct spate_error *error = spate_session_error(session);
    fprintf(stderr, "error SPATE-%" PRIu32 ": %s\n", error->code, error->text);
    return 1;
}

static int print_row(void *context, int kind, uint32_t column_count, const char *const *values, const size_t *lengths)
{
    static const char *const kinds[] = {"+I", "-U", "+U", "-D"};
    (void)context;
    (void)lengths;
    printf("%s", kinds[kind]);
    for (uint32_t i = 0; i < column_count; i++) {
        printf(" %s", values[i] == NULL ? "NULL" : values[i]);
    }
    printf("\n");
    return 0;
}

static int print_results(spate_session *session, spate_result *result)
{
    for (int step = SPATE_STEP_WORKED; step == SPATE_STEP_WORKED;) {
        int64_t rows = 1;
        if (spate_result_step(result, 0, &step) != SPATE_OK) {
            return fail(session);
        }
        while (rows > 0) {
            if (spate_result_next_text(result, print_row, NULL, &rows) != SPATE_OK) {
                return fail(session);
            }
        }
    }
    return 0;
}

int main(void)
{
    static const int64_t sensors[] = {1, 2, 1, 1, 2};
    static const double celsius[] = {20.5, 18.0, 21.5, 22.0, 17.0};
    static const char query[] = "SELECT sensor, COUNT(*), MAX(celsius) FROM readings GROUP BY sensor";
    spate_session *session;
    spate_feed *feed = NULL;
    spate_result *result = NULL;
    struct ArrowArray batch;
    size_t offset = 0;
    if (spate_session_open(NULL, &session) != SPATE_OK ||
        spate_feed_open(session, "readings", "sensor BIGINT, celsius DOUBLE", 1, &feed) != SPATE_OK ||
        spate_execute(session, query, strlen(query), &offset, &result) != SPATE_OK) {
        return fail(session);
    }
    int code = 0;
    for (int64_t from = 0; from < 5 && code == 0; from += 3) { /* two batches: the second changes the first one's answer */
        int64_t count = from + 3 <= 5 ? 3 : 5 - from;
        code = make_readings(sensors + from, celsius + from, count, &batch);
        if (code == 0 && spate_feed_push(feed, 0, &batch) != SPATE_OK) {
            code = fail(session);
        }
        code = code == 0 ? print_results(session, result) : code;
    }
    if (code == 0 && spate_feed_end(feed) == SPATE_OK) {
        code = print_results(session, result);
    }
    spate_result_close(result);
    spate_feed_close(feed);
    spate_session_close(session);
    return code;
}
