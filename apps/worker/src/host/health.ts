import { execFile } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { getErrorMessage } from '../protocol/service';
import type { Settings } from '../settings';

/**
 * Time in ms without an answered poll after which missing answers are reported as a problem. A poll waits up to 25 s.
 */
const pollsSilentMs = 120_000;
const pythonEveryMs = 60_000;
const pythonTimeoutMs = 20_000;

/**
 * Checks whether this worker can write to its folder, start Python and poll for commands. Heartbeats report the
 * problems.
 */
export class Health {
  private python: { problem: string | null; at: number } | null = null;
  private looking = false;

  constructor(
    private readonly settings: Pick<Settings, 'folder' | 'python'>,
    private readonly pollsSilentForMs: () => number,
  ) {}

  /**
   * Returns the current problems. Does not wait for a running check of Python, but includes the result of the last
   * check.
   */
  listProblems(): string[] {
    void this.checkPython();
    const silentMs = this.pollsSilentForMs();
    const polls =
      silentMs > pollsSilentMs
        ? `the service has not answered a poll for commands for ${Math.round(silentMs / 1000)} s`
        : null;
    return [this.findFolderProblem(), this.python?.problem ?? null, polls].filter((problem) => problem !== null);
  }

  /** Checks the worker's folder, because all output of a run is written there first. */
  private findFolderProblem(): string | null {
    const path = join(this.settings.folder, 'health');
    try {
      writeFileSync(path, 'well\n', { mode: 0o600 });
      rmSync(path);
      return null;
    } catch (error) {
      return `the worker's folder cannot be written: ${getErrorMessage(error)}`;
    }
  }

  private async checkPython(): Promise<void> {
    if (this.looking || (this.python && performance.now() - this.python.at < this.getMsUntilNextCheck())) return;
    this.looking = true;
    const problem = await new Promise<string | null>((resolve) => {
      execFile(this.settings.python, ['-I', '-S', '-c', ''], { timeout: pythonTimeoutMs }, (error) =>
        // A timeout may be caused by a busy machine, so it is not a problem of Python.
        resolve(error && !error.killed ? `Python does not run: ${error.message.split('\n')[0]!.slice(0, 200)}` : null),
      );
    });
    this.python = { problem, at: performance.now() };
    this.looking = false;
  }

  /**
   * Returns the minimum time between two checks of Python. A failed check is repeated with each heartbeat, so that a
   * repair is noticed soon.
   */
  private getMsUntilNextCheck(): number {
    return this.python?.problem ? 0 : pythonEveryMs;
  }
}
