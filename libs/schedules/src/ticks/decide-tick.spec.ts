import type { MisfirePolicy } from '@muster/contracts';
import { chooseSize } from '@muster/testing';
import { WallClock } from '../cron/cron-oracle.harness';
import { parseCron } from '../cron/cron-rule';
import { decideScheduledRun, decideScheduleTick, type GuardFacts } from './decide-tick';
import { findNextRun } from '../cron/find-next-run';

jest.setTimeout(240_000);

const schedules = chooseSize('TICK_SCHEDULES', { short: 30, long: 1000 });

const atTime = (time: string) => new Date(`2026-03-02T${time}Z`);

describe('decideScheduleTick', () => {
  const facts = { enabled: true, timezone: 'UTC', misfirePolicy: 'once' as MisfirePolicy };
  const hourly = { ...facts, rule: parseCron('0 * * * *'), nextRunAt: atTime('09:00:00') };
  const everyMinute = { ...facts, rule: parseCron('* * * * *'), nextRunAt: atTime('09:00:00') };

  it('a tick decides nothing for a schedule that is not due or is disabled', () => {
    expect(decideScheduleTick(hourly, atTime('08:59:59.999'))).toEqual({ due: false, reason: 'not_due' });
    expect(decideScheduleTick({ ...hourly, enabled: false }, atTime('09:00:00'))).toEqual({
      due: false,
      reason: 'disabled',
    });
    expect(decideScheduleTick({ ...hourly, nextRunAt: null }, atTime('09:00:00'))).toEqual({
      due: false,
      reason: 'not_due',
    });
  });

  it.each(['once', 'skip', 'all'] as const)(
    'a tick runs a schedule’s time that is at most 60 seconds late, with the policy %s',
    (misfirePolicy) => {
      for (const now of ['09:00:00', '09:00:15', '09:01:00']) {
        expect(decideScheduleTick({ ...hourly, misfirePolicy }, atTime(now))).toEqual({
          due: true,
          dropped: [],
          run: atTime('09:00:00'),
          next: atTime('10:00:00'),
        });
      }
    },
  );

  it.each([
    ['once', { dropped: ['09:00:00', '10:00:00'], run: '11:00:00', next: '12:00:00' }],
    ['skip', { dropped: ['09:00:00', '10:00:00', '11:00:00'], run: null, next: '12:00:00' }],
    ['all', { dropped: [], run: '09:00:00', next: '10:00:00' }],
  ] as const)(
    'a tick after an outage runs or drops the missed times by the policy %s',
    (misfirePolicy, { dropped, run, next }) => {
      expect(decideScheduleTick({ ...hourly, misfirePolicy }, atTime('11:30:00'))).toEqual({
        due: true,
        dropped: dropped.map(atTime),
        run: run && atTime(run),
        next: atTime(next),
      });
    },
  );

  it.each([
    ['once', { dropped: ['09:00:00', '10:00:00'], run: '11:00:00', next: '12:00:00' }],
    ['skip', { dropped: ['09:00:00', '10:00:00', '11:00:00'], run: '12:00:00', next: '13:00:00' }],
  ] as const)(
    'after an outage, a scheduled time that is only seconds late runs besides the times that the policy %s selects',
    (misfirePolicy, expected) => {
      const { dropped, run, next } = expected;
      expect(decideScheduleTick({ ...hourly, misfirePolicy }, atTime('12:00:30'))).toEqual({
        due: true,
        dropped: dropped.map(atTime),
        run: atTime(run),
        next: atTime(next),
      });
    },
  );

  it('a tick with the policy all runs the newest hundred missed times, and drops the others', () => {
    const { dropped, runs } = decideAllTicks({ ...everyMinute, misfirePolicy: 'all' }, atTime('12:00:30'));
    expect([dropped.length, runs.length]).toEqual([81, 100]);
    expect(runs.at(-1)).toEqual(atTime('12:00:00').getTime());
  });

  it.each(['once', 'skip', 'all'] as const)(
    'after a restore, a tick with the policy %s drops all times up to the release',
    (misfirePolicy) => {
      const restored = { ...hourly, misfirePolicy, missedUntil: atTime('10:30:00') };
      const { dropped, runs } = decideAllTicks(restored, atTime('11:00:05'));
      expect(dropped).toEqual([atTime('09:00:00').getTime(), atTime('10:00:00').getTime()]);
      expect(runs).toEqual([atTime('11:00:00').getTime()]);
      expect(decideScheduleTick({ ...restored, missedUntil: atTime('08:30:00') }, atTime('09:00:05'))).toMatchObject({
        dropped: [],
        run: atTime('09:00:00'),
      });
    },
  );

  it('a tick decides about each minute of a missed year once, in several decisions', () => {
    const now = new Date('2027-03-02T09:00:30Z');
    const { dropped, runs, decisions } = decideAllTicks(everyMinute, now);
    expect(runs).toEqual([now.getTime() - 90_000, now.getTime() - 30_000]);
    expect(dropped.length + runs.length).toBe(365 * 1440 + 1);
    expect(new Set([...dropped, ...runs]).size).toBe(365 * 1440 + 1);
    expect(decisions).toBeLessThan(600);
  });
});

