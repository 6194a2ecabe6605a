/* cli/driver_test.h: `spate test-driver URI`: the suite of drivers of coordination, on any that can be opened.
 */
#ifndef SPATE_CLI_DRIVER_TEST_H
#define SPATE_CLI_DRIVER_TEST_H

int command_test_driver(int argc, char **argv);

#endif
