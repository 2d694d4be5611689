import { closeSync, existsSync, fsyncSync, openSync, readFileSync, truncateSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { writeAtomically } from '../host/files';
import type { Kind } from '../protocol/command';

interface Entry {
  id: string;
  kind: Kind;
  jobId: string | null;
  at: number;
  finished: boolean;
}
type Line = { start: string; kind: Kind; jobId: string | null; at: number } | { end: string };

const retentionMs = 7 * 24 * 3600_000;
const defaultMaxRetained = 10_000;

/**
 * Commands that were started on this machine. An id is on disk before its command starts, so no command starts twice,
 * even after a crash. Only ids and kinds are stored, because a command's environment contains secrets.
 */
export class Journal {
  private readonly entries = new Map<string, Entry>();
  private readonly path: string;
  private file = -1;
  private lines = 0;

  constructor(
    folder: string,
    private readonly maxRetained = defaultMaxRetained,
  ) {
    this.path = join(folder, 'journal.jsonl');
    this.loadJournal();
    this.compactJournal(Date.now());
  }

  hasStarted(id: string): boolean {
    return this.entries.has(id);
  }

  /** Whether this machine has accepted a stop_job command for the job. */
  hasStoppedJob(jobId: string): boolean {
    return [...this.entries.values()].some((entry) => entry.kind === 'stop_job' && entry.jobId === jobId);
  }

  listUnfinished(): Entry[] {
    return [...this.entries.values()].filter((entry) => !entry.finished);
  }

  recordStart(id: string, kind: Kind, jobId: string | null, now: number): void {
    this.appendJournalLine({ start: id, kind, jobId, at: now });
    if (this.lines > 4 * this.maxRetained) this.compactJournal(now);
  }

  recordFinish(id: string): void {
    if (this.entries.get(id)?.finished === false) this.appendJournalLine({ end: id });
  }

  close(): void {
    closeSync(this.file);
  }

  private appendJournalLine(line: Line): void {
    const bytes = Buffer.from(`${JSON.stringify(line)}\n`);
    for (let at = 0; at < bytes.length;) at += writeSync(this.file, bytes, at);
    fsyncSync(this.file);
    this.applyJournalLine(line);
  }

  private applyJournalLine(line: Line): void {
    this.lines += 1;
    if ('start' in line) {
      const { start, kind, jobId, at } = line;
      this.entries.set(start, { id: start, kind, jobId, at, finished: false });
    } else {
      const entry = this.entries.get(line.end);
      if (entry) entry.finished = true;
    }
  }

  private loadJournal(): void {
    if (!existsSync(this.path)) return;
    const bytes = readFileSync(this.path);
    // A crash during a write leaves an incomplete last line, which is dropped.
    const whole = bytes.lastIndexOf(10) + 1;
    if (whole < bytes.length) truncateSync(this.path, whole);
    for (const line of bytes.subarray(0, whole).toString().split('\n')) {
      if (line) this.applyJournalLine(JSON.parse(line) as Line);
    }
  }

  private compactJournal(now: number): void {
    const all = [...this.entries.values()];
    const retained = all.filter(
      (entry, index) => !entry.finished || index >= all.length - this.maxRetained || entry.at > now - retentionMs,
    );
    const lines = retained.flatMap(({ id, kind, jobId, at, finished }) => [
      JSON.stringify({ start: id, kind, jobId, at }),
      ...(finished ? [JSON.stringify({ end: id })] : []),
    ]);
    writeAtomically(this.path, lines.map((line) => `${line}\n`).join(''));
    this.entries.clear();
    for (const entry of retained) this.entries.set(entry.id, entry);
    this.lines = lines.length;
    if (this.file !== -1) closeSync(this.file);
    this.file = openSync(this.path, 'a', 0o600);
  }
}
