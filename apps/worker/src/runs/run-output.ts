import {
  appendFileSync,
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readFileSync,
  readSync,
  statSync,
  truncateSync,
} from 'node:fs';
import { join } from 'node:path';
import { writeAtomically } from '../host/files';
import { splitIntoLines } from './output-lines';
import type { KnownSecrets } from './redactor';
import type { FilePosition, RunState } from './run-state';
import { isObject } from '../protocol/command';
import { parseEvents, type ParsedEvents, resultKey } from './script-events';
import type { Spool } from '../spool/spool';
import type { Item } from '../spool/spool-item';

const chunkBytes = 256 * 1024;
const longestEventBytes = 8 * 1024 * 1024;
const quietMs = 5_000;
const files = { stdout: 'stdout.log', stderr: 'stderr.log', events: 'events.jsonl' } as const;
type Stream = keyof typeof files;

/** Reads a run's output from the position in the spool's state, and appends it to the spool with the new state. */
export class RunOutput {
  /** Descriptions of the script's reports that cannot be parsed. */
  private invalid: string[] = [];
  private readonly lastGrowth = new Map<Stream, { size: number; at: number }>();

  constructor(
    private readonly root: string,
    private readonly spool: Spool,
    private readonly secrets: KnownSecrets,
  ) {}

  /**
   * Reads one piece of each output file. Returns whether there was new output. `final` states that no process writes
   * any more.
   */
  readNewOutput(final: boolean, now: number): boolean {
    let state: RunState = { ...this.spool.state };
    const items: Item[] = [];
    const before = JSON.stringify([state.stdout, state.stderr, state.events]);
    for (const stream of ['stdout', 'stderr'] as const) {
      const taken = this.readLines(stream, state[stream], final, now);
      state[stream] = taken.position;
      for (const message of taken.lines) {
        state.logSeq += 1;
        const level = stream === 'stdout' ? 'info' : 'error';
        items.push({ kind: 'log', entry: { level, message, timestamp: Math.floor(now / 1000), seq: state.logSeq } });
      }
    }
    const { events, position } = this.readEvents(state.events);
    const parsed = parseEvents(events, { ...state, events: position }, now);
    state = parsed.state;
    // The result is written before the state with the new position. After a crash, the same result is written again.
    if (parsed.result) writeAtomically(join(this.spool.folder, 'result.json'), JSON.stringify(parsed.result));
    if (before === JSON.stringify([state.stdout, state.stderr, state.events])) return false;
    this.spool.appendItems([...items, ...parsed.items], state);
    // Noted after the items of this read, because each note uses the next sequence number of the log.
    for (const description of [...this.invalid, ...parsed.invalid]) {
      this.spool.recordMissingItem({
        kind: 'report',
        reason: `a report of the script could not be read: ${description}`,
      });
    }
    this.invalid = [];
    return true;
  }

  countUnreadBytes(): number {
    const { state } = this.spool;
    return (Object.keys(files) as Stream[]).reduce((sum, name) => sum + this.getFileSize(name) - state[name].offset, 0);
  }

  /**
   * Removes the part of the output files that was already read. Call this only while the script's processes are
   * stopped, because they append to these files.
   */
  removeReadPart(): void {
    const state = { ...this.spool.state };
    for (const stream of Object.keys(files) as Stream[]) {
      const { offset, skipping } = state[stream];
      if (offset === 0) continue;
      const unread = this.readPiece(stream, offset, longestEventBytes);
      const path = join(this.root, files[stream]);
      truncateSync(path, 0);
      if (unread.length) appendFileSync(path, unread);
      state[stream] = { offset: 0, skipping };
    }
    this.spool.appendItems([], state);
  }

  countReadBytes(): number {
    const { stdout, stderr, events } = this.spool.state;
    return Math.max(stdout.offset, stderr.offset, events.offset);
  }

