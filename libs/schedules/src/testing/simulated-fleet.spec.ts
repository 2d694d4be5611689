import { chooseSize } from '@muster/testing';
import { simulateFleet } from './simulated-fleet.harness';
import { type FleetFigures, idleTickMs, stepMs } from './simulated-machines.harness';

const agents = chooseSize('FLEET_AGENTS', { short: 25, long: 1000 });
const days = chooseSize('FLEET_DAYS', { short: 7, long: 7 });
const seed = Number(process.env['FLEET_SEED'] ?? 20_260_302);
const idleStopMinutes = 30;
/** In the last two, two thirds of the runs and schedules name no machine. */
const scenarios = {
  fixed: { policy: 'fixed' },
  adaptive: { policy: 'adaptive' },
  'adaptive, running': { policy: 'adaptive', prefer: 'running' },
  'adaptive, spread': { policy: 'adaptive', prefer: 'spread' },
} as const;
type Scenario = keyof typeof scenarios;
const names = Object.keys(scenarios) as Scenario[];

jest.setTimeout(1_800_000);

describe('a simulated fleet with launches, schedules, failures, service restarts and clock jumps', () => {
  const figures = {} as Record<Scenario, FleetFigures>;

  beforeAll(() => {
    for (const name of names)
      figures[name] = simulateFleet({ agents, days, seed, idleStopMinutes, ...scenarios[name] });
    process.stdout.write(table());
  });

  describe.each(names)('with the policy %s', (policy) => {
    it('no simulated machine stays on without work for longer than the idle limit and one tick', () => {
      expect(figures[policy].longestIdleNetMs).toBeLessThanOrEqual(idleStopMinutes * 60_000 + idleTickMs + stepMs);
    });

    it('no simulated job waits for a machine that is not being woken', () => {
      // The dispatch sweep checks such an agent once a minute.
      expect(figures[policy].longestUnattendedMs).toBeLessThanOrEqual(60_000 + stepMs);
    });

    it('every simulated job ends, and every simulated machine is off in the end', () => {
      const { completed, failed, jobs, left, machinesLeftOn } = figures[policy];
      expect({ left, machinesLeftOn }).toEqual({ left: 0, machinesLeftOn: 0 });
      expect(completed + failed).toBe(jobs);
    });

    it('a simulation covers restarts, clock jumps, failed wakes, failed idle stops and failed runs', () => {
      const { restarts, clockJumps, failedWakeCount, idleStopsFailed, failed, scheduled, unscheduled } =
        figures[policy];
      for (const count of [restarts, clockJumps, failedWakeCount, idleStopsFailed, failed])
        expect(count).toBeGreaterThan(0);
      expect(scheduled / (scheduled + unscheduled)).toBeCloseTo(0.6, 1);
    });
  });

  it.each(['fixed', 'adaptive'] as const)(
    'at least 99 % of the simulated runs that wait for nothing but the idle policy %s start within five seconds',
    (policy) => {
      expect(computeLateShareOfPolicy(figures[policy])).toBeLessThanOrEqual(0.01);
    },
  );

  it('in a simulation, at least 90 % of the adaptive policy’s machine hours are needed, and waits are short', () => {
    expect(computeHoursRatio(figures.adaptive)).toBeGreaterThanOrEqual(0.9);
    expect(computeMeanWaitSeconds(figures.adaptive)).toBeLessThanOrEqual(35);
    expect(computeHoursRatio(figures.adaptive)).toBeGreaterThan(computeHoursRatio(figures.fixed));
  });

  it('in a simulation, runs that name no machine wait shorter, and at least 90 % of the machine hours are needed', () => {
    const { adaptive: named, 'adaptive, running': placed } = figures;
    const { unplaced, named: others } = placed.waits;
    expect(unplaced.runs / (unplaced.runs + others.runs)).toBeCloseTo(2 / 3, 1);
    expect(computeHoursRatio(placed)).toBeGreaterThanOrEqual(0.9);
    expect(queueSeconds(placed)).toBeLessThan(queueSeconds(named));
  });

  function table(): string {
    const rows: [string, (result: FleetFigures) => number | string][] = [
      ['machine-hours needed', ({ neededHours }) => Math.round(neededHours)],
      ['machine-hours spent', ({ spentHours }) => Math.round(spentHours)],
      ['needed / spent', (result) => computeHoursRatio(result).toFixed(3)],
      ['spent of always on, %', ({ spentHours }) => ((100 * spentHours) / (agents * days * 24)).toFixed(1)],
      ['unscheduled runs', ({ unscheduled }) => unscheduled],
      ['  mean wait for a machine, s', (result) => computeMeanWaitSeconds(result).toFixed(1)],
      ['all runs: mean time from queue to start, s', (result) => queueSeconds(result).toFixed(1)],
      ['  runs that name their machine, s', ({ waits }) => meanSeconds(waits.named)],
      ['  runs that name none, s', ({ waits }) => meanSeconds(waits.unplaced)],
      ['scheduled runs', ({ scheduled }) => scheduled],
      ['  late: machine busy with other work', ({ late }) => late['other work']],
      ['  late: outage or clock jump', ({ late }) => late['an outage or a clock']],
      ['  late: machine failure', ({ late }) => late['a machine failure']],
      ['  late: only the policy', ({ late }) => late['the policy']],
      [
        '  within 5 s, if the machine was free, %',
        (result) => formatPercent(1 - computeLateShareOfFreeMachines(result)),
      ],
      ['  within 5 s, if nothing else delayed it, %', (result) => formatPercent(1 - computeLateShareOfPolicy(result))],
      ['longest on without work, min', ({ longestIdleMs }) => (longestIdleMs / 60_000).toFixed(1)],
      ['  without outages and clock jumps', ({ longestIdleNetMs }) => (longestIdleNetMs / 60_000).toFixed(1)],
      [
        'wakes / failed / reboots',
        ({ wakes, failedWakeCount, reboots }) => `${wakes} / ${failedWakeCount} / ${reboots}`,
      ],
      ['idle stops / failed', ({ idleStops, idleStopsFailed }) => `${idleStops} / ${idleStopsFailed}`],
    ];
    const line = (name: string, values: (number | string)[]) =>
      `${name.padEnd(46)}${values.map((value) => String(value).padStart(18)).join('')}\n`;
    return [
      `${agents} agents, ${days} days, seed ${seed}, limit ${idleStopMinutes} min\n`,
      line('', names),
      ...rows.map(([name, valueOf]) =>
        line(
          name,
          names.map((each) => valueOf(figures[each])),
        ),
      ),
    ].join('');
  }
});

