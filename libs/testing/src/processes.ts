import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';

/** Returns the running processes whose environment contains the mark and whose command line contains `argument`. */
export function findProcesses(mark: string, argument = ''): number[] {
  const fileContains = (path: string, text: string): boolean => readFileSync(path, 'latin1').includes(text);
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => {
      try {
        if (/\) [ZXx] /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'))) return false;
        return fileContains(`/proc/${pid}/environ`, mark) && fileContains(`/proc/${pid}/cmdline`, argument);
      } catch {
        return false;
      }
    })
    .map(Number);
}

export function killAll(pids: readonly number[]): void {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch (error) {
      // The process has ended since it was found, so it is left out.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}

/**
 * Returns a port for a process that is about to listen. The port is below the range of outgoing connections, so that no
 * connection can occupy it in the meantime.
 */
export async function findFreePort(): Promise<number> {
  for (;;) {
    const port = 15_000 + Math.floor(Math.random() * 5000);
    if (await isPortFree(port)) return port;
  }
}

function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}
