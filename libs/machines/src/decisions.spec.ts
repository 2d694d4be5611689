import type { IdleStopPolicy } from '@muster/contracts';
import { decideFinalStatus } from './orders/finish-order';
import { runEnded } from './activity/activity';
import { decideIdleStop } from './idle/decide-idle-stop';
import { explainSilence } from './life/fail-silent-agents';
import { decideHeartbeatMove } from './reports/decide-heartbeat-move';
import { explainAgent } from './registry/explain-agent';

const now = new Date('2026-03-02T09:00:00.000Z');
const getTimeMinutesAgo = (minutes: number) => new Date(now.getTime() - minutes * 60_000);

describe('why a machine is on, and until when', () => {
  const agent = {
    status: 'online' as const,
    statusSince: getTimeMinutesAgo(60),
    statusReason: 'the worker reported',
    provider: 'local' as const,
    lastActivityAt: getTimeMinutesAgo(10),
    lastSeen: getTimeMinutesAgo(1),
    lastActivity: 'a job’s log',
    idleAutoStopExempt: false,
    drain: null,
    idleStopFailedAt: null,
    onSince: getTimeMinutesAgo(90),
    silentSince: null,
    running: false,
    queued: false,
    commands: false,
    waking: false,
    autoStopEnabled: true,
    idleStopMinutes: 30,
    computeMicrosPerHour: 120_000,
    prewake: true,
    bootMs: 60_000,
    autopilotSessionId: null,
    idleStopPolicy: 'fixed' as IdleStopPolicy,
    gaps: null as number[] | null,
  };
  const explainMachine = (
    facts: Parameters<typeof explainAgent>[0],
    expected: Parameters<typeof explainAgent>[1] = null,
  ) => explainAgent(facts, expected, now);
  const makeScheduledRun = (minutes: number) => ({ name: 'Nightly claims', at: getTimeMinutesAgo(-minutes) });

  it('a machine’s idle time starts at its last activity or, if there is none, when its agent came online', () => {
    expect(explainMachine(agent).stopAt).toEqual(new Date('2026-03-02T09:20:00.000Z'));
    const neverActive = { ...agent, lastActivityAt: null };
    expect(explainMachine(neverActive)).toEqual({
      stopAt: new Date('2026-03-02T08:30:00.000Z'),
      why: expect.stringContaining('about to be stopped'),
      reason: 'idle',
    });
  });

  it.each([
    ['The machine did not report in time.', ': The machine did not report in time. It will be stopped at'],
    ['the worker reported', ': the worker reported. It will be stopped at'],
    ['', '2026-03-02T08:00:00.000Z. It will be stopped at'],
  ])('the explanation of a machine has exactly one full stop after the status reason %p', (statusReason, part) => {
    expect(explainMachine({ ...agent, statusReason }).why).toContain(part);
  });

  it('the explanation of a machine names the last activity and the cost since the start', () => {
    const { why } = explainMachine(agent);
    expect(why).toContain('Last activity: a job’s log at 2026-03-02T08:50:00.000Z.');
    expect(why).toContain('It has been on since 2026-03-02T07:30:00.000Z and has cost about $0.18 since then.');
    expect(explainMachine({ ...agent, status: 'stopped', onSince: null }).why).not.toContain('$');
  });

  it.each([
    [{ running: true }, 'it has work'],
    [{ queued: true }, 'it has work'],
    [{ commands: true }, 'a command is in progress'],
    [{ waking: true }, 'it is being woken'],
    [{ drain: 'finish' as const }, 'it is being drained'],
    [{ status: 'draining' as const }, 'it is being drained'],
    [{ idleAutoStopExempt: true }, 'it is pinned'],
    [{ autoStopEnabled: false }, 'idle stop is off'],
    [{ provider: 'external' as const }, 'its machine is external and cannot be stopped by the service'],
  ])('a machine with %j stays on, and its explanation contains the reason', (facts, reason) => {
    const { stopAt, why } = explainMachine({ ...agent, ...facts });
    expect([stopAt, why]).toEqual([null, expect.stringContaining(`It stays on: ${reason}.`)]);
  });

  it.each([
    [{ status: 'offline' as const, lastSeen: null, statusReason: 'it was created' }, 'never connected'],
    [{ status: 'offline' as const, statusReason: 'no heartbeat for 120 s' }, 'no heartbeat for 120 s'],
    [{ status: 'stopped' as const, statusReason: 'idle for 30 min, the limit is 30 min' }, 'idle for 30 min'],
    [{ running: true }, 'running a job'],
    [{ idleAutoStopExempt: true }, 'kept on: pinned'],
    [{ autoStopEnabled: false }, 'kept on: idle stop is off'],
    [{ queued: true }, 'kept on: has work'],
    [{ provider: 'external' as const }, 'switched on and off by hand'],
  ])('the explanation of an agent with %j has a short reason', (facts, reason) => {
    expect(explainMachine({ ...agent, ...facts }).reason).toBe(reason);
  });

  it('the explanation of a machine names its next scheduled run and when the machine is woken for it', () => {
    expect(explainMachine(agent, makeScheduledRun(50)).why).toContain(
      'It will be stopped at 2026-03-02T09:20:00.000Z if it stays idle. Last activity: a job’s log at 2026-03-02T08:50:00.000Z. ' +
        'Next it expects the run of Nightly claims at 2026-03-02T09:50:00.000Z. It has been on since',
    );
    const stopped = { ...agent, status: 'stopped' as const, onSince: null };
    expect(explainMachine(stopped, makeScheduledRun(50)).why).toContain(
      'at 2026-03-02T09:50:00.000Z, and is woken for it at 2026-03-02T09:48:51.000Z.',
    );
    expect(explainMachine({ ...stopped, prewake: false }, makeScheduledRun(50)).why).toMatch(
      /at 2026-03-02T09:50:00.000Z\.$/,
    );
    // The time at which the machine is started ahead of its schedule has passed. The machine was started, and a user
    // has stopped it since.
    expect(explainMachine(stopped, makeScheduledRun(1)).why).toMatch(/at 2026-03-02T09:01:00.000Z\.$/);
  });

  it('a machine stays on for a scheduled run that is due soon, and until shortly after its time', () => {
    const held = explainMachine(agent, makeScheduledRun(21));
    expect(held.stopAt).toEqual(new Date('2026-03-02T09:22:00.000Z'));
    expect(explainMachine(agent, makeScheduledRun(21.5)).stopAt).toEqual(new Date('2026-03-02T09:20:00.000Z'));
    expect(explainMachine({ ...agent, prewake: false }, makeScheduledRun(21)).stopAt).toEqual(
      new Date('2026-03-02T09:20:00.000Z'),
    );
    const over = { ...agent, lastActivityAt: getTimeMinutesAgo(40), expected: makeScheduledRun(-1) };
    expect(decideIdleStop(over, now)).toMatchObject({ action: 'stop' });
    expect(decideIdleStop({ ...over, expected: makeScheduledRun(-0.5) }, now)).toMatchObject({
      action: 'wait',
      reason: 'the run of Nightly claims is expected at 2026-03-02T08:59:30.000Z',
    });
  });

  it('the explanation of a machine has a stop time only if the machine may be on', () => {
    for (const status of ['stopped', 'starting', 'stopping', 'rebooting', 'terminated'] as const) {
      const { stopAt, why } = explainMachine({ ...agent, status, onSince: null });
      expect([stopAt, why.endsWith('Z: the worker reported.')]).toEqual([null, true]);
    }
  });

  it('a silent machine is stopped a full idle limit after it fell silent, even if a job waits for it', () => {
    const lastActivityAt = getTimeMinutesAgo(60);
    const offline = { ...agent, lastActivityAt, status: 'offline' as const, statusSince: getTimeMinutesAgo(5) };
    const silent = { ...offline, silentSince: getTimeMinutesAgo(5), queued: true };
    expect(explainMachine(silent).stopAt).toEqual(new Date('2026-03-02T09:25:00.000Z'));
    expect(decideIdleStop({ ...silent, expected: null, silentSince: getTimeMinutesAgo(30) }, now).action).toBe('stop');
    expect(
      decideIdleStop({ ...silent, expected: null, running: true, silentSince: getTimeMinutesAgo(90) }, now).action,
    ).toBe('stay');
  });
});

