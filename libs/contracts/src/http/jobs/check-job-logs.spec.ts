import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import fc from 'fast-check';
import { JobLogsBody } from './callbacks';
import { checkJobLogs } from './check-job-logs';

const entry = { jobId: '0192f0c4-7b8e-7d3a-9c55-2f4a6b8c0d1e', level: 'info', message: 'x', timestamp: 1, seq: 1 };

function decoratorsAccept(body: unknown): boolean {
  const instance = plainToInstance(JobLogsBody, structuredClone(body));
  return validateSync(instance, { whitelist: true }).length === 0;
}

describe('the quick check of log batches', () => {
  it('accepts what workers send, and drops fields that it does not know', () => {
    const { seq: _seq, ...bare } = entry;
    expect(checkJobLogs({ logs: [entry, { ...entry, surprise: 1 }, bare], more: 1 })).toEqual({
      logs: [entry, entry, bare],
    });
  });

  it('knows an id in capitals, as the decorators do', () => {
    const body = { logs: [entry, { ...entry, jobId: entry.jobId.toUpperCase() }] };
    expect(checkJobLogs(body)).toEqual({ logs: [entry, entry] });
    expect(plainToInstance(JobLogsBody, body).logs.map(({ jobId }) => jobId)).toEqual([entry.jobId, entry.jobId]);
  });

  it('never accepts what the decorators refuse', () => {
    const odd = fc.oneof(
      fc.constantFrom(null, undefined, '', -1, 1.5, NaN, Infinity, 2 ** 53, true, [], {}, 'info', 'INFO', entry.jobId),
      fc.string(),
      fc.double(),
      fc.integer(),
    );
    const mutated = fc
      .record({ key: fc.constantFrom('jobId', 'level', 'message', 'timestamp', 'seq'), value: odd })
      .map(({ key, value }) => ({ ...entry, [key]: value }));
    const body = fc.oneof(odd, fc.array(fc.oneof(mutated, fc.constant(entry), odd), { maxLength: 4 }));
    fc.assert(
      fc.property(body, (logs) => {
        if (checkJobLogs({ logs }) !== null) expect(decoratorsAccept({ logs })).toBe(true);
      }),
      { numRuns: 2000 },
    );
    for (const jobId of [undefined, null, '']) expect(checkJobLogs({ logs: [{ ...entry, jobId }] })).toBeNull();
    expect(checkJobLogs({ logs: Array.from({ length: 1001 }, () => entry) })).toBeNull();
    expect(checkJobLogs({ logs: [{ ...entry, message: 'x'.repeat(65_537) }] })).toBeNull();
  });
});
