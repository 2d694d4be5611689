import { decideRecovery, type RecoveryFacts, type RecoveryStep } from './decide-recovery';

const now = new Date('2026-05-04T12:00:00Z');
const getTimeMinutesAgo = (minutes: number) => new Date(now.getTime() - minutes * 60_000);
const facts: RecoveryFacts = {
  status: 'offline',
  provider: 'local',
  unhealthyChecks: 3,
  runReports: false,
  last: null,
  triedAt: {},
};
const decideTestRecovery = (more: Partial<RecoveryFacts> = {}) => decideRecovery({ ...facts, ...more }, now);

describe('auto-recovery', () => {
  it('auto-recovery tries a step after three unhealthy heartbeats, and the next after three more', () => {
    for (const unhealthyChecks of [0, 1, 2]) expect(decideTestRecovery({ unhealthyChecks }).step).toBeNull();
    expect(decideTestRecovery()).toEqual({ step: 'resync', reason: 'unhealthy 3 times in a row' });
    expect(
      decideTestRecovery({ unhealthyChecks: 2, last: 'resync', triedAt: { resync: getTimeMinutesAgo(1) } }).step,
    ).toBeNull();
  });

  it('auto-recovery tries the mildest step first, and then each next step', () => {
    const tried: RecoveryStep[] = [];
    const triedAt: RecoveryFacts['triedAt'] = {};
    for (let last: RecoveryStep | null = null; tried.length < 4;) {
      const { step, reason } = decideTestRecovery({ last, triedAt });
      if (last) expect(reason).toContain('which did not help');
      tried.push(step!);
      triedAt[step!] = getTimeMinutesAgo(1);
      last = step;
    }
    expect(tried).toEqual(['resync', 'repair', 'restart', 'reboot']);
    expect(decideTestRecovery({ last: 'reboot', triedAt })).toEqual({
      step: null,
      reason: 'every recovery step was tried within the last 10 minutes',
    });
  });

  it('auto-recovery tries each step once in 10 minutes, even if the agent was healthy in between', () => {
    expect(decideTestRecovery({ triedAt: { resync: getTimeMinutesAgo(9.9) } }).step).toBe('repair');
    expect(decideTestRecovery({ triedAt: { resync: getTimeMinutesAgo(10) } }).step).toBe('resync');
    const triedAt = {
      resync: getTimeMinutesAgo(11),
      repair: getTimeMinutesAgo(8),
      restart: getTimeMinutesAgo(5),
      reboot: getTimeMinutesAgo(2),
    };
    expect(decideTestRecovery({ last: 'reboot', triedAt }).step).toBe('resync');
  });

  it('auto-recovery tries no step while a run on the machine still reports', () => {
    expect(decideTestRecovery({ runReports: true })).toEqual({ step: null, reason: 'a run on it still reports' });
  });

  it('auto-recovery never reboots an external machine', () => {
    const triedAt = { resync: getTimeMinutesAgo(3), repair: getTimeMinutesAgo(2), restart: getTimeMinutesAgo(1) };
    expect(decideTestRecovery({ provider: 'external', last: 'restart', triedAt }).step).toBeNull();
    expect(decideTestRecovery({ provider: 'http', last: 'restart', triedAt }).step).toBe('reboot');
  });

  it.each(['stopped', 'starting', 'stopping', 'rebooting', 'terminated'] as const)(
    'auto-recovery tries no step on a machine that is %s',
    (status) => expect(decideTestRecovery({ status })).toEqual({ step: null, reason: `it is ${status}` }),
  );
});
