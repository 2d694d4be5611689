import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';

/** Living processes whose environment holds the mark, and whose command line holds `argument`. */
export function processesOf(mark: string, argument = ''): number[] {
  const has = (path: string, text: string): boolean => readFileSync(path, 'latin1').includes(text);
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => {
      try {
        if (/\) [ZXx] /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'))) return false;
        return has(`/proc/${pid}/environ`, mark) && has(`/proc/${pid}/cmdline`, argument);
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
      // It may have ended by itself since it was found.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}

/**
 * A port that a process is about to listen on. It lies below those that outgoing connections take theirs from, so that
 * none of these has it by then.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 15_000 + Math.floor(Math.random() * 5000);
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}
