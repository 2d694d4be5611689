import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  truncateSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { readJson, writeAtomically } from '../host/files';
import { getStream, streams, type Item, type MissingItem, type Stream } from './spool-item';
import type { RunState } from '../runs/run-state';

/** Position up to which a stream is delivered: item `index` of the record at `offset` is next. */
export interface Position {
  segment: number;
  offset: number;
  index: number;
}
export interface Entry {
  item: Item;
  after: Position;
}
interface Cursor {
  positions: Record<Stream, Position>;
  screenshotKey?: string;
  lacks?: MissingItem[];
}

/** Maximum number of missing items that the service accepts with a run's end. */
const maxMissingItems = 50;
const longestReason = 500;
const segmentBytes = 4 * 1024 * 1024;
const start: Position = { segment: 0, offset: 0, index: 0 };

/**
 * Items of a run that are not delivered yet, on disk and in order. Each record contains some items and the state of the
 * run after them (positions in its output, sequence numbers), so a worker that was killed resumes exactly after the
 * last record. A record is a line: the first letters of its streams, a space, JSON.
 */
export class Spool {
  private readonly sizes = new Map<number, number>();
  private readonly cursor: Cursor;
  private file = -1;
  private last = 0;
  private waiting: (() => void)[] = [];
  private closed = false;
  /** The current record of each stream, so that a record with many events is not parsed again for each event. */
  private readonly parsed = new Map<Stream, RecordAt>();

  private constructor(
    readonly folder: string,
    public state: RunState,
  ) {
    this.cursor = readJson<Cursor>(join(folder, 'cursor.json')) ?? {
      positions: { events: { ...start }, logs: { ...start }, uploads: { ...start } },
    };
  }

  static createSpool(folder: string, state: RunState): Spool {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const spool = new Spool(folder, state);
    spool.openSegment(1);
    spool.appendItems([], state);
    return spool;
  }

  /** Opens an existing spool; returns null if its first record is incomplete. */
  static openSpool(folder: string): Spool | null {
    const segments = listSegments(folder);
    for (const segment of segments) dropIncompleteLine(join(folder, formatSegmentFileName(segment)));
    const state = segments
      .map((segment) => readLastState(join(folder, formatSegmentFileName(segment))))
      .findLast((found) => found);
    if (!state) return null;
    const spool = new Spool(folder, state);
    for (const segment of segments)
      spool.sizes.set(segment, statSync(join(folder, formatSegmentFileName(segment))).size);
    spool.openSegment(segments.at(-1)!);
    return spool;
  }

  /** Number of bytes that are not delivered yet. */
  get bytes(): number {
    const positions = streams.map((stream) => this.cursor.positions[stream]);
    const first = Math.min(...positions.map(({ segment }) => segment));
    const done = Math.min(...positions.filter(({ segment }) => segment === first).map(({ offset }) => offset));
    const waiting = [...this.sizes].filter(([segment]) => segment >= first).map(([, size]) => size);
    return waiting.reduce((sum, size) => sum + size, -done);
  }

  get screenshotKey(): string | undefined {
    return this.cursor.screenshotKey;
  }

  /** Items of the run that the service will never receive. */
  get missingItems(): MissingItem[] {
    return this.cursor.lacks ?? [];
  }

  /**
   * Records that an item will be missing, in the run's log and for the report of the run's end. Does nothing past the
   * limit or if the same item is recorded already, because a script may report the same item ten thousand times.
   */
  recordMissingItem({ kind, reason }: MissingItem): void {
    const missing = { kind, reason: [...reason].slice(0, longestReason).join('') };
    const { missingItems } = this;
    const isNoted = missingItems.some((each) => each.kind === kind && each.reason === missing.reason);
    if (missingItems.length === maxMissingItems || isNoted) return;
    const logSeq = this.state.logSeq + 1;
    const message = `Not delivered, and missing from this run (${kind}): ${missing.reason}`;
    const entry = { level: 'error' as const, message, timestamp: Math.floor(Date.now() / 1000), seq: logSeq };
    this.appendItems([{ kind: 'log', entry }], { ...this.state, logSeq });
    this.cursor.lacks = [...missingItems, missing];
    this.saveCursor();
  }

  appendItems(items: Item[], state: RunState): void {
    if (this.closed) return;
    const letters = [...new Set(items.map((item) => getStream(item)[0]!))].join('');
    const line = Buffer.from(`${letters} ${JSON.stringify({ items, state })}\n`);
    for (let at = 0; at < line.length;) at += writeSync(this.file, line, at);
    this.state = state;
    this.sizes.set(this.last, this.sizes.get(this.last)! + line.length);
    // The end of a run must survive a power cut. Its output can be read again.
    if (state.ended) fsyncSync(this.file);
    if (this.sizes.get(this.last)! > segmentBytes && !state.ended) {
      this.openSegment(this.last + 1);
      this.appendItems([], state);
    }
    this.wakeWaiting();
  }

