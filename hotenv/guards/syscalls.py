"""What the kernel calls things: numbers of system calls by architecture, and constants. Pure.

All numbers of this room stand here. Names are those of the kernel's headers.
"""

from __future__ import annotations

X86_64 = "x86_64"
ARM64 = "aarch64"

AUDIT_ARCH = {X86_64: 0xC000003E, ARM64: 0xC00000B7}
"""What a filter sees as the architecture of a call: <linux/audit.h>."""

X32_BIT = 0x40000000
"""In the number of a call on x86-64: it is one of the x32 ABI."""

_TABLE = {
    # name: (x86-64, arm64); None where an architecture does not have it
    "add_key": (248, 217),
    "bind": (49, 200),
    "bpf": (321, 280),
    "capset": (126, 91),
    "chmod": (90, None),
    "chown": (92, None),
    "clone": (56, 220),
    "clone3": (435, 435),
    "connect": (42, 203),
    "creat": (85, None),
    "execve": (59, 221),
    "execveat": (322, 281),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "fchown": (93, 55),
    "fchownat": (260, 54),
    "fcntl": (72, 25),
    "file_setattr": (469, 469),
    "fork": (57, None),
    "fremovexattr": (199, 16),
    "fsconfig": (431, 431),
    "fsetxattr": (190, 7),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "futimesat": (261, None),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioctl": (16, 29),
    "ioprio_set": (251, 30),
    "keyctl": (250, 219),
    "kill": (62, 129),
    "landlock_add_rule": (445, 445),
    "landlock_create_ruleset": (444, 444),
    "landlock_restrict_self": (446, 446),
    "lchown": (94, None),
    "link": (86, None),
    "linkat": (265, 37),
    "listen": (50, 201),
    "lremovexattr": (198, 15),
    "lsetxattr": (189, 6),
    "mkdir": (83, None),
    "mkdirat": (258, 34),
    "mknod": (133, None),
    "mknodat": (259, 33),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "open": (2, None),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "open_tree_attr": (467, 467),
    "openat": (257, 56),
    "openat2": (437, 437),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "pidfd_open": (434, 434),
    "pidfd_send_signal": (424, 424),
    "pivot_root": (155, 41),
    "prlimit64": (302, 261),
    "ptrace": (101, 117),
    "removexattr": (197, 14),
    "removexattrat": (466, 466),
    "rename": (82, None),
    "renameat": (264, 38),
    "renameat2": (316, 276),
    "request_key": (249, 218),
    "rmdir": (84, None),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "seccomp": (317, 277),
    "sendmmsg": (307, 269),
    "sendmsg": (46, 211),
    "sendto": (44, 206),
    "setns": (308, 268),
    "setpriority": (141, 140),
    "setsockopt": (54, 208),
    "setxattr": (188, 5),
    "setxattrat": (463, 463),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "symlink": (88, None),
    "symlinkat": (266, 36),
    "tgkill": (234, 131),
    "tkill": (200, 130),
    "truncate": (76, 45),
    "umount2": (166, 39),
    "unlink": (87, None),
    "unlinkat": (263, 35),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
    "utime": (132, None),
    "utimensat": (280, 88),
    "utimes": (235, None),
    "vfork": (58, None),
}

NUMBERS = {
    X86_64: {name: number for name, (number, _) in _TABLE.items()},
    ARM64: {name: number for name, (_, number) in _TABLE.items() if number is not None},
}
"""The number of each call, by architecture and name."""

# clone(2), unshare(2)
CLONE_THREAD = 0x00010000
NEW_NAMESPACES = 0x7E020080  # CLONE_NEW*; of clone they are without CLONE_NEWTIME
CLONE_NEW_NAMESPACES = 0x7E020000

# open(2). The flags are the same on both architectures.
WRITING = 0o3 | 0o100 | 0o1000  # O_WRONLY, O_RDWR, O_CREAT, O_TRUNC
O_ACCMODE = 0o3
O_CREAT = 0o100
O_EXCL = 0o200
O_TRUNC = 0o1000
O_PATH = 0o10000000
O_TMPFILE = 0o20000000  # without O_DIRECTORY, which is in the headers' constant

AT_FDCWD = -100
AT_SYMLINK_NOFOLLOW = 0x100
AT_REMOVEDIR = 0x200
AT_SYMLINK_FOLLOW = 0x400
AT_EMPTY_PATH = 0x1000

# socket(2)
AF_UNSPEC, AF_UNIX, AF_INET, AF_INET6, AF_NETLINK = 0, 1, 2, 10, 16
SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET = 1, 2, 5
SOCK_TYPE = 0xF
SOCK_CLOEXEC, SOCK_NONBLOCK = 0o2000000, 0o4000
SOL_SOCKET = 1
IPPROTO_IP, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_IPV6 = 0, 6, 17, 41
IPPROTO_ICMP, IPPROTO_ICMPV6 = 1, 58
MSG_FASTOPEN, MSG_MORE, MSG_CONFIRM = 0x20000000, 0x8000, 0x800
SCM_CREDENTIALS = 2
SO_BINDTODEVICE = 25
JOINS = {IPPROTO_IP: (35, 39, 42, 46), IPPROTO_IPV6: (20, 27, 42, 46)}
"""Options that join a multicast group, which the kernel tells the network."""
ROUTES = {
    SOL_SOCKET: (SO_BINDTODEVICE, 62),  # and SO_BINDTOIFINDEX
    IPPROTO_IP: (4, 50),  # IP_OPTIONS, IP_UNICAST_IF
    IPPROTO_TCP: (30,),  # TCP_FASTOPEN_CONNECT: connects when something is sent
    IPPROTO_IPV6: (6, 50, 57, 76),  # IPV6_2292PKTOPTIONS, _PKTINFO, _RTHDR, _UNICAST_IF
}
"""Options that send packets another way than their address says, or later than it is seen."""

