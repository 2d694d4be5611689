import { decideStaleJob } from './decide-stale-job';

const minute = 60_000;
const hour = 60 * minute;

describe('decideStaleJob', () => {
  const now = new Date('2026-03-02T09:00:00.000Z');
  const ago = (ms: number) => new Date(now.getTime() - ms);
  const limits = { lostAfterMs: 15 * minute, stalledAfterMs: hour };
  const facts = {
    status: 'running' as const,
    agentStatus: 'online' as const,
    startedAt: ago(2 * hour),
    maxRuntimeMs: 12 * hour,
    lastReportAt: ago(1000),
    progressAt: ago(1000),
    stalledAt: null as Date | null,
    isAsking: false,
    failStalled: false,
  };

  it('the watchdog does nothing about a run that makes progress', () => {
    expect(decideStaleJob(facts, limits, now)).toEqual({ action: 'none' });
  });

  it('a run of a restored backup fails if its worker does not report within the time for a lost run', () => {
    const old = { ...facts, startedAt: ago(13 * hour), lastReportAt: ago(3 * hour) };
    const restored = (ms: number) => ({ ...limits, restoredAt: ago(ms) });
    expect(decideStaleJob(old, restored(10 * minute), now)).toEqual({ action: 'none' });
    expect(decideStaleJob(old, restored(15 * minute), now)).toMatchObject({ action: 'fail', code: 'lost_in_recovery' });
    expect(decideStaleJob(facts, restored(hour), now)).toEqual({ action: 'none' });
  });

  it('the time limit of a run is checked before missing reports', () => {
    const both = { ...facts, startedAt: ago(12 * hour), lastReportAt: ago(hour) };
    expect(decideStaleJob(both, limits, now)).toMatchObject({ action: 'fail', code: 'execution_timeout' });
  });

  it.each([
    ['stopped', 'The agent was stopped (15 min).'],
    ['rebooting', 'The agent went offline (15 min).'],
    ['online', 'The agent no longer reports the run (15 min).'],
  ] as const)('the error of a lost run describes an agent with the status %s', (agentStatus, reason) => {
    const lost = { ...facts, agentStatus, lastReportAt: ago(15 * minute) };
    expect(decideStaleJob(lost, limits, now)).toEqual({ action: 'fail', code: 'agent_not_ready', reason });
  });

  it('a run that waits for a person is not stalled, but fails if it no longer reports', () => {
    const asking = { ...facts, progressAt: ago(2 * hour), isAsking: true, failStalled: true };
    expect(decideStaleJob(asking, limits, now)).toEqual({ action: 'none' });
    expect(decideStaleJob({ ...asking, lastReportAt: ago(hour) }, limits, now).action).toBe('fail');
  });

  it('a stalled run is reported again only if it made progress since', () => {
    const stalled = { ...facts, progressAt: ago(hour), stalledAt: ago(2 * hour) };
    expect(decideStaleJob(stalled, limits, now).action).toBe('report');
    expect(decideStaleJob({ ...stalled, stalledAt: ago(minute) }, limits, now).action).toBe('none');
    expect(decideStaleJob({ ...stalled, stalledAt: ago(minute), failStalled: true }, limits, now).action).toBe('fail');
  });
});
