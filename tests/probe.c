/* Tries one thing that a guard may forbid: exits with 0 if it worked, else with errno.

   Each name is that of a line in the tables of tests/test_guard_*_process.py. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

static char **words;

static int number(int at) { return atoi(words[at]); }

static struct sockaddr_in internet(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(number(2))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

static socklen_t unix_address(struct sockaddr_un *address, const char *path) {
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    strncpy(address->sun_path, path, sizeof address->sun_path - 1);
    socklen_t size = offsetof(struct sockaddr_un, sun_path) + strlen(path);
    if (path[0] == '@') { address->sun_path[0] = 0; return size; }
    return size + 1;
}

static int tcp(int family, int protocol) {
    struct sockaddr_in address = internet();
    int one = socket(family, SOCK_STREAM, protocol);
    if (one < 0) return -1;
    if (connect(one, (void *)&address, sizeof address)) return -1;
    return send(one, "x", 1, 0) < 0 ? -1 : 0;
}

static int udp(const char *how) {
    struct sockaddr_in address = internet();
    struct iovec part = {"x", 1};
    struct mmsghdr message = {.msg_hdr = {.msg_name = &address, .msg_namelen = sizeof address,
                                          .msg_iov = &part, .msg_iovlen = 1}};
    int one = socket(AF_INET, SOCK_DGRAM, 0);
    if (one < 0) return -1;
    if (!strcmp(how, "sendto")) return sendto(one, "x", 1, 0, (void *)&address, sizeof address) < 0 ? -1 : 0;
    if (!strcmp(how, "sendmsg")) return sendmsg(one, &message.msg_hdr, 0) < 0 ? -1 : 0;
    if (!strcmp(how, "sendmmsg")) return sendmmsg(one, &message, 1, 0) < 0 ? -1 : 0;
    if (connect(one, (void *)&address, sizeof address)) return -1;
    return write(one, "x", 1) < 0 ? -1 : 0;
}

static int fast_open(void) {
    struct sockaddr_in address = internet();
    int one = socket(AF_INET, SOCK_STREAM, 0);
    return sendto(one, "x", 1, MSG_FASTOPEN, (void *)&address, sizeof address) < 0 ? -1 : 0;
}

static int make_socket(void) {
    return socket(number(2), number(3), number(4)) < 0 ? -1 : 0;
}

static int listening(void) {
    return listen(socket(AF_INET, SOCK_STREAM, 0), 1);
}

static int bound(void) {
    struct sockaddr_in address = internet();
    address.sin_addr.s_addr = 0;
    return bind(socket(AF_INET, SOCK_STREAM, 0), (void *)&address, sizeof address);
}

static int multicast(void) {
    struct ip_mreq request = {.imr_multiaddr.s_addr = inet_addr("224.0.0.251"),
                              .imr_interface.s_addr = htonl(INADDR_LOOPBACK)};
    return setsockopt(socket(AF_INET, SOCK_STREAM, 0), IPPROTO_IP, IP_ADD_MEMBERSHIP, &request,
                      sizeof request);
}

/* Two threads: one exchanges the address while the other connects. */
static struct sockaddr_un decent, wanted, shared;
static volatile int stop;

static void *exchange(void *unused) {
    (void)unused;
    while (!stop) {
        shared = wanted;
        for (volatile int wait = 0; wait < 300; wait++) continue;
        shared = decent;
        for (volatile int wait = 0; wait < 300; wait++) continue;
    }
    return NULL;
}

static int race(void) {
    pthread_t other;
    socklen_t size = unix_address(&wanted, words[2]);
    decent = wanted;
    strcpy(decent.sun_path, "/nonexistent");
    struct sockaddr_in *inet_decent = (void *)&decent;
    if (number(3)) { inet_decent->sin_family = AF_INET; inet_decent->sin_port = htons(1); }
    pthread_create(&other, NULL, exchange, NULL);
    for (int round = 0; round < number(4); round++) {
        int one = socket(AF_UNIX, SOCK_STREAM, 0);
        if (one < 0) return -1;
        if (!connect(one, (void *)&shared, size)) return 0;
        close(one);
    }
    stop = 1;
    pthread_join(other, NULL);
    errno = EPERM;
    return -1;
}

/* The same with addresses of the internet: words are host and port of both, and rounds. */
static struct sockaddr_in inet_decent, inet_wanted, inet_shared;

