import { idleTickMs, simulateFleet, stepMs } from './simulated-fleet.harness';
import type { FleetFigures } from './simulated-machines.harness';

// FLEET_AGENTS=1000 FLEET_DAYS=7 runs it at length.
const agents = Number(process.env['FLEET_AGENTS'] ?? 100);
const days = Number(process.env['FLEET_DAYS'] ?? 7);
const seed = Number(process.env['FLEET_SEED'] ?? 20_260_302);
const idleStopMinutes = 30;

jest.setTimeout(600_000);

describe('a fleet over days of launches, failures, restarts of the service and clock jumps', () => {
  let figures: FleetFigures;

  beforeAll(() => {
    figures = simulateFleet({ agents, days, seed, idleStopMinutes });
    const { neededHours, spentHours, longestIdleMs, longestIdleNetMs, longestUnattendedMs, ...counts } = figures;
    process.stdout.write(
      [
        `${agents} agents, ${days} days, seed ${seed}: ${JSON.stringify(counts)}`,
        `machine-hours: needed ${neededHours.toFixed(0)}, spent ${spentHours.toFixed(0)}, ratio ${(neededHours / spentHours).toFixed(2)}, of always on ${((100 * spentHours) / (agents * days * 24)).toFixed(1)} %`,
        `longest on without work ${minutes(longestIdleMs)} min (${minutes(longestIdleNetMs)} without outages and clocks set back); limit ${idleStopMinutes} min`,
        `longest that nobody woke a machine with a due job: ${longestUnattendedMs / 1000} s`,
        '',
      ].join('\n'),
    );
  });

  it('keeps no machine on without work for longer than the limit and one tick', () => {
    expect(figures.longestIdleNetMs).toBeLessThanOrEqual(idleStopMinutes * 60_000 + idleTickMs + stepMs);
  });

  it('lets no job wait for a machine that nobody wakes', () => {
    // The sweep of lost messages looks at such an agent once a minute.
    expect(figures.longestUnattendedMs).toBeLessThanOrEqual(60_000 + stepMs);
  });

  it('ends every job, and turns every machine off at last', () => {
    expect(figures).toMatchObject({ left: 0, machinesLeftOn: 0 });
    expect(figures.completed + figures.failed).toBe(figures.jobs);
  });

  it('met what it is about', () => {
    const { restarts, clockJumps, wakesInVain, idleStopsFailed, failed } = figures;
    for (const count of [restarts, clockJumps, wakesInVain, idleStopsFailed, failed]) expect(count).toBeGreaterThan(0);
  });
});

function minutes(ms: number): string {
  return (ms / 60_000).toFixed(1);
}
