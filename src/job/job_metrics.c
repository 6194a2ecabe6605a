#include "job/job_metrics.h"

#include "job/job_internal.h"

static const struct {
    const char *name, *summary;
} metrics[] = {
#define X(field, name, summary) [JOB_METRIC_##field] = {name, summary},
    JOB_METRIC_LIST(X)
#undef X
};

const char *job_metric_name(enum job_metric metric)
{
    return metrics[metric].name;
}

const char *job_metric_summary(enum job_metric metric)
{
    return metrics[metric].summary;
}

bool job_operator_read(const struct job *job, uint32_t *position, struct job_operator *read)
{
    const struct circuit *first = job->workers[0].circuit; /* all workers have the same nodes in the same order */
    while (*position < first->node_count && first->nodes[*position]->id == NULL) {
        (*position)++;
    }
    if (*position == first->node_count) {
        return false;
    }
    *read = (struct job_operator){.id = first->nodes[*position]->id};
    for (uint32_t i = 0; i < job->worker_count; i++) {
        const struct node_metrics *one = &job->workers[i].circuit->nodes[*position]->metrics;
        read->metrics.rows_in += one->rows_in;
        read->metrics.rows_out += one->rows_out;
        read->metrics.late += one->late;
        read->metrics.null_time += one->null_time;
        read->metrics.state_keys += one->state_keys;
        read->metrics.state_bytes += one->state_bytes;
        read->metrics.state_cold_keys += one->state_cold_keys;
        read->metrics.state_hits += one->state_hits;
        read->metrics.state_misses += one->state_misses;
        read->metrics.state_absent += one->state_absent;
        read->metrics.state_spilled += one->state_spilled;
        read->metrics.state_spilled_bytes += one->state_spilled_bytes;
    }
    (*position)++;
    return true;
}
