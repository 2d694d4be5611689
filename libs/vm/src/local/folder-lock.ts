import { link, mkdir, readFile, rename, rm, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { newId } from '@muster/platform';
import { identifyProcess, isAlive, type ProcessIdentity } from './processes';

interface Holder extends ProcessIdentity {
  id: string;
}

/** Lets one process at a time supervise a folder of local agents. The lock of a process that has ended is free. */
export class FolderLock {
  private readonly file: string;
  private readonly self: Holder = { ...identifyProcess(process.pid)!, id: newId() };
  private held = false;

  constructor(private readonly folder: string) {
    this.file = join(folder, 'supervisor.lock');
  }

  get isHeld(): boolean {
    return this.held;
  }

  async tryAcquire(): Promise<boolean> {
    if (this.held) return true;
    await mkdir(this.folder, { recursive: true, mode: 0o700 });
    const draft = `${this.file}.${this.self.id}`;
    await writeFile(draft, JSON.stringify(this.self), { mode: 0o600 });
    try {
      this.held =
        (await tryCreateHardLink(draft, this.file)) ||
        ((await this.removeStaleLock()) && (await tryCreateHardLink(draft, this.file)));
      return this.held;
    } finally {
      await rm(draft, { force: true });
    }
  }

  async release(): Promise<void> {
    if (!this.held) return;
    this.held = false;
    if ((await this.readHolder())?.id === this.self.id) await unlink(this.file).catch(() => undefined);
  }

  async readHolder(): Promise<Holder | null> {
    try {
      return JSON.parse(await readFile(this.file, 'utf8')) as Holder;
    } catch {
      return null;
    }
  }

  /**
   * Removes the lock of a process that has ended. Returns false if the holder is alive. If two processes remove the
   * same lock at once, one of them may move away the new lock of the other; it then puts that lock back.
   */
  private async removeStaleLock(): Promise<boolean> {
    const stale = await this.readHolder();
    if (stale && isAlive(stale)) return false;
    const aside = `${this.file}.${newId()}`;
    try {
      await rename(this.file, aside);
    } catch {
      return true;
    }
    const moved = await readFile(aside, 'utf8').catch(() => '');
    if (stale && !moved.includes(stale.id)) await tryCreateHardLink(aside, this.file);
    await rm(aside, { force: true });
    return true;
  }
}

async function tryCreateHardLink(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}
