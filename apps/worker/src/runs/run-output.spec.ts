import { appendFileSync, mkdtempSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Spool } from '../spool/spool';
import { KnownSecrets } from './redactor';
import { RunOutput } from './run-output';
import { createFirstState } from './run-state';

describe('the output of a run', () => {
  let folder: string;
  let spool: Spool;
  let output: RunOutput;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'muster-output-'));
    spool = Spool.createSpool(join(folder, 'spool'), createFirstState('job', folder));
    output = new RunOutput(folder, spool, new KnownSecrets([]));
  });
  afterEach(() => {
    spool.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const path = (file: string) => join(folder, file);
  const print = (text: string) => appendFileSync(path('stdout.log'), text);
  const report = (line: object) => appendFileSync(path('events.jsonl'), `${JSON.stringify(line)}\n`);
  const read = () => output.readNewOutput(false, 1000);
  const list = (stream: 'logs' | 'events') =>
    spool
      .readNextEntries(stream, { items: 1000, bytes: 1_000_000 })
      .map(({ item }) => (item.kind === 'log' ? item.entry.message : item.kind));

  it('output that was read is not read again while its file does not grow', () => {
    print('one\n');
    report({ type: 'step_started', name: 'Sign in' });
    expect(read()).toBe(true);
    expect(read()).toBe(false);
    const [logs, events] = [list('logs'), list('events')];
    report({ type: 'step_started', name: 'Search' });
    expect(read()).toBe(true);
    expect(list('logs')).toEqual(logs);
    expect(list('events')).toHaveLength(2 * events.length);
    print('two\n');
    expect(read()).toBe(true);
    expect(list('logs')).toEqual(['one', 'two']);
    expect(list('events')).toHaveLength(2 * events.length);
  });

  it('output is read from the beginning if its file is shorter than the position of the last read', () => {
    print('a first line\n');
    read();
    truncateSync(path('stdout.log'), 0);
    print('two\n');
    expect(read()).toBe(true);
    expect(list('logs')).toEqual(['a first line', 'two']);
  });

  it('the removal of the part that was read leaves an incomplete line, and moves the position to its start', () => {
    print('one\ntw');
    read();
    output.removeReadPart();
    expect([output.countReadBytes(), output.countUnreadBytes()]).toEqual([0, 2]);
    print('o\n');
    read();
    expect(list('logs')).toEqual(['one', 'two']);
  });
});