describe('an idle stop', () => {
  const idle = {
    status: 'online' as const,
    statusSince: getTimeMinutesAgo(90),
    provider: 'ec2' as const,
    lastActivityAt: getTimeMinutesAgo(30),
    lastActivity: null as string | null,
    idleAutoStopExempt: false,
    drain: null,
    silentSince: null,
    idleStopFailedAt: null as Date | null,
    running: false,
    queued: false,
    commands: false,
    waking: false,
    autoStopEnabled: true,
    idleStopMinutes: 30,
    prewake: true,
    bootMs: 60_000,
    autopilotSessionId: null,
    idleStopPolicy: 'fixed' as IdleStopPolicy,
    gaps: null as number[] | null,
    expected: null,
  };

  it('an idle machine is stopped at the limit and not earlier', () => {
    expect(decideIdleStop(idle, now)).toMatchObject({ action: 'stop', reason: 'idle for 30 min, the limit is 30 min' });
    expect(decideIdleStop(idle, new Date(now.getTime() - 1)).action).toBe('wait');
  });

  it('the adaptive policy stops a machine at the learned time, states why, and never exceeds the limit', () => {
    const adaptive = { ...idle, idleStopPolicy: 'adaptive' as const, lastActivity: runEnded };
    const seldom = {
      ...adaptive,
      lastActivityAt: getTimeMinutesAgo(0.1),
      gaps: Array.from({ length: 12 }, () => 7_200_000),
    };
    expect(decideIdleStop(seldom, now)).toMatchObject({
      action: 'stop',
      reason:
        'idle for 6 s, another start is cheaper than staying on: judging by its last 12 idle times, its next run starts after more than 30 min',
    });
    const often = {
      ...adaptive,
      lastActivityAt: getTimeMinutesAgo(1),
      gaps: Array.from({ length: 12 }, () => 120_000),
    };
    expect(decideIdleStop(often, now)).toMatchObject({
      action: 'wait',
      stopAt: getTimeMinutesAgo(-1),
      expects: 'judging by its last 12 idle times, its next run starts within 2 min',
    });
    expect(decideIdleStop({ ...often, idleStopMinutes: 0.5 }, now).action).toBe('stop');
    const quick = { ...adaptive, lastActivityAt: getTimeMinutesAgo(0.2), gaps: Array.from({ length: 12 }, () => 1300) };
    expect(decideIdleStop(quick, now)).toMatchObject({
      action: 'stop',
      reason:
        'idle for 12 s, another start is cheaper than staying on: judging by its last 12 idle times, its next run starts within 1 s, ' +
        'but it has not started',
    });
    expect(decideIdleStop({ ...adaptive, gaps: null, lastActivityAt: getTimeMinutesAgo(4.9) }, now).action).toBe(
      'wait',
    );
    expect(decideIdleStop({ ...adaptive, gaps: null, lastActivityAt: getTimeMinutesAgo(5) }, now).action).toBe('stop');
  });

  it('the adaptive policy waits the whole limit if the last activity was not the end of a run', () => {
    const gaps = Array.from({ length: 12 }, () => 7_200_000);
    for (const lastActivity of ['activity that a client reported', 'its handshake', null]) {
      const facts = { ...idle, idleStopPolicy: 'adaptive' as const, gaps, lastActivity };
      expect(decideIdleStop({ ...facts, lastActivityAt: getTimeMinutesAgo(29) }, now).action).toBe('wait');
      expect(decideIdleStop(facts, now).action).toBe('stop');
    }
  });

  it('the adaptive policy keeps a machine on for the same reasons as the fixed one', () => {
    const gaps = Array.from({ length: 12 }, () => 7_200_000);
    const adaptive = { ...idle, idleStopPolicy: 'adaptive' as const, lastActivity: runEnded, gaps };
    const reasons = [
      { running: true },
      { queued: true },
      { commands: true },
      { waking: true },
      { drain: 'finish' as const },
      { idleAutoStopExempt: true },
      { autoStopEnabled: false },
      { provider: 'external' as const },
    ];
    for (const facts of reasons) expect(decideIdleStop({ ...adaptive, ...facts }, now).action).toBe('stay');
  });

  it('a failed idle stop is tried again after a pause', () => {
    expect(decideIdleStop({ ...idle, idleStopFailedAt: getTimeMinutesAgo(29) }, now).action).toBe('wait');
    expect(decideIdleStop({ ...idle, idleStopFailedAt: getTimeMinutesAgo(30) }, now).action).toBe('stop');
    const short = { ...idle, idleStopMinutes: 0.05, idleStopFailedAt: getTimeMinutesAgo(0.5) };
    expect(decideIdleStop(short, now).action).toBe('wait');
  });

  it('activity never moves the idle stop to an earlier time', () => {
    for (let minute = 0; minute < 60; minute += 1) {
      const before = decideIdleStop({ ...idle, lastActivityAt: getTimeMinutesAgo(minute + 1) }, now).stopAt!;
      const after = decideIdleStop({ ...idle, lastActivityAt: getTimeMinutesAgo(minute) }, now).stopAt!;
      expect(after.getTime()).toBeGreaterThan(before.getTime());
    }
  });
});

