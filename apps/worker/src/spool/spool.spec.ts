import { appendFileSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createFirstState } from '../runs/run-state';
import { Spool } from './spool';
import type { Item } from './spool-item';

describe('The spool', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'muster-spool-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const all = { items: 1000, bytes: 1_000_000 };
  const first = createFirstState('job', 'nowhere');
  const buildLogItem = (seq: number, message = 'm'): Item => ({
    kind: 'log',
    entry: { level: 'info', message, timestamp: 1, seq },
  });
  const buildStepItem = (seq: number): Item => ({ kind: 'step', body: { stepOrder: seq, status: 'running', seq } });
  const listSequenceNumbers = (spool: Spool, stream: 'logs' | 'events', limits = all) =>
    spool
      .readNextEntries(stream, limits)
      .map(({ item }) => (item.kind === 'log' ? item.entry.seq : (item as { body: Record<string, unknown> }).body.seq));

  it('the spool keeps the order of its items and the position of each stream across a restart', () => {
    const spool = Spool.createSpool(folder, first);
    spool.appendItems([buildLogItem(1), buildStepItem(1), buildLogItem(2)], { ...first, logSeq: 2 });
    spool.appendItems([buildStepItem(2), buildLogItem(3)], { ...first, logSeq: 3 });
    const [one, two] = spool.readNextEntries('logs', all);
    expect(one!.item).toEqual(buildLogItem(1));
    spool.markDelivered('logs', two!.after, 'key');
    spool.markDelivered('events', spool.readNextEntries('events', { items: 1, bytes: 1 })[0]!.after);
    spool.close();

    const again = Spool.openSpool(folder)!;
    expect([listSequenceNumbers(again, 'logs'), listSequenceNumbers(again, 'events')]).toEqual([[3], [2]]);
    expect([again.state.logSeq, again.screenshotKey]).toEqual([3, 'key']);
    again.close();
  });

  it('the spool drops an incomplete record and the state in that record', () => {
    const spool = Spool.createSpool(folder, first);
    spool.appendItems([buildLogItem(1)], { ...first, logSeq: 1 });
    spool.close();
    const [segment] = readdirSync(folder).filter((name) => name.endsWith('.jsonl'));
    appendFileSync(join(folder, segment!), 'l {"items":[{"kind":"log","entry":{"seq":2');
    const again = Spool.openSpool(folder)!;
    expect(again.state.logSeq).toBe(1);
    again.appendItems([buildLogItem(2)], { ...first, logSeq: 2 });
    expect(listSequenceNumbers(again, 'logs')).toEqual([1, 2]);
    again.close();
  });

  it('the spool deletes the segments that all streams have delivered', () => {
    const spool = Spool.createSpool(folder, first);
    const message = 'x'.repeat(16_000);
    for (let seq = 1; seq <= 600; seq += 1) spool.appendItems([buildLogItem(seq, message)], { ...first, logSeq: seq });
    expect(spool.bytes).toBeGreaterThan(600 * message.length);
    const delivered: unknown[] = [];
    for (
      let entries = spool.readNextEntries('logs', all);
      entries.length;
      entries = spool.readNextEntries('logs', all)
    ) {
      expect(entries.length).toBeLessThan(65);
      delivered.push(...entries.map(({ item }) => item.kind === 'log' && item.entry.seq));
      spool.markDelivered('logs', entries.at(-1)!.after);
      for (const stream of ['events', 'uploads'] as const) expect(spool.isStreamDrained(stream)).toBe(true);
    }
    expect(delivered).toEqual(Array.from({ length: 600 }, (_, index) => index + 1));
    expect(readdirSync(folder).filter((name) => name.endsWith('.jsonl'))).toHaveLength(1);
    expect(spool.bytes).toBe(0);
    spool.close();
  });
});