  /** Returns the next items of a stream, without marking them as delivered. */
  readNextEntries(stream: Stream, limits: { items: number; bytes: number }): Entry[] {
    const found: Entry[] = [];
    let bytes = 0;
    for (let at: Position | null = this.cursor.positions[stream]; at;) {
      const record: RecordAt | null = this.readRecordAt(at, stream);
      if (!record) break;
      for (let index = at.index; index < record.items.length; index += 1) {
        const item = record.items[index]!;
        if (getStream(item) !== stream) continue;
        bytes += Buffer.byteLength(JSON.stringify(item)) + 64;
        if (found.length && (bytes > limits.bytes || found.length >= limits.items)) return found;
        found.push({ item, after: { segment: record.segment, offset: record.offset, index: index + 1 } });
      }
      at = { segment: record.segment, offset: record.end, index: 0 };
      // A stream without items in this record moves past the record. Otherwise the record's segment could never be
      // deleted.
      if (!found.length) this.cursor.positions[stream] = at;
    }
    if (!found.length) this.removeDelivered();
    return found;
  }

  markDelivered(stream: Stream, after: Position, screenshotKey?: string): void {
    if (this.closed) return;
    this.cursor.positions[stream] = after;
    if (screenshotKey) this.cursor.screenshotKey = screenshotKey;
    this.saveCursor();
    this.removeDelivered();
  }

  private saveCursor(): void {
    writeAtomically(join(this.folder, 'cursor.json'), JSON.stringify(this.cursor));
  }

  isStreamDrained(stream: Stream): boolean {
    return this.readNextEntries(stream, { items: 1, bytes: 1 }).length === 0;
  }

  /** Resolves at the next append, or when the spool is closed. */
  waitForAppend(): Promise<void> {
    return this.closed ? Promise.resolve() : new Promise((resolve) => this.waiting.push(resolve));
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    closeSync(this.file);
    this.wakeWaiting();
  }

  remove(): void {
    this.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  private wakeWaiting(): void {
    const waiting = this.waiting;
    this.waiting = [];
    for (const resolve of waiting) resolve();
  }

  private openSegment(segment: number): void {
    if (this.file !== -1) closeSync(this.file);
    this.file = openSync(join(this.folder, formatSegmentFileName(segment)), 'a', 0o600);
    this.last = segment;
    if (!this.sizes.has(segment)) this.sizes.set(segment, 0);
  }

  private readRecordAt(at: Position, stream: Stream): RecordAt | null {
    const segment = [...this.sizes.keys()].find((number) => number >= at.segment);
    if (segment === undefined) return null;
    const offset = segment === at.segment ? at.offset : 0;
    if (offset >= this.sizes.get(segment)!) {
      const later = [...this.sizes.keys()].find((number) => number > segment);
      return later === undefined ? null : this.readRecordAt({ segment: later, offset: 0, index: 0 }, stream);
    }
    const cached = this.parsed.get(stream);
    if (cached?.segment === segment && cached.offset === offset) return cached;
    const line = readLine(join(this.folder, formatSegmentFileName(segment)), offset);
    const space = line.indexOf(32);
    const has = line.subarray(0, space).includes(stream[0]!);
    const items = has ? (JSON.parse(line.subarray(space).toString()) as { items: Item[] }).items : [];
    const record = { segment, offset, end: offset + line.length, items };
    this.parsed.set(stream, record);
    return record;
  }

  private removeDelivered(): void {
    const needed = Math.min(...streams.map((stream) => this.cursor.positions[stream].segment));
    for (const segment of this.sizes.keys()) {
      if (segment >= needed || segment === this.last) continue;
      rmSync(join(this.folder, formatSegmentFileName(segment)), { force: true });
      this.sizes.delete(segment);
    }
  }
}

interface RecordAt {
  segment: number;
  offset: number;
  end: number;
  items: Item[];
}

function formatSegmentFileName(segment: number): string {
  return `${String(segment).padStart(10, '0')}.jsonl`;
}

function listSegments(folder: string): number[] {
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder).filter((name) => /^\d{10}\.jsonl$/.test(name));
  return names.map((name) => Number(name.slice(0, 10))).sort((a, b) => a - b);
}

function dropIncompleteLine(path: string): void {
  const bytes = readFileSync(path);
  const whole = bytes.lastIndexOf(10) + 1;
  if (whole < bytes.length) truncateSync(path, whole);
}

function readLastState(path: string): RunState | undefined {
  const bytes = readFileSync(path);
  if (!bytes.length) return undefined;
  const line = bytes.subarray(bytes.lastIndexOf(10, bytes.length - 2) + 1);
  return (JSON.parse(line.subarray(line.indexOf(32)).toString()) as { state: RunState }).state;
}

function readLine(path: string, offset: number): Buffer {
  const file = openSync(path, 'r');
  try {
    const pieces: Buffer[] = [];
    for (let at = offset, size = 16 * 1024; ; size = 256 * 1024) {
      const piece = Buffer.alloc(size);
      const read = readSync(file, piece, 0, size, at);
      const end = piece.subarray(0, read).indexOf(10);
      if (end !== -1 || read === 0) return Buffer.concat([...pieces, piece.subarray(0, end + 1)]);
      pieces.push(piece.subarray(0, read));
      at += read;
    }
  } finally {
    closeSync(file);
  }
}