describe('a heartbeat', () => {
  const facts = { status: 'online' as const, healthy: true, unhealthyBefore: 0, unhealthyNow: 0, drain: null };

  it('two unhealthy heartbeats, or heartbeats during a stop or reboot, do not change the agent’s status', () => {
    expect(decideHeartbeatMove(facts)).toBeNull();
    expect(decideHeartbeatMove({ ...facts, healthy: false, unhealthyNow: 2 })).toBeNull();
    for (const status of ['starting', 'stopping', 'rebooting', 'stopped', 'terminated'] as const) {
      if (status !== 'starting') expect(decideHeartbeatMove({ ...facts, status })).toBeNull();
      expect(decideHeartbeatMove({ ...facts, status, healthy: false, unhealthyNow: 9 })).toBeNull();
    }
    expect(decideHeartbeatMove({ ...facts, status: 'offline', healthy: false, unhealthyNow: 4 })).toBeNull();
  });

  it('a healthy heartbeat moves an offline or starting agent to online', () => {
    for (const status of ['offline', 'starting'] as const) {
      expect(decideHeartbeatMove({ ...facts, status })).toMatchObject({ to: 'online', recovered: true });
    }
    expect(decideHeartbeatMove({ ...facts, status: 'offline', drain: 'now' })?.to).toBe('draining');
  });
});

