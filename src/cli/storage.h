/* cli/storage.h: `spate storage`: looking at and tending what jobs keep.
 *
 * For         ls, cat, put, rm, gc, fsck, grant, audit, access-plan; one table, from which help and parsing come.
 * Rules       What was asked for is on standard output, a line each ("key<TAB>about", or JSON with --json); sums and errors on standard
 *             error. Exit: 0 done, 1 refused, failed or (fsck) damaged, 2 usage, 3 the storage cannot be reached.
 */
#ifndef SPATE_CLI_STORAGE_H
#define SPATE_CLI_STORAGE_H

int storage_command(int argc, char **argv);

#endif
