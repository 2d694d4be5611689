import { execFile } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { messageOf } from '../protocol/service';
import type { Settings } from '../settings';

/** A poll waits for 25 s at most: after so long without an answer commands do not reach us. */
const pollsSilentMs = 120_000;
const pythonEveryMs = 60_000;
const pythonTimeoutMs = 20_000;

/** Whether this worker can do its work, by trying: what heartbeats say of it. */
export class Health {
  private python: { problem: string | null; at: number } | null = null;
  private looking = false;

  constructor(
    private readonly settings: Pick<Settings, 'folder' | 'python'>,
    private readonly pollsSilentForMs: () => number,
  ) {}

  /** What is wrong; nothing where it is well. A heartbeat does not wait for Python: it says what was found last. */
  problems(): string[] {
    void this.lookAtPython();
    const silentMs = this.pollsSilentForMs();
    const polls =
      silentMs > pollsSilentMs
        ? `the service has not answered a poll for commands for ${Math.round(silentMs / 1000)} s`
        : null;
    return [this.folderProblem(), this.python?.problem ?? null, polls].filter((problem) => problem !== null);
  }

  /** Everything that a run leaves is written there first. */
  private folderProblem(): string | null {
    const path = join(this.settings.folder, 'health');
    try {
      writeFileSync(path, 'well\n', { mode: 0o600 });
      rmSync(path);
      return null;
    } catch (error) {
      return `the worker's folder cannot be written: ${messageOf(error)}`;
    }
  }

  private async lookAtPython(): Promise<void> {
    if (this.looking || (this.python && performance.now() - this.python.at < this.restMs())) return;
    this.looking = true;
    const problem = await new Promise<string | null>((resolve) => {
      execFile(this.settings.python, ['-I', '-S', '-c', ''], { timeout: pythonTimeoutMs }, (error) =>
        // One that takes so long may be on a busy machine: that says nothing.
        resolve(error && !error.killed ? `Python does not run: ${error.message.split('\n')[0]!.slice(0, 200)}` : null),
      );
    });
    this.python = { problem, at: performance.now() };
    this.looking = false;
  }

  /** What is broken is looked at with each heartbeat, as somebody mends it. */
  private restMs(): number {
    return this.python?.problem ? 0 : pythonEveryMs;
  }
}
