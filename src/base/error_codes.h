/* base/error_codes.h: every error a person can meet: name, number for ever, status, SQLSTATE, what to do.
 *
 * For         `spate errors`, messages, tests. One list; nothing else names a number.
 * Invariants  Numbers are never reused. 1000: SQL text, names, types; 2000: values; 3000: sources, files, formats;
 *             4000: sinks; 5000: limits; 6000: jobs and sessions; 7000: stores and modules (7200: the control log);
 *             9000: faults of ours. Within a range, add at its end.
 */
#ifndef SPATE_BASE_ERROR_CODES_H
#define SPATE_BASE_ERROR_CODES_H

#define ERROR_LIST(X)                                                                                                                      \
    X(SYNTAX, 1001, INVALID_SQL, "42601", "correct the statement at the marked place")                                                     \
    X(NOT_SUPPORTED, 1002, UNSUPPORTED, "0A000", "rewrite the statement without it; README lists what is supported")                       \
    X(INVALID_LITERAL, 1003, INVALID_SQL, "42601", "correct the literal")                                                                  \
    X(UNKNOWN_TABLE, 1040, INVALID_SQL, "42P01", "create the table or use one that SHOW TABLES lists")                                     \
    X(UNKNOWN_FUNCTION, 1041, INVALID_SQL, "42883", "use a function that `spate functions` lists")                                         \
    X(UNKNOWN_COLUMN, 1042, INVALID_SQL, "42703", "use one of the columns that are listed")                                                \
    X(AMBIGUOUS_COLUMN, 1043, INVALID_SQL, "42702", "write the table's name or alias before the column")                                   \
    X(TYPE_MISMATCH, 1044, INVALID_SQL, "42804", "CAST one side to the type of the other")                                                 \
    X(WRONG_ARGUMENTS, 1045, INVALID_SQL, "42883", "see `spate functions NAME` for the arguments it takes")                                \
    X(NOT_GROUPED, 1046, INVALID_SQL, "42803", "add the column to GROUP BY or put it into an aggregate")                                   \
    X(ALREADY_EXISTS, 1047, INVALID_SQL, "42P07", "choose another name, drop it first, or write IF NOT EXISTS")                            \
    X(INVALID_DEFINITION, 1048, INVALID_SQL, "42611", "correct the definition")                                                            \
    X(INVALID_WINDOW, 1049, INVALID_SQL, "42P20", "correct the window's arguments")                                                        \
    X(INVALID_QUERY, 1050, INVALID_SQL, "42601", "correct the query")                                                                      \
    X(CHANGELOG_REFUSED, 1051, INVALID_SQL, "0A000", "give the sink a primary key or a format that holds changes")                         \
    X(UNKNOWN_OPTION, 1060, INVALID_OPTION, "42000", "use one of the options that are listed")                                             \
    X(INVALID_OPTION, 1061, INVALID_OPTION, "22023", "correct the option's value")                                                         \
    X(MISSING_OPTION, 1062, INVALID_OPTION, "42000", "add the option to WITH (...)")                                                       \
    X(UNKNOWN_CONNECTOR, 1063, INVALID_OPTION, "42000", "use one that `spate connectors` lists")                                           \
    X(UNKNOWN_FORMAT, 1064, INVALID_OPTION, "42000", "use one that `spate formats` lists")                                                 \
    X(VALUE_OUT_OF_RANGE, 2001, BAD_VALUE, "22003", "use a wider type, or TRY_CAST for NULL")                                              \
    X(DIVISION_BY_ZERO, 2002, BAD_VALUE, "22012", "guard it: CASE WHEN b <> 0 THEN a / b END")                                             \
    X(INVALID_CAST, 2003, BAD_VALUE, "22018", "use TRY_CAST to get NULL for such values")                                                  \
    X(INVALID_ARGUMENT, 2004, BAD_VALUE, "22023", "see `spate functions NAME` for the values it takes")                                    \
    X(SUM_OVERFLOW, 2005, BAD_VALUE, "22003", "CAST the argument to a wider type, or SET 'table.exec.sum-overflow' = 'wrap'")              \
    X(PATTERN_TOO_COSTLY, 2006, BAD_VALUE, "54001", "simplify the regular expression")                                                     \
    X(CARDINALITY, 2007, BAD_VALUE, "21000", "make the subquery return one row, with an aggregate or LIMIT 1")                             \
    X(NULL_NOT_ALLOWED, 2008, BAD_VALUE, "23502", "filter the NULLs out, or make the column nullable")                                     \
    X(RECORD_UNREADABLE, 3001, BAD_RECORD, "22000", "correct the record, or set 'scan.error-policy' to skip or dead-letter")               \
    X(RECORD_TOO_LONG, 3002, BAD_RECORD, "22001", "correct the record, or set 'scan.error-policy' to skip or dead-letter")                 \
    X(FILE_UNREADABLE, 3007, UNAVAILABLE, "58030", "check the path and its permissions")                                                   \
    X(TIME_IN_FUTURE, 3008, BAD_RECORD, "22008", "correct the record's time, or raise 'scan.watermark.max-future-skew'")                   \
    X(POSITION_LOST, 3009, INVALID_OPTION, "55000", "bring the input back as it was, or start the job anew without its saved state")       \
    X(FILE_UNWRITABLE, 4001, UNAVAILABLE, "58030", "check the path, its permissions and the free space")                                   \
    X(VALUE_UNWRITABLE, 4002, BAD_VALUE, "22000", "CAST the column to a type that the format or interface can hold")                       \
    X(OUTPUT_LOST, 4003, INVALID_OPTION, "55000", "bring the file back as it was, or start the job anew without its saved state")          \
    X(BUDGET_SPENT, 5001, NO_MEMORY, "53200", "raise taskmanager.memory.process.size")                                                     \
    X(TOO_DEEP, 5002, LIMIT, "54001", "nest less deeply")                                                                                  \
    X(TOO_MANY, 5003, LIMIT, "54000", "use fewer")                                                                                         \
    X(CANCELLED, 6001, CANCELLED, "57014", "run it again if that was not intended")                                                        \
    X(MISUSE, 6002, INVALID_OPTION, "55000", "see include/spate/spate.h for the order of calls")                                           \
    X(THREAD, 6003, UNAVAILABLE, "53000", "lower parallelism.default or raise the limit of threads")                                       \
    X(STATE_CORRUPT, 6004, CORRUPT, "XX001", "restore an older checkpoint or a savepoint")                                                 \
    X(STATE_MISFIT, 6005, INVALID_SQL, "55000", "run the SQL that wrote the state, or start anew with --fresh")                            \
    X(JOB_TAKEN, 6006, FENCED, "55006", "stop the other process, or wait for it with --standby")                                           \
    X(STATE_UNSUPPORTED, 6007, UNSUPPORTED, "0A000", "run the job without checkpoints")                                                    \
    X(UNKNOWN_JOB, 6008, INVALID_OPTION, "02000", "use a job that `spate job list` shows")                                                 \
    X(STATE_DISK, 6009, FULL, "53100", "free space on the local disk, or set state.backend.rocksdb.localdir; then run the job again")      \
    X(UNKNOWN_NAME, 6010, INVALID_OPTION, "42704", "use a name that the same command lists when it is given none")                         \
    X(TASK_FAILED, 6011, BAD_VALUE, "P0001", "see what the program says; correct its input, or the program")                               \
    X(TASK_WRONG, 6012, INVALID_OPTION, "P0001", "see what the program says; correct its settings, or the program")                        \
    X(TASK_LIMIT, 6013, LIMIT, "54000", "see what the program says; give it more of what it lacks")                                        \
    X(TASK_UNAVAILABLE, 6014, UNAVAILABLE, "58030", "see what the program says; the job is started again as 'restart-strategy' says")      \
    X(STORE_DENIED, 7001, DENIED, "42501", "check the credentials and their rights on the store")                                          \
    X(STORE_UNAVAILABLE, 7002, UNAVAILABLE, "58030", "check that the store is there and answers; then try again")                          \
    X(STORE_CORRUPT, 7003, CORRUPT, "XX001", "keep the object for inspection, and restore it from elsewhere")                              \
    X(STORE_FULL, 7004, FULL, "53100", "free space or raise the quota; what was there is unchanged")                                       \
    X(STORE_URI, 7005, INVALID_OPTION, "22023", "write it like file:///dir, azure://account/container/prefix or s3://bucket/prefix")       \
    X(STORE_KEY, 7006, INVALID_OPTION, "22023", "use UTF-8 parts separated by single slashes, 900 bytes in all")                           \
    X(STORE_CLOCK, 7007, DENIED, "22008", "set this machine's clock (or the server's) right")                                              \
    X(STORE_UNABLE, 7008, UNSUPPORTED, "0A000", "use a store that can do it; docs/storage.md says which")                                  \
    X(MODULE_MISSING, 7009, UNSUPPORTED, "0A000", "install the package, build the target, or set SPATE_MODULE_PATH")                       \
    X(MODULE_REFUSED, 7010, UNSUPPORTED, "58P01", "install program and modules from the same build")                                       \
    X(STORE_MISSING, 7011, CORRUPT, "58P01", "restore what is named, or go back to an older checkpoint or savepoint")                      \
    X(STORE_CONFLICT, 7012, FENCED, "40001", "another process has written it: read it again, then decide")                                 \
    X(STORE_NO_SUCH_KEY, 7013, INVALID_OPTION, "42704", "use one that `spate storage ls` lists")                                           \
    X(STORE_REFUSED, 7014, UNSUPPORTED, "0A000", "see `spate storage help` for what can be put and removed")                               \
    X(STORE_OPTION, 7015, INVALID_OPTION, "42000", "SET it, give it with --set KEY=VALUE, or set the environment")                         \
    X(CLUSTER_URI, 7101, INVALID_OPTION, "22023",                                                                                          \
      "write it like local:///dir, zookeeper://host:2181/name or azure://account/container/name")                                          \
    X(CLUSTER_NAME, 7102, INVALID_OPTION, "22023", "use UTF-8 parts separated by single slashes, 600 bytes in all, and values of 64 KiB")  \
    X(CLUSTER_UNAVAILABLE, 7103, UNAVAILABLE, "58030", "check that the coordination service is there and answers; then try again")         \
    X(CLUSTER_DENIED, 7104, DENIED, "42501", "check the credentials and their rights on the coordination service")                         \
    X(CLUSTER_LEASE, 7105, INVALID_OPTION, "22023", "set lease.ttl and the service's own limit so that they agree")                        \
    X(CLUSTER_UNFIT, 7106, UNSUPPORTED, "0A000", "use a service or file system that keeps what docs/cluster.md asks of it")                \
    X(CLUSTER_LATCH, 7107, INVALID_OPTION, "22023", "open it with the count it was made with, from 1 to 256, or remove it first")          \
    X(CTL_UNKNOWN_VERB, 7201, INVALID_OPTION, "42883", "use a verb that `spate ctl verbs` lists")                                          \
    X(CTL_BAD_ARGUMENTS, 7202, INVALID_OPTION, "22023", "correct the arguments that are named; see `spate ctl verbs VERB`")                \
    X(CTL_TOO_LARGE, 7203, LIMIT, "54000", "put the body into the storage, and its hash or name into the edit")                            \
    X(CTL_NO_GROUND, 7204, UNSUPPORTED, "0A000", "nothing was changed: do it another way, or restart the job with what it needs")          \
    X(CTL_MEMBER_UNABLE, 7205, UNSUPPORTED, "0A000", "upgrade or stop the processes that are named, then propose it again")                \
    X(CTL_EXPECTED_OTHER, 7206, INVALID_OPTION, "40001", "look at what has changed since, then propose it again")                          \
    X(CTL_KEY_REUSED, 7207, INVALID_OPTION, "23505", "give a new edit a new key")                                                          \
    X(CTL_NOT_PERMITTED, 7208, DENIED, "42501", "ask who may grant the right on this job")                                                 \
    X(CTL_EXPIRED, 7209, UNAVAILABLE, "57014", "see that the job has a leader, then propose it again")                                     \
    X(INTERNAL, 9001, INTERNAL, "XX000", "report it with the statement and the message")

#define X(name, number, status, sqlstate, remedy) ERROR_##name = (number),
enum error_code { ERROR_NONE = 0, ERROR_LIST(X) };
#undef X

#endif
