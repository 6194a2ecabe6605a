/* job/file_relay.h: files of a checkpoint that all workers want come from the storage once, and are summed once.
 *
 * For         job/job_state.c: a restore with several workers. Each decodes what it gets itself.
 * Shape       All ask for the same files in the same order. Who is the first to ask for the next one has the relay's thread read it; its
 *             bytes go in pieces through a short ring, from which every worker takes each of them.
 * Errors      What the reading says, every worker hears. One that fails leaves, and the others go on.
 * Threads     Each worker has its own number. One that joins too late, for it got no thread of its own, reads by itself.
 */
#ifndef SPATE_JOB_FILE_RELAY_H
#define SPATE_JOB_FILE_RELAY_H

#include "job/job_state.h"

struct file_relay;
/* image: read by the relay's thread; it outlives the relay. */
enum status file_relay_open(const struct job_image *image, uint32_t workers, struct file_relay **relay, struct error *err);
void file_relay_close(struct file_relay *relay); /* all have left; NULL is allowed */
/* Before the first file, and after the last or an error. */
void file_relay_join(struct file_relay *relay, uint32_t worker);
void file_relay_leave(struct file_relay *relay, uint32_t worker);
/* As job_image.read. After an error nothing but file_relay_leave. */
enum status file_relay_read(struct file_relay *relay, uint32_t worker, uint32_t chain, uint32_t file, const struct object_sink *sink,
                            struct error *err);

#endif
