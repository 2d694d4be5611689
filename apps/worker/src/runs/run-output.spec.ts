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

  const getPath = (file: string) => join(folder, file);
  const appendStdout = (text: string) => appendFileSync(getPath('stdout.log'), text);
  const appendEvent = (line: object) => appendFileSync(getPath('events.jsonl'), `${JSON.stringify(line)}\n`);
  const readOutput = () => output.readNewOutput(false, 1000);
  const listSpooledItems = (stream: 'logs' | 'events') =>
    spool
      .readNextEntries(stream, { items: 1000, bytes: 1_000_000 })
      .map(({ item }) => (item.kind === 'log' ? item.entry.message : item.kind));

  it('output that was read is not read again while its file does not grow', () => {
    appendStdout('one\n');
    appendEvent({ type: 'step_started', name: 'Sign in' });
    expect(readOutput()).toBe(true);
    expect(readOutput()).toBe(false);
    const [logs, events] = [listSpooledItems('logs'), listSpooledItems('events')];
    appendEvent({ type: 'step_started', name: 'Search' });
    expect(readOutput()).toBe(true);
    expect(listSpooledItems('logs')).toEqual(logs);
    expect(listSpooledItems('events')).toHaveLength(2 * events.length);
    appendStdout('two\n');
    expect(readOutput()).toBe(true);
    expect(listSpooledItems('logs')).toEqual(['one', 'two']);
    expect(listSpooledItems('events')).toHaveLength(2 * events.length);
  });

  it('output is read from the beginning if its file is shorter than the position of the last read', () => {
    appendStdout('a first line\n');
    readOutput();
    truncateSync(getPath('stdout.log'), 0);
    appendStdout('two\n');
    expect(readOutput()).toBe(true);
    expect(listSpooledItems('logs')).toEqual(['a first line', 'two']);
  });

  it('the removal of output that was read leaves an incomplete line, at whose start the next read begins', () => {
    appendStdout('one\ntw');
    readOutput();
    output.removeReadPart();
    expect([output.countReadBytes(), output.countUnreadBytes()]).toEqual([0, 2]);
    appendStdout('o\n');
    readOutput();
    expect(listSpooledItems('logs')).toEqual(['one', 'two']);
  });
});
