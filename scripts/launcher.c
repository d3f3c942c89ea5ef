/* The command hotenv: becomes "python -I hotenv-main", with the environment as it is.
 *
 * Only options on its command line keep Python from loading what PYTHONPATH and the like name, and
 * installers keep none that the first line of a script has. A shell could give them, but no shell
 * hands on its environment byte for byte: hence a program.
 *
 * The interpreter is the one that the installer put into the first line of the script hotenv-main,
 * beside this program.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LONGEST 4096 /* PATH_MAX of Linux */
#define SYSTEM_FAILURE 8 /* hotenv help exit-codes */

static int fail(const char *what, const char *path)
{
    dprintf(2, "hotenv: cannot %s %s: %s\n", what, path, strerror(errno));
    return SYSTEM_FAILURE;
}

/* The interpreter that the first lines of a script name, which are cut to pieces; NULL if none. */
static char *interpreter(char *lines)
{
    char *path = lines + strlen("#!"), *end;

    if (strncmp(lines, "#!/bin/sh\n", 10) == 0) {
        /* What installers write for a path that is long or has a space:
         * '''exec' "/the path" "$0" "$@" */
        path = strstr(lines, "exec' ");
        if (path == NULL)
            return NULL;
        path += strlen("exec' ");
        end = *path == '"' || *path == '\'' ? strchr(path + 1, *path) : strstr(path, " \"$0\"");
        path += *path == '"' || *path == '\'';
    } else
        end = strchr(lines, '\n');
    if (end == NULL || *path != '/')
        return NULL;
    *end = '\0';
    end = strstr(strrchr(path, '/'), " -"); /* pipx adds -E */
    if (end != NULL)
        *end = '\0';
    return path;
}

int main(int argc, char **argv)
{
    static char script[LONGEST + sizeof "-main"], beside[LONGEST + sizeof "python"];
    static char lines[2 * LONGEST];
    sigset_t interrupt, before;
    char **words, *python;
    struct stat input;
    ssize_t length;
    int file;

    /* Python dies of it before it can say so in words. */
    if (fstat(0, &input) == 0 && S_ISDIR(input.st_mode)) {
        dprintf(2, "hotenv: standard input is a directory: use a file or a pipe\n");
        return SYSTEM_FAILURE;
    }

    /* Where this file is: all links are resolved. */
    length = readlink("/proc/self/exe", script, LONGEST);
    if (length < 0)
        return fail("read", "/proc/self/exe");
    strcpy(beside, script);
    strcpy(strrchr(beside, '/') + 1, "python");
    strcpy(strrchr(script, '/') + 1, "hotenv-main");

    file = open(script, O_RDONLY | O_CLOEXEC);
    if (file < 0 || read(file, lines, sizeof lines - 1) < 0)
        return fail("read", script);
    close(file);
    python = interpreter(lines);
    if (python == NULL) /* as in a relocatable environment of uv, where it is calculated */
        python = beside;

    words = calloc((size_t)argc + 4, sizeof *words);
    if (words == NULL)
        return fail("start", python);
    words[0] = python;
    words[1] = "-I";
    words[2] = script;
    if (argc > 1)
        memcpy(words + 3, argv + 1, ((size_t)argc - 1) * sizeof *words);

    /* An interrupt would be a traceback of Python's start: hotenv-main lets it through. */
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    sigprocmask(SIG_BLOCK, &interrupt, &before);
    if (!sigismember(&before, SIGINT))
        words[1] = "-IXsigint";

    execv(python, words);
    return fail("start", python);
}