  /** Returns the end of the script's stderr, redacted. */
  readLastErrors(): string {
    const from = Math.max(0, this.getFileSize('stderr') - chunkBytes);
    return this.secrets.redactor.redactText(this.readPiece('stderr', from, chunkBytes).toString('utf8'));
  }

  private readLines(
    stream: 'stdout' | 'stderr',
    position: FilePosition,
    final: boolean,
    now: number,
  ): { lines: string[]; position: FilePosition } {
    const size = this.getFileSize(stream);
    // A file that is shorter than the position was truncated, and the worker died before it saved the new position.
    const offset = size < position.offset ? 0 : position.offset;
    if (size === offset) return { lines: [], position: { ...position, offset } };
    const growth = this.lastGrowth.get(stream);
    if (growth?.size !== size) this.lastGrowth.set(stream, { size, at: now });
    const bytes = this.readPiece(stream, offset, chunkBytes);
    const { lines, consumed, skipping } = splitIntoLines(
      {
        bytes,
        skipping: position.skipping,
        final: final && offset + bytes.length >= size,
        quiet: growth?.size === size && now - growth.at > quietMs && offset + bytes.length >= size,
      },
      this.secrets.redactor,
    );
    return { lines, position: { offset: offset + consumed, skipping } };
  }

  private readEvents(position: FilePosition): { events: unknown[]; position: FilePosition } {
    const size = this.getFileSize('events');
    const offset = size < position.offset ? 0 : position.offset;
    if (size === offset) return { events: [], position: { ...position, offset } };
    let bytes = this.readPiece('events', offset, chunkBytes);
    if (!bytes.includes(10) && offset + bytes.length < size)
      bytes = this.readPiece('events', offset, longestEventBytes);
    let begin = 0;
    if (position.skipping) begin = bytes.indexOf(10) + 1 || bytes.length;
    else if (!bytes.includes(10)) {
      if (bytes.length < longestEventBytes) return { events: [], position: { ...position, offset } };
      this.invalid.push('a line is too long');
      return { events: [], position: { offset: offset + bytes.length, skipping: true } };
    }
    const end = Math.max(begin, bytes.lastIndexOf(10) + 1);
    const lines = bytes.subarray(begin, end).toString('utf8').split('\n').filter(Boolean);
    const skipping = position.skipping && begin === bytes.length && bytes.at(-1) !== 10;
    return { events: lines.map((line) => this.parseEventLine(line)), position: { offset: offset + end, skipping } };
  }

  private parseEventLine(line: string): unknown {
    try {
      const event = JSON.parse(line.replaceAll('\\u0000', '\\ufffd')) as unknown;
      const { redactor, secretRedactor } = this.secrets;
      return (hasValues(event) ? secretRedactor : redactor).redactDeep(event);
    } catch {
      return null;
    }
  }

  private getFileSize(stream: Stream): number {
    const path = join(this.root, files[stream]);
    return existsSync(path) ? statSync(path).size : 0;
  }

  private readPiece(stream: Stream, offset: number, length: number): Buffer {
    const path = join(this.root, files[stream]);
    if (!existsSync(path)) return Buffer.alloc(0);
    const file = openSync(path, 'r');
    try {
      const bytes = Buffer.alloc(Math.max(0, Math.min(length, fstatSync(file).size - offset)));
      return bytes.subarray(0, readSync(file, bytes, 0, bytes.length, offset));
    } finally {
      closeSync(file);
    }
  }
}

/** Whether the event reports values of the run's result, in which sensitive values stay. */
function hasValues(event: unknown): boolean {
  return isObject(event) && ['result', 'claim', 'run_summary'].includes(String(event.type));
}

/** Returns the last result that the script reported; it is redacted already. */
export function readResult(spoolFolder: string): unknown {
  const path = join(spoolFolder, 'result.json');
  return existsSync(path)
    ? (JSON.parse(readFileSync(path, 'utf8')) as NonNullable<ParsedEvents['result']>)[resultKey]
    : undefined;
}