FASTOPEN = (IPPROTO_TCP, 30)
"""An option of those that resolvers do without."""

SNDTIMEO = (20, 67)  # SO_SNDTIMEO_OLD and _NEW, which are the same with 64 bits

DETOURS = {
    SOL_SOCKET: SNDTIMEO,
    IPPROTO_IP: (4,),
    IPPROTO_TCP: (30,),
    IPPROTO_IPV6: (5, 6, 57),  # IPV6_2292RTHDR, _2292PKTOPTIONS, _RTHDR
}
"""Those of them that lead by way of another address, or later; and how long a connect waits."""

CONTROL_DETOURS = {(IPPROTO_IP, 7), (IPPROTO_IPV6, 5), (IPPROTO_IPV6, 57)}
"""IP_RETOPTS, IPV6_2292RTHDR, IPV6_RTHDR: control data that does so for one message."""

# ioctl(2)
TIOCSTI, TIOCLINUX, USERFAULTFD_IOC_NEW = 0x5412, 0x541C, 0xAA00
RESOLVE_NO_MAGICLINKS = 0x02
RENAME_NOREPLACE = 0x01
TUNSETIFF, TUNSETQUEUE = 0x400454CA, 0x400454D9
CHANGING_IOCTLS = (
    0x40086602,  # FS_IOC_SETFLAGS
    0x40046602,  # FS_IOC32_SETFLAGS
    0x401C5820,  # FS_IOC_FSSETXATTR
    0x40087602,  # FS_IOC_SETVERSION
    0x40086604,  # EXT4_IOC_SETVERSION
    0x800C6613,  # FS_IOC_SET_ENCRYPTION_POLICY
    0x40806685,  # FS_IOC_ENABLE_VERITY
    0x40047211,  # FAT_IOCTL_SET_ATTRIBUTES
    0x50009401,  # BTRFS_IOC_SNAP_CREATE
    0x5000940E,  # BTRFS_IOC_SUBVOL_CREATE
    0x5000940F,  # BTRFS_IOC_SNAP_DESTROY
    0x50009417,  # BTRFS_IOC_SNAP_CREATE_V2
    0x50009418,  # BTRFS_IOC_SUBVOL_CREATE_V2
    0x4008941A,  # BTRFS_IOC_SUBVOL_SETFLAGS
    0xC0C89425,  # BTRFS_IOC_SET_RECEIVED_SUBVOL
    0x5000943F,  # BTRFS_IOC_SNAP_DESTROY_V2
    *(0x4C00, 0x4C01, 0x4C02, 0x4C04, *range(0x4C06, 0x4C10)),  # LOOP_*, but LOOP_GET_STATUS
    *(0x4C80, 0x4C81, 0x4C82),  # LOOP_CTL_*
)
"""Those that change files or devices through a descriptor which was opened for reading."""

# fcntl(2)
F_SETLEASE = 1024

PRIO_PROCESS, IOPRIO_WHO_PROCESS = 0, 1

PTRACE_TRACEME = 0

# prctl(2), capabilities(7)
PR_SET_NO_NEW_PRIVS = 38
PR_CAPBSET_DROP = 24
LINUX_CAPABILITY_VERSION_3 = 0x20080522

# seccomp(2): <linux/seccomp.h>
SECCOMP_SET_MODE_FILTER = 1
SECCOMP_FILTER_FLAG_SPEC_ALLOW = 1 << 2
SECCOMP_FILTER_FLAG_NEW_LISTENER = 1 << 3
SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV = 1 << 5
SECCOMP_RET_KILL_PROCESS = 0x80000000
SECCOMP_RET_ERRNO = 0x00050000
SECCOMP_RET_USER_NOTIF = 0x7FC00000
SECCOMP_RET_ALLOW = 0x7FFF0000
SECCOMP_IOCTL_NOTIF_RECV = 0xC0502100
SECCOMP_IOCTL_NOTIF_SEND = 0xC0182101
SECCOMP_IOCTL_NOTIF_ID_VALID = 0x40082102
SECCOMP_IOCTL_NOTIF_ADDFD = 0x40182103
SECCOMP_IOCTL_NOTIF_SET_FLAGS = 0x40082104
SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP = 1
SECCOMP_USER_NOTIF_FLAG_CONTINUE = 1
SECCOMP_ADDFD_FLAG_SETFD = 1
SECCOMP_ADDFD_FLAG_SEND = 2

# landlock(7): <linux/landlock.h>
LANDLOCK_CREATE_RULESET_VERSION = 1
LANDLOCK_RULE_PATH_BENEATH = 1
LANDLOCK_SCOPES = 0b11  # of abstract Unix sockets, and of signals
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
REMOVING_AND_MAKING = 0x1FF0  # LANDLOCK_ACCESS_FS_REMOVE_DIR to _MAKE_SYM
MAKE_BLOCK = 1 << 11
REFER, TRUNCATE = 1 << 13, 1 << 14
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE
"""What a rule for a file can grant; the rest is for directories."""
