/* The subcommands of holdpoint, one file each (cmd_NAME.c). argv[0] is the subcommand's name; the
 * result is the program's exit status. */
#ifndef HOLDPOINT_COMMANDS_H
#define HOLDPOINT_COMMANDS_H

int cmd_collect(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_exec(int argc, char **argv);
int cmd_hooks(int argc, char **argv);
int cmd_plan(int argc, char **argv);
int cmd_rank(int argc, char **argv);
int cmd_run(int argc, char **argv);

#endif