static void *exchange_internet(void *unused) {
    (void)unused;
    while (!stop) {
        inet_shared = inet_wanted;
        for (volatile int wait = 0; wait < 300; wait++) continue;
        inet_shared = inet_decent;
        for (volatile int wait = 0; wait < 300; wait++) continue;
    }
    return NULL;
}

/* A socket for UDP sends nothing when it is connected; it says where it would. */
static int reach_connected(void) {
    struct sockaddr_in peer = {0};
    socklen_t size = sizeof peer;
    int one = socket(AF_INET, SOCK_DGRAM, 0);
    connect(one, (void *)&inet_shared, sizeof inet_shared);
    int failed = getpeername(one, (void *)&peer, &size);
    close(one);
    return !failed && peer.sin_addr.s_addr == inet_wanted.sin_addr.s_addr;
}

static int reach_internet(void) {
    if (!strcmp(words[1], "race connected")) return reach_connected();
    if (!strcmp(words[1], "race internet")) {
        int one = socket(AF_INET, SOCK_STREAM, 0);
        int failed = connect(one, (void *)&inet_shared, sizeof inet_shared);
        close(one);
        return !failed;
    }
    static int datagrams = -1;
    struct iovec part = {"x", 1};
    struct msghdr message = {.msg_name = &inet_shared, .msg_namelen = sizeof inet_shared,
                             .msg_iov = &part, .msg_iovlen = 1};
    if (datagrams < 0) datagrams = socket(AF_INET, SOCK_DGRAM, 0);
    sendmsg(datagrams, &message, 0);
    return 0; /* Who has got it knows. */
}

static int race_internet(void) {
    pthread_t other;
    inet_wanted.sin_family = AF_INET;
    inet_decent.sin_family = strcmp(words[2], "-") ? AF_INET : AF_INET6; /* Of no such socket. */
    inet_decent.sin_addr.s_addr = inet_addr(words[2]);
    inet_decent.sin_port = htons(number(3));
    inet_wanted.sin_addr.s_addr = inet_addr(words[4]);
    inet_wanted.sin_port = htons(number(5));
    inet_shared = inet_decent; /* Until the other begins: no family at all would be a success. */
    pthread_create(&other, NULL, exchange_internet, NULL);
    for (int round = 0; round < number(6); round++) {
        if (reach_internet()) return 0;
    }
    stop = 1;
    pthread_join(other, NULL);
    errno = EPERM;
    return -1;
}

static int unix_connect(int type) {
    struct sockaddr_un address;
    socklen_t size = unix_address(&address, words[2]);
    int one = socket(AF_UNIX, type, 0);
    if (one < 0 || connect(one, (void *)&address, size)) return -1;
    return send(one, "x", 1, MSG_NOSIGNAL) < 0 ? -1 : 0;
}

static int unix_bind(void) {
    struct sockaddr_un address;
    socklen_t size = unix_address(&address, words[2]);
    int one = socket(AF_UNIX, SOCK_STREAM, 0);
    return one < 0 || bind(one, (void *)&address, size) || listen(one, 1) ? -1 : 0;
}

static int pair_to(void) {
    struct sockaddr_un address;
    socklen_t size = unix_address(&address, words[2]);
    int two[2];
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, two)) return -1;
    return sendto(two[0], "x", 1, 0, (void *)&address, size) < 0 ? -1 : 0;
}

static int datagram_to(void) {
    struct sockaddr_un address;
    socklen_t size = unix_address(&address, words[2]);
    int one = socket(AF_UNIX, SOCK_DGRAM, 0);
    return one < 0 || sendto(one, "x", 1, 0, (void *)&address, size) < 0 ? -1 : 0;
}

static int x32(void) { return syscall(__NR_getpid | 0x40000000) < 0 ? -1 : 0; }

static int old_call(void) {
#ifdef __x86_64__
    int result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(20) : "memory"); /* getpid */
    return result > 0 ? 0 : -1;
#else
    errno = ENOSYS;
    return -1;
#endif
}

static int child(int flags) {
    int pid = syscall(__NR_clone, flags, 0, 0, 0, 0);
    if (pid == 0) _exit(0);
    return pid < 0 ? -1 : 0;
}

static void *nothing(void *unused) { return unused; }

static int thread(void) {
    pthread_t other;
    errno = pthread_create(&other, NULL, nothing, NULL);
    if (errno) return -1;
    cpu_set_t set;
    pthread_getaffinity_np(other, sizeof set, &set);
    errno = pthread_setaffinity_np(pthread_self(), sizeof set, &set);
    pthread_join(other, NULL);
    return errno ? -1 : 0;
}

