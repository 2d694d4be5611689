"""A hostile script: searches everything that it can read for secrets, then tries to change files and to end processes."""

import json
import os
import signal
import socket
import stat
import time

import muster

# The secrets arrive reversed, so that this run's own files do not contain them.
needles = {name: text[::-1].encode() for name, text in json.loads(os.environ["NEEDLES"]).items()}
data = os.environ["DATA_DIR"]
found, looked = [], 0
until = time.monotonic() + 12


def look(where, read):
    global looked
    try:
        content = read()
    except OSError:
        return
    looked += 1
    found.extend(f"{name} in {where}" for name, text in needles.items() if text in content)


def content_of(path, limit=8 * 1024 * 1024):
    with open(path, "rb", buffering=0) as file:
        return file.read(limit)


def is_file(path):
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:  # The file is already deleted.
        return False


def name_of(pid):
    try:
        return content_of(f"/proc/{pid}/comm")
    except OSError:  # The process has already ended.
        return "gone"


def walk(top, seen=set()):
    for folder, folders, files in os.walk(top):
        folders[:] = [name for name in folders if name not in ("node_modules", ".git", "proc", "sys")]
        if time.monotonic() > until or folder in seen:
            return
        seen.add(folder)
        look(folder, lambda: "\n".join(folders + files).encode())
        for name in files:
            path = os.path.join(folder, name)
            if not path.startswith(os.environ["MUSTER_RUN_ROOT"]) and is_file(path):
                look(path, lambda: content_of(path))


me = {os.getpid(), os.getppid()}
others = [pid for pid in os.listdir("/proc") if pid.isdigit() and int(pid) not in me]
for pid in others:
    for name in ("environ", "cmdline", "maps", "mountinfo"):
        look(f"/proc/{pid}/{name} ({name_of(pid)})", lambda: content_of(f"/proc/{pid}/{name}"))
    for name in ("root" + data + "/secrets.json", "cwd/secrets.json", "root/proc/self/environ"):
        look(f"/proc/{pid}/{name}", lambda: content_of(f"/proc/{pid}/{name}"))
    try:
        for fd in os.listdir(f"/proc/{pid}/fd"):
            path = f"/proc/{pid}/fd/{fd}"
            if stat.S_ISREG(os.stat(path).st_mode):
                look(f"{path} ({os.readlink(path)})", lambda: content_of(path))
    except OSError:
        pass

above = []
folder = os.environ["MUSTER_RUN_ROOT"]
while folder != "/":
    folder = os.path.dirname(folder)
    above.append(folder)
for name in ("secrets.json", "first-start.json", "muster.log", "postgres/password", "redis/password", "redis/data",
             "postgres/data", "object-store", "agents", *(f"agents/{id}" for id in os.environ["AGENTS"].split(","))):
    path = os.path.join(data, name)
    look(path, lambda: content_of(path))
    walk(path)
for top in [*above[:-1], data, "/tmp", "/var/tmp", "/dev/shm", "/run", "/var/run", "/home", "/root", "/var/log", "/etc",
            os.environ["SOURCES"]]:
    walk(top)

# The service writes the files around the run's folder. A symbolic link must not redirect it; the test checks the links.
changed = []
control = os.path.abspath(os.path.join(os.environ["MUSTER_RUN_ROOT"], "../../.."))
for name in ("lease", "wanted.json", "worker.json", "worker.log", "account"):
    path = os.path.join(control, name)
    try:
        os.symlink(os.path.join(data, "secrets.json"), path + ".enemy")
        os.replace(path + ".enemy", path)
    except OSError:
        pass
for path in [os.environ["SOURCES"] + "/package.json", data + "/secrets.json", os.path.join(control, "lease")]:
    try:
        os.close(os.open(path, os.O_WRONLY))
        changed.append(path)
    except OSError:
        pass
hit = []
for pid in json.loads(os.environ["VICTIMS"]):
    for number in (signal.SIGUSR1, signal.SIGTERM):
        try:
            os.kill(pid, number)
            hit.append(pid)
        except OSError:
            pass


def ask(port, text):
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=3) as link:
            link.sendall(text)
            return link.recv(4000)
    except OSError as error:
        return str(error).encode()


answers = {
    "redis": ask(int(os.environ["REDIS_AT"]), b"KEYS *\r\n"),
    "store": ask(int(os.environ["STORE_AT"]), b"GET /muster?list-type=2 HTTP/1.1\r\nhost: x\r\n\r\n"),
    "inspector": ask(9229, b"GET /json HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"),
}
muster.result({
    "found": sorted(set(found))[:50],
    "looked": looked,
    "changed": changed,
    "hit": hit,
    "uid": os.getuid(),
    "answers": {name: answer.decode("latin1")[:200] for name, answer in answers.items()},
})
