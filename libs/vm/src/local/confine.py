"""Starts a program that sees only its own folder, the system's programs and the paths that are listed for it.

The one argument is JSON: command, machine (the program's own folder), home, uid (of the account; null: the service's),
namespaces (whether the program gets separate ones). With namespaces also lists of paths: readable, ownerReadable
(readable with the permissions of their owner), hidden (overrides both), and needed (overrides hidden).
Uses only the standard library.
"""

import ctypes
import errno
import json
import os
import platform
import signal
import stat
import sys

CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID = 0x20000, 0x8000000, 0x10000000, 0x20000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND, MS_REC = 1, 2, 4, 8, 32, 4096, 16384
MS_PRIVATE, MNT_DETACH = 1 << 18, 2
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 1, 4, 24, 38
OPEN_TREE, MOVE_MOUNT, MOUNT_SETATTR, MOUNT_ATTR_RDONLY, MOUNT_ATTR_IDMAP = 428, 429, 442, 1, 0x100000
AT_FDCWD, AT_RECURSIVE, AT_EMPTY_PATH = -100, 0x8000, 0x1000
SYSTEM = "usr bin sbin lib lib32 lib64 libx32 etc opt nix gnu sys".split()

order = json.loads(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)
worker = 0


def main():
    call_libc("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if not order["namespaces"]:
        execute_program()
    # The links in a path may not exist in the new root, so its real path is listed, too.
    for name in ("readable", "ownerReadable", "hidden"):
        order[name] = list(dict.fromkeys(each for path in order[name] for each in (path, os.path.realpath(path))))
    enter_namespaces()
    inner = os.fork()
    if inner == 0:
        call_libc("prctl", PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        run_as_init()
    for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(name, lambda number, _: os.kill(inner, number))
    drop_capabilities()
    while True:
        try:
            _, status = os.waitpid(inner, 0)
            os._exit(get_exit_code(status))
        except InterruptedError:
            continue


def enter_namespaces():
    uid, gid = os.geteuid(), os.getegid()
    user_namespace = 0 if order["uid"] is not None else CLONE_NEWUSER
    call_libc("unshare", CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | user_namespace)
    if user_namespace:
        for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)


def run_as_init():
    """First process of the namespace: parent of the program and of orphaned processes. All processes end with it."""
    global worker
    for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(name, lambda number, _: worker and os.kill(worker, number))
    build_root()
    worker = os.fork()
    if worker == 0:
        for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(name, signal.SIG_DFL)
        os.setsid()
        execute_program()
    drop_capabilities()
    # This process may have the program's account. The program must not read or change its memory.
    call_libc("prctl", PR_SET_DUMPABLE, 0, 0, 0, 0)
    while True:
        try:
            pid, status = os.wait()
        except InterruptedError:
            continue
        if pid == worker:
            os._exit(get_exit_code(status))


def build_root():
    """Builds a root with the listed paths, read-only except for the machine's folder, and detaches the old root."""
    mount(None, "/", None, MS_REC | MS_PRIVATE)
    mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=1m")
    for name in ("new", "old"):
        os.mkdir("/tmp/" + name, 0o755)
    os.chdir("/tmp")
    call_libc("syscall", get_syscall_number("pivot_root"), b".", b"old")
    os.chdir("/")
    mount("tmpfs", "/new", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=4m")
    make_folder("/new/proc")
    mount("proc", "/new/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    for name in SYSTEM:
        if os.path.islink("/old/" + name):
            os.symlink(os.readlink("/old/" + name), "/new/" + name)
        elif os.path.isdir("/old/" + name):
            bind_mount("/" + name)
    for path in ("tmp", "run", "var", "dev"):
        mount_tmpfs("/new/" + path, "1777" if path == "tmp" else "755")
    for link, target in (("var/tmp", "../tmp"), ("var/run", "../run")):
        os.symlink(target, "/new/" + link)
    make_devices()
    for path in ("/tmp/.X11-unix", os.path.dirname(find_resolver_file())):
        if os.path.isdir("/old" + path) and not is_in_system_folder(path):
            bind_mount(path)
    for path in order["readable"]:
        if os.path.exists("/old" + path) and not is_in_system_folder(path):
            bind_mount(path)
    for path in order["ownerReadable"]:
        if os.path.exists("/old" + path) and not is_in_system_folder(path):
            bind_mount_as_owner(path)
    hidden = [path for path in order["hidden"] if hide_path(path)]
    # The needed paths and the machine's folder are mounted over the hidden folders that contain them.
    for path in order["needed"]:
        bind_mount(path)
    bind_mount(order["machine"], writable=True)
    for path in ["/run", "/var", "/dev", *hidden]:
        remount_read_only("/new" + path)
    remount_read_only("/new")
    call_libc("umount2", b"/old", MNT_DETACH)
    os.chdir("/new")
    call_libc("syscall", get_syscall_number("pivot_root"), b".", b".")
    call_libc("umount2", b".", MNT_DETACH)
    os.chdir("/")


def bind_mount(path, writable=False):
    target = make_mount_point(path)
    mount("/old" + path, target, None, MS_BIND | MS_REC)
    if not writable:
        make_read_only(target)


def make_mount_point(path):
    target = "/new" + path
    if not os.path.lexists(target):
        if os.path.isdir("/old" + path):
            make_folder(target)
        else:
            make_folder(os.path.dirname(target))
            os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
    return target


def bind_mount_as_owner(path):
    """Mounts read-only what the owner can read, so that the account can read it. Falls back to a plain mount."""
    try:
        source = os.fsencode("/old" + path)
        tree = call_libc("syscall", to_long(OPEN_TREE), to_long(AT_FDCWD), source, to_long(1 | AT_RECURSIVE))
        try:
            if order["uid"] is not None:
                map_owner_to_account(tree, os.stat("/old" + path))
            target = os.fsencode(make_mount_point(path))
            call_libc("syscall", to_long(MOVE_MOUNT), to_long(tree), b"", to_long(AT_FDCWD), target, to_long(4))
        finally:
            os.close(tree)
        make_read_only("/new" + path)
    except OSError:
        bind_mount(path)


def map_owner_to_account(tree, owner):
    """Maps the owner's id to the account's in the mount, with a user namespace in which no process stays."""
    ready, done = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        try:
            call_libc("unshare", CLONE_NEWUSER)
            os.write(ready[1], b".")
            os.close(done[1])
            os.read(done[0], 1)
        finally:
            os._exit(0)
    try:
        os.close(ready[1])
        if not os.read(ready[0], 1):
            raise OSError(errno.EPERM, "no user namespace")
        for name, inside in (("uid_map", owner.st_uid), ("gid_map", owner.st_gid)):
            with open(f"/new/proc/{child}/{name}", "w") as file:
                file.write(f"{inside} {order['uid']} 1")
        space = os.open(f"/new/proc/{child}/ns/user", os.O_RDONLY)
        attributes = (ctypes.c_uint64 * 4)(MOUNT_ATTR_IDMAP, 0, 0, space)
        flags = to_long(AT_EMPTY_PATH | AT_RECURSIVE)
        call_libc("syscall", to_long(MOUNT_SETATTR), to_long(tree), b"", flags, attributes, ctypes.c_size_t(32))
        os.close(space)
    finally:
        os.close(done[1])
        os.waitpid(child, 0)


def to_long(value):
    return ctypes.c_long(value)


def hide_path(path):
    """Hides a path. Returns whether it is an empty folder now."""
    target = "/new" + path
    if os.path.isdir(target):
        mount("tmpfs", target, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=4m")
        return True
    if os.path.exists(target):
        mount("/old/dev/null", target, None, MS_BIND)
    return False


def make_devices():
    for name in ("null", "zero", "full", "random", "urandom", "tty"):
        if os.path.exists("/old/dev/" + name):
            os.close(os.open("/new/dev/" + name, os.O_CREAT | os.O_WRONLY, 0o644))
            mount("/old/dev/" + name, "/new/dev/" + name, None, MS_BIND)
    mount_tmpfs("/new/dev/shm", "1777")
    make_folder("/new/dev/pts")
    mount("devpts", "/new/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620")
    links = {"ptmx": "pts/ptmx", "fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"}
    for name, target in links.items():
        os.symlink(target, "/new/dev/" + name)


def find_resolver_file():
    """Returns the file with the name servers: /etc/resolv.conf is often a link into /run."""
    try:
        target = os.readlink("/old/etc/resolv.conf")
    except OSError:
        return "/etc/resolv.conf"
    return os.path.normpath(os.path.join("/etc", target))


def is_in_system_folder(path):
    """Whether the path is in a system folder, which is already mounted."""
    top = path.split("/")[1]
    return top in SYSTEM and not os.path.islink("/new/" + top)


def make_read_only(target):
    """Makes a mount read-only, with all mounts below it."""
    attributes = (ctypes.c_uint64 * 4)(MOUNT_ATTR_RDONLY, 0, 0, 0)
    numbers = [ctypes.c_long(each) for each in (MOUNT_SETATTR, AT_FDCWD)]
    call_libc("syscall", *numbers, os.fsencode(target), AT_RECURSIVE, attributes, ctypes.c_size_t(32))


def remount_read_only(target):
    mount(None, target, None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV)


def mount_tmpfs(target, mode):
    make_folder(target)
    mount("tmpfs", target, "tmpfs", MS_NOSUID | MS_NODEV, "mode=" + mode)


def make_folder(path):
    os.makedirs(path, 0o755, exist_ok=True)


def mount(source, target, kind, flags, options=None):
    texts = [each and os.fsencode(each) for each in (source, target, kind)]
    call_libc("mount", *texts, ctypes.c_ulong(flags), options and options.encode(), about=target)


def execute_program():
    uid = order["uid"]
    if uid is not None or order["namespaces"]:
        drop_bounding_set()
    if uid is not None:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    os.umask(0o077)
    os.chdir(order["machine"])
    os.makedirs(order["home"], 0o700, exist_ok=True)
    program = order["command"][0]
    os.execv(program, order["command"])


def drop_bounding_set():
    for capability in range(64):
        if libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            return


def drop_capabilities():
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    call_libc("capset", header, (ctypes.c_uint32 * 6)())


def get_syscall_number(name):
    numbers = {"x86_64": {"pivot_root": 155}, "aarch64": {"pivot_root": 41}, "riscv64": {"pivot_root": 41}}
    try:
        return ctypes.c_long(numbers[platform.machine()][name])
    except KeyError:
        raise OSError(errno.ENOSYS, f"{name} is not supported on {platform.machine()}")


def get_exit_code(status):
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)


def call_libc(name, *arguments, about=None):
    result = getattr(libc, name)(*arguments)
    if result == -1:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}" + (f" ({about})" if about else ""))
    return result


try:
    main()
except Exception as error:
    sys.stderr.write(f"confine: {error.strerror if isinstance(error, OSError) and error.strerror else error}\n")
    os._exit(125)