static int exec_true(void) {
    char *arguments[] = {"true", NULL};
    execve("/bin/true", arguments, NULL);
    return -1;
}

static int exec_memory(void) {
    int memory = memfd_create("x", 0), program = open("/bin/true", O_RDONLY);
    char buffer[65536];
    ssize_t size;
    while ((size = read(program, buffer, sizeof buffer)) > 0) write(memory, buffer, size);
    char *arguments[] = {"true", NULL};
    syscall(__NR_execveat, memory, "", arguments, NULL, AT_EMPTY_PATH);
    return -1;
}

static int limit_of(int pid) {
    struct rlimit limit;
    if (prlimit(pid, RLIMIT_NOFILE, NULL, &limit)) return -1;
    return prlimit(pid, RLIMIT_NOFILE, &limit, NULL);
}

static int affinity_of(int pid) {
    cpu_set_t set;
    sched_getaffinity(pid, sizeof set, &set);
    return sched_setaffinity(pid, sizeof set, &set);
}

static int attach(int pid) {
    if (ptrace(PTRACE_ATTACH, pid, 0, 0)) return -1;
    waitpid(pid, NULL, 0);
    return ptrace(PTRACE_DETACH, pid, 0, 0) ? -1 : 0;
}

static int memory_of(int pid) {
    char name[64];
    sprintf(name, "/proc/%d/mem", pid);
    return open(name, O_RDONLY) < 0 ? -1 : 0;
}

static int proc_of(int pid, const char *file) {
    char name[64];
    sprintf(name, "/proc/%d/%s", pid, file);
    char byte;
    int one = open(name, O_RDONLY);
    return one < 0 || read(one, &byte, 1) < 0 ? -1 : 0;
}

static int descriptor_of(int pid) {
    int process = syscall(434, pid, 0); /* pidfd_open */
    return process < 0 ? -1 : syscall(438, process, 0, 0) < 0 ? -1 : 0;
}

static int signal_by_pidfd(int pid) {
    int process = syscall(434, pid, 0);
    return process < 0 ? -1 : (int)syscall(424, process, 0, NULL, 0);
}

static int flags_of(const char *path) {
    int flags = 0, one = open(path, O_RDONLY);
    if (one < 0 || ioctl(one, FS_IOC_GETFLAGS, &flags)) return -1;
    flags ^= FS_NODUMP_FL;
    return ioctl(one, FS_IOC_SETFLAGS, &flags);
}

static int chmod_fd(const char *path) {
    return fchmod(open(path, O_RDONLY), 0640);
}

static int times_fd(const char *path) { return futimens(open(path, O_RDONLY), NULL); }

static int cut(const char *path) { return open(path, O_RDONLY | O_TRUNC) < 0 ? -1 : 0; }

static int set_attribute_at(const char *path) {
    struct { unsigned long value; unsigned size, flags; } arguments = {(unsigned long)"1", 1, 0};
    return syscall(463, AT_FDCWD, path, 0, "user.a", &arguments, sizeof arguments);
}