function decideAllTicks(facts: Parameters<typeof decideScheduleTick>[0], now: Date) {
  const [dropped, runs]: [number[], number[]] = [[], []];
  let { nextRunAt } = facts;
  let decisions = 0;
  for (;;) {
    const decision = decideScheduleTick({ ...facts, nextRunAt }, now);
    if (!decision.due) return { dropped, runs, decisions, nextRunAt };
    decisions += 1;
    dropped.push(...decision.dropped.map(Number));
    if (decision.run) runs.push(decision.run.getTime());
    nextRunAt = decision.next;
  }
}

describe(`decideScheduleTick for a year of ${schedules} schedules in twelve timezones, with outages`, () => {
  const zones = [
    'Africa/Cairo',
    'Africa/Casablanca',
    'America/Havana',
    'America/New_York',
    'America/Santiago',
    'America/St_Johns',
    'Asia/Beirut',
    'Asia/Kathmandu',
    'Australia/Lord_Howe',
    'Europe/London',
    'Pacific/Chatham',
    'UTC',
  ];
  const year = { from: Date.UTC(2026, 0, 1), until: Date.UTC(2027, 0, 1) };
  const hour = 3_600_000;
  const outages = [
    ['2026-01-20T03:00:07Z', 0.02],
    ['2026-03-08T05:30:00Z', 4],
    ['2026-03-29T00:30:00Z', 30],
    ['2026-04-23T21:30:00Z', 3],
    ['2026-07-01T00:00:00Z', 96],
    ['2026-09-06T02:00:00Z', 5],
    ['2026-10-03T14:00:00Z', 2.5],
    ['2026-11-01T04:00:00Z', 3],
    ['2026-12-24T12:00:00Z', 170],
  ].map(
    ([from, hours]) => [Date.parse(from as string), Date.parse(from as string) + (hours as number) * hour] as const,
  );
  const tickMs = 15_000;

  /** Returns the first tick at or after this time. */
  const tickFor = (time: number): number => {
    let tick = Math.ceil((time - 4000) / tickMs) * tickMs + 4000;
    for (const [from, until] of outages) {
      if (tick >= from && tick < until) tick = Math.ceil((until - 4000) / tickMs) * tickMs + 4000;
    }
    return tick;
  };

  it('decideScheduleTick runs and drops the same times as an independent implementation of the policies', () => {
    const random = createSeededRandomNumbers(20260101);
    const clocks = new Map(
      zones.map((zone) => [zone, new WallClock(zone, new Date(year.from - 24 * hour), new Date(year.until))]),
    );
    let launched = 0;
    let dropped = 0;
    for (let index = 0; index < schedules; index += 1) {
      const zone = zones[index % zones.length]!;
      const expression = createRandomExpression(random);
      const misfirePolicy = (['once', 'skip', 'all'] as const)[Math.floor(random() * 3)]!;
      const nominal = clocks
        .get(zone)!
        .listExpectedRuns(expression)
        .filter((time) => time >= year.from);
      const wanted = computeExpectedRuns(nominal, misfirePolicy);
      const rule = parseCron(expression);
      const found: typeof wanted = { runs: [], dropped: [] };
      let nextRunAt = findNextRun(rule, zone, new Date(year.from - 1))?.at ?? null;
      while (nextRunAt && tickFor(nextRunAt.getTime()) < year.until) {
        const now = new Date(tickFor(nextRunAt.getTime()));
        const step = decideAllTicks({ enabled: true, rule, timezone: zone, misfirePolicy, nextRunAt }, now);
        found.runs.push(...step.runs);
        found.dropped.push(...step.dropped);
        nextRunAt = step.nextRunAt;
      }
      const [a, b] = [JSON.stringify(found), JSON.stringify(wanted)];
      if (a !== b)
        expect({ zone, expression, misfirePolicy, ...found }).toEqual({ zone, expression, misfirePolicy, ...wanted });
      launched += found.runs.length;
      dropped += found.dropped.length;
    }
    expect(launched).toBeGreaterThan(schedules * 100);
    expect(dropped).toBeGreaterThan(schedules);
  });

  /** A second implementation of the policies: returns which of the times that one tick finds run. */
  function computeExpectedRuns(nominal: number[], policy: MisfirePolicy): { runs: number[]; dropped: number[] } {
    const byTick = new Map<number, number[]>();
    for (const time of nominal) {
      const tick = tickFor(time);
      if (tick < year.until) byTick.set(tick, [...(byTick.get(tick) ?? []), time]);
    }
    const runs: number[] = [];
    const out: number[] = [];
    for (const [tick, times] of byTick) {
      const missed = times.filter((time) => tick - time > 60_000);
      const late = times.filter((time) => tick - time <= 60_000);
      const newest = policy === 'all' && missed.length ? 100 - late.length : policy === 'once' ? 1 : 0;
      const madeUp = missed.slice(Math.max(0, missed.length - newest), missed.length);
      out.push(...missed.slice(0, missed.length - madeUp.length));
      runs.push(...(newest === 0 ? [] : madeUp), ...late);
    }
    return { runs, dropped: out };
  }
});