describe('silence', () => {
  const agent = { status: 'online' as const, lastSeen: getTimeMinutesAgo(2), statusSince: getTimeMinutesAgo(5) };

  it('an agent that sends no heartbeat for too long is moved to offline', () => {
    expect(explainSilence(agent, now, 120_000)).toBeNull();
    expect(explainSilence(agent, now, 119_999)).toBe('no heartbeat for 120 s');
    expect(explainSilence({ ...agent, status: 'draining' }, now, 1000)).not.toBeNull();
  });

  it('silence is counted from when the agent came online, and only for agents that are online or draining', () => {
    expect(explainSilence({ ...agent, lastSeen: null, statusSince: getTimeMinutesAgo(1) }, now, 90_000)).toBeNull();
    expect(explainSilence({ ...agent, statusSince: getTimeMinutesAgo(1) }, now, 90_000)).toBeNull();
    for (const status of ['offline', 'stopped', 'starting', 'stopping', 'rebooting', 'terminated'] as const) {
      expect(explainSilence({ ...agent, status }, now, 1)).toBeNull();
    }
  });
});

describe('an agent whose machine would not stop', () => {
  const order = { status: 'stopping', previousStatus: 'online', drain: null } as const;

  it('after a failed stop an agent gets its previous status if it still reports, otherwise offline', () => {
    expect(decideFinalStatus(order, true)).toBe('online');
    expect(decideFinalStatus({ ...order, previousStatus: 'draining', drain: 'finish' }, true)).toBe('draining');
    expect(decideFinalStatus({ ...order, previousStatus: 'offline' }, true)).toBe('offline');
    expect(decideFinalStatus(order, false)).toBe('offline');
  });

  it('an agent whose reboot failed is moved to offline', () => {
    expect(decideFinalStatus({ ...order, status: 'rebooting' }, true)).toBe('offline');
  });
});