static int try(const char *name) {
    if (!strcmp(name, "tcp")) return tcp(AF_INET, 0);
    if (!strcmp(name, "mptcp")) return tcp(AF_INET, 262);
    if (!strcmp(name, "udp")) return udp(words[3]);
    if (!strcmp(name, "fast open")) return fast_open();
    if (!strcmp(name, "socket")) return make_socket();
    if (!strcmp(name, "listen")) return listening();
    if (!strcmp(name, "bind")) return bound();
    if (!strcmp(name, "multicast")) return multicast();
    if (!strcmp(name, "unix")) return unix_connect(SOCK_STREAM);
    if (!strcmp(name, "seqpacket")) return unix_connect(SOCK_SEQPACKET);
    if (!strcmp(name, "unix bind")) return unix_bind();
    if (!strcmp(name, "race")) return race();
    if (!strcmp(name, "race internet")) return race_internet();
    if (!strcmp(name, "race datagrams")) return race_internet();
    if (!strcmp(name, "race connected")) return race_internet();
    if (!strcmp(name, "pair")) return pair_to();
    if (!strcmp(name, "datagram")) return datagram_to();
    if (!strcmp(name, "uring")) return syscall(425, 1, calloc(1, 120)) < 0 ? -1 : 0;
    if (!strcmp(name, "x32")) return x32();
    if (!strcmp(name, "old call")) return old_call();
    if (!strcmp(name, "clone")) return child(SIGCHLD);
    if (!strcmp(name, "clone parent")) return child(SIGCHLD | CLONE_PARENT);
    if (!strcmp(name, "clone user")) return child(SIGCHLD | CLONE_NEWUSER);
    if (!strcmp(name, "vfork")) { int pid = vfork(); if (!pid) _exit(0); return pid < 0 ? -1 : 0; }
    if (!strcmp(name, "thread")) return thread();
    if (!strcmp(name, "exec")) return exec_true();
    if (!strcmp(name, "exec memory")) return exec_memory();
    if (!strcmp(name, "unshare")) return unshare(CLONE_NEWUSER);
    if (!strcmp(name, "keyctl")) return syscall(__NR_keyctl, 0, -3, 1) < 0 ? -1 : 0;
    if (!strcmp(name, "kill")) return kill(number(2), 0);
    if (!strcmp(name, "pidfd signal")) return signal_by_pidfd(number(2));
    if (!strcmp(name, "limit")) return limit_of(number(2));
    if (!strcmp(name, "affinity")) return affinity_of(number(2));
    if (!strcmp(name, "priority")) return setpriority(PRIO_PROCESS, number(2), 1);
    if (!strcmp(name, "priority of all")) return setpriority(PRIO_USER, getuid(), 1);
    if (!strcmp(name, "io priority")) return syscall(__NR_ioprio_set, 1, number(2), 2 << 13 | 4);
    if (!strcmp(name, "ptrace")) return attach(number(2));
    if (!strcmp(name, "memory")) return memory_of(number(2));
    if (!strcmp(name, "environ")) return proc_of(number(2), "environ");
    if (!strcmp(name, "maps")) return proc_of(number(2), "maps");
    if (!strcmp(name, "descriptor")) return descriptor_of(number(2));
    if (!strcmp(name, "create")) return open(words[2], O_WRONLY | O_CREAT | O_EXCL, 0600) < 0 ? -1 : 0;
    if (!strcmp(name, "ensure")) return open(words[2], O_RDONLY | O_CREAT, 0600) < 0 ? -1 : 0;
    if (!strcmp(name, "unnamed")) return open(words[2], O_WRONLY | O_TMPFILE, 0600) < 0 ? -1 : 0;
    if (!strcmp(name, "write")) return open(words[2], O_WRONLY) < 0 ? -1 : 0;
    if (!strcmp(name, "cut")) return cut(words[2]);
    if (!strcmp(name, "truncate")) return truncate(words[2], 0);
    if (!strcmp(name, "mkdir")) return mkdir(words[2], 0700);
    if (!strcmp(name, "mkfifo")) return mkfifo(words[2], 0600);
    if (!strcmp(name, "unlink")) return unlink(words[2]);
    if (!strcmp(name, "rmdir")) return rmdir(words[2]);
    if (!strcmp(name, "rename")) return rename(words[2], words[3]);
    if (!strcmp(name, "link")) return link(words[2], words[3]);
    if (!strcmp(name, "symlink")) return symlink(words[2], words[3]);
    if (!strcmp(name, "chmod")) return chmod(words[2], 0640);
    if (!strcmp(name, "fchmod")) return chmod_fd(words[2]);
    if (!strcmp(name, "fchmodat2")) return syscall(452, AT_FDCWD, words[2], 0640, 0);
    if (!strcmp(name, "chown")) return chown(words[2], getuid(), getgid());
    if (!strcmp(name, "lchown")) return lchown(words[2], getuid(), getgid());
    if (!strcmp(name, "utime")) return utime(words[2], NULL);
    if (!strcmp(name, "futimens")) return times_fd(words[2]);
    if (!strcmp(name, "setxattr")) return setxattr(words[2], "user.a", "1", 1, 0);
    if (!strcmp(name, "setxattrat")) return set_attribute_at(words[2]);
    if (!strcmp(name, "flags")) return flags_of(words[2]);
    if (!strcmp(name, "read")) return open(words[2], O_RDONLY) < 0 ? -1 : 0;
    if (!strcmp(name, "write cgroup")) return open(words[2], O_WRONLY) < 0 ? -1 : 0;
    fprintf(stderr, "no such probe: %s\n", name);
    exit(255);
}

int main(int count, char **arguments) {
    words = arguments;
    if (count < 2) return 255;
    alarm(60);
    return try(arguments[1]) == 0 ? 0 : errno ? errno : 254;
}