/** Returns mostly times of day, as people write them, and some rules that run all day. */
function createRandomExpression(random: () => number): string {
  const pickRandom = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)]!;
  const upTo = (max: number) => Math.floor(random() * (max + 1));
  const minute = pickRandom([
    `${upTo(59)}`,
    '0',
    '30',
    `${upTo(29)},${30 + upTo(29)}`,
    '*/20',
    `${upTo(20)}-${40 + upTo(19)}/15`,
  ]);
  const hours = pickRandom([`${upTo(23)}`, '0', '1', '2', '3', '0-3', `${upTo(11)},${12 + upTo(11)}`, '*/6', '*']);
  const days = pickRandom(['*', '*', '*', `${1 + upTo(27)}`, '1-7', '*/2', '29,31']);
  const months = pickRandom(['*', '*', '*', '3,4,9-11', 'JAN-JUN']);
  return `${minute} ${hours} ${days} ${months} ${pickRandom(['*', '*', 'MON-FRI', '0', 'SAT,SUN'])}`;
}

/** Returns a generator of the same numbers every time (mulberry32). */
function createSeededRandomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

describe('decideScheduledRun', () => {
  const now = atTime('09:00:00');
  const open: GuardFacts = {
    concurrencyLimit: null,
    openRuns: 0,
    idempotencyWindowMinutes: null,
    lastLaunchedAt: null,
    gate: { canLaunchRuns: true, reason: null },
    agent: { status: 'online', provider: 'local', drain: null },
    autoWake: true,
    missingSecrets: [],
    force: false,
  };
  const changeAgent = (change: Partial<NonNullable<GuardFacts['agent']>>) => ({ agent: { ...open.agent!, ...change } });
  const closed: [Partial<GuardFacts>, string][] = [
    [{ concurrencyLimit: 2, openRuns: 2 }, 'concurrency_limit'],
    [{ idempotencyWindowMinutes: 10, lastLaunchedAt: atTime('08:50:00.001') }, 'idempotency_window'],
    [{ gate: { canLaunchRuns: false, reason: 'suspended' } }, 'billing_gate'],
    [changeAgent({ status: 'offline', provider: 'external' }), 'agent_not_ready'],
    [{ missingSecrets: ['A'] }, 'secret_missing'],
  ];

  it('a scheduled run is launched if every guard allows it', () => {
    expect(decideScheduledRun(open, now)).toEqual({ launch: true, wake: false });
    expect(decideScheduledRun({ ...open, concurrencyLimit: 2, openRuns: 1 }, now)).toMatchObject({ launch: true });
    expect(
      decideScheduledRun({ ...open, idempotencyWindowMinutes: 10, lastLaunchedAt: atTime('08:50:00') }, now),
    ).toMatchObject({
      launch: true,
    });
  });

  it.each(closed)('a scheduled run with %j is skipped as %s', (change, reason) => {
    expect(decideScheduledRun({ ...open, ...change }, now)).toMatchObject({
      launch: false,
      reason,
      detail: expect.any(String),
    });
    expect(decideScheduledRun({ ...open, ...change, force: true }, now)).toMatchObject({ launch: false, reason });
  });

  it('a scheduled run with a target is launched if an agent fits, and wakes an agent only if a user requested the run', () => {
    const placed = { ...open, agent: null, targetFits: true, autoWake: false };
    expect(decideScheduledRun(placed, now)).toEqual({ launch: true, wake: false });
    expect(decideScheduledRun({ ...placed, force: true }, now)).toEqual({ launch: true, wake: true });
    const misfit = { ...placed, targetFits: false, force: true };
    expect(decideScheduledRun(misfit, now)).toMatchObject({ launch: false, reason: 'no_agent_fits' });
  });

  it('the reason of a skipped run is the first guard that forbids it', () => {
    for (let first = 0; first < closed.length; first += 1) {
      const remaining = Object.assign({}, ...closed.slice(first).map(([change]) => change));
      expect(decideScheduledRun({ ...open, ...remaining }, now)).toMatchObject({ reason: closed[first]![1] });
    }
  });

  it.each([
    ['starting', {}, { launch: true, wake: false }],
    ['rebooting', {}, { launch: true, wake: false }],
    ['stopped', {}, { launch: true, wake: false }],
    ['offline', {}, { launch: true, wake: false }],
    ['stopping', {}, { launch: true, wake: false }],
    ['stopped', { autoWake: false }, { launch: false, reason: 'agent_not_ready', wakeBlocked: true }],
    ['stopped', { autoWake: false, force: true }, { launch: true, wake: true }],
    ['draining', { force: true }, { launch: false, reason: 'agent_not_ready' }],
    ['terminated', { force: true }, { launch: false, reason: 'agent_not_ready' }],
  ] as const)(
    'a scheduled run is launched or skipped depending on the agent’s status %s with %j',
    (status, change, expected) => {
      expect(decideScheduledRun({ ...open, ...changeAgent({ status }), ...change }, now)).toMatchObject(expected);
    },
  );
});