function computeHoursRatio({ neededHours, spentHours }: FleetFigures): number {
  return neededHours / spentHours;
}

function computeMeanWaitSeconds({ waitedMs, unscheduled }: FleetFigures): number {
  return waitedMs / unscheduled / 1000;
}

/** Returns the share of scheduled runs that started late although their machine had no other work. */
function computeLateShareOfFreeMachines({ scheduled, late }: FleetFigures): number {
  const { 'other work': busy, ...others } = late;
  return Object.values(others).reduce((sum, count) => sum + count, 0) / (scheduled - busy);
}

/**
 * Returns the share of scheduled runs that only the policy delayed: there was no other work, outage, clock jump or
 * machine failure.
 */
function computeLateShareOfPolicy({ scheduled, late }: FleetFigures): number {
  const { 'the policy': own, ...others } = late;
  return own / (scheduled - Object.values(others).reduce((sum, count) => sum + count, 0));
}

function formatPercent(part: number): string {
  return (100 * part).toFixed(2);
}

function meanSeconds({ runs, ms }: { runs: number; ms: number }): string {
  return runs === 0 ? '-' : (ms / runs / 1000).toFixed(1);
}

/** Returns the mean time from the queue to the start, in which the machine may have had other work. */
function queueSeconds({ waits: { named, unplaced } }: FleetFigures): number {
  return (named.ms + unplaced.ms) / (named.runs + unplaced.runs) / 1000;
}
