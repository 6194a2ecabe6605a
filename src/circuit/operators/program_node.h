/* circuit/operators/program_node.h: a program's own code as an operator (include/spate/task.h).
 *
 * For         api/program.c, which stands between this node and the functions of a program.
 * Shape       One node for the program, with a state table for each that it declares, timers, and a note of the inputs that have ended;
 *             and one node for each output, which collects rows into batches and passes them on.
 * Calls       `open` comes before the first of the others, when the state is there; `close` after the last, if open succeeded. In finish_tick:
 *             settle, window, then timers by the clock, then timers by the watermark, then the inputs that have ended; when the tick ends the job because
 *             the program wanted it (circuit->ends), none.
 * Ownership   A host lives longer than the circuit.
 * Threads     The circuit's worker; a job with a program has one.
 */
#ifndef SPATE_CIRCUIT_OPERATORS_PROGRAM_NODE_H
#define SPATE_CIRCUIT_OPERATORS_PROGRAM_NODE_H

#include "circuit/operators/program_table.h"

struct program_host {
    void *context;
    enum status (*open)(void *context, struct node *program, struct error *err);
    enum status (*rows)(void *context, uint32_t input, const struct batch *batch, struct error *err); /* dense */
    enum status (*settle)(void *context, struct error *err);                                          /* all rows of the tick are there */
    enum status (*window)(void *context, struct error *err);
    enum status (*timer)(void *context, bool watermark, int64_t time_ms, struct text key, struct error *err);
    enum status (*ended)(void *context, uint32_t input, struct error *err);
    void (*committed)(void *context, uint64_t checkpoint);
    void (*close)(void *context);
};

/* Opens it, if nothing has yet. */
enum status program_node_open(struct node *program, struct error *err);
int64_t program_node_watermark(const struct node *program); /* of all inputs */
struct program_table *program_node_table(struct node *program, uint32_t number);
enum status program_node_set_timer(struct node *program, bool watermark, int64_t time_ms, struct text key, struct error *err);
enum status program_node_cancel_timer(struct node *program, bool watermark, struct text key, struct error *err);
struct node *program_node_output(struct node *program, uint32_t number);
void program_node_connect(struct node *program, uint32_t number, struct node *output); /* when the output is made */
enum status program_output_row(struct node *output, const struct spate_cell *cells, uint32_t count, struct error *err);
/* Takes the array. */
struct ArrowArray;
struct ArrowSchema;
enum status program_output_arrow(struct node *output, const struct ArrowSchema *schema, struct ArrowArray *array, struct error *err);

#endif
