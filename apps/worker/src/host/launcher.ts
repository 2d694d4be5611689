import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * Python source of the launcher, the parent process of a script. The launcher survives the worker, writes the script's
 * exit code to a file atomically, and adopts every process that the script's processes orphan (subreaper), so that no
 * process can leave the tree. It stays until the worker has read the output, because a restarted worker reads the
 * secrets to redact from the launcher's environment.
 */
const launcher = `
import os, signal, sys, time
try:
    import ctypes
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
except Exception:
    pass
exit_file, program, arguments = sys.argv[1], sys.argv[2], sys.argv[2:]
child = 0
for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(name, lambda *_: None)
child = os.fork()
if child == 0:
    for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(name, signal.SIG_DFL)
    try:
        os.execvp(program, arguments)
    except OSError as error:
        os.write(2, ("%s: %s\\n" % (program, error.strerror)).encode())
        os._exit(127)
while True:
    try:
        pid, status = os.wait()
    except InterruptedError:
        continue
    if pid == child:
        break
code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)
with open(exit_file + ".draft", "w") as file:
    file.write(str(code))
os.rename(exit_file + ".draft", exit_file)
for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(name, signal.SIG_DFL)
os.close(1)
os.close(2)
until = time.monotonic() + 3600
while time.monotonic() < until:
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        pass
    time.sleep(0.2)
`;

export interface Launch {
  python: string;
  /** File for the exit code. */
  exitFile: string;
  script: string;
  cwd: string;
  env: Record<string, string>;
  stdout: number | 'pipe';
  stderr: number | 'pipe';
}

/** Returns the exit code that the launcher has written; null if the script has not ended. */
export function readExitCode(exitFile: string): number | null {
  try {
    return Number(readFileSync(exitFile, 'utf8'));
  } catch {
    return null;
  }
}

/** Starts the launcher with the script, in a separate process group and session. */
export function launchScript({ python, exitFile, script, cwd, env, stdout, stderr }: Launch): ChildProcess {
  return spawn(python, ['-I', '-S', '-c', launcher, exitFile, python, '-u', script], {
    cwd,
    env,
    detached: true,
    stdio: ['ignore', stdout, stderr],
  });
}
