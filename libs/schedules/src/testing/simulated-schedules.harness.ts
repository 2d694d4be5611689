import { type ExpectedRun, computePrewakeLeadMs, getWakeDelayMs } from '@muster/machines';
import { parseCron } from '../cron/cron-rule';
import { findNextRun } from '../cron/find-next-run';
import { decidePrewakeOfMachine } from '../prewake/decide-prewake';
import { decideScheduleTick, type GuardFacts } from '../ticks/decide-tick';
import { findFirstTime, minute, type SimulatedAgent, type SimulatedSchedule } from './simulated-machines.harness';

const timezone = 'UTC';
export const longestLeadMs = 10 * minute;

/**
 * Returns typical schedules of dental practices: claims by night and by day, some every few hours, on weekdays or every
 * day.
 */
export function newSchedules(index: number, random: () => number): SimulatedSchedule[] {
  const pickNumber = (count: number) => Math.floor(random() * count);
  const dailyCron = () => `${pickNumber(60)} ${pickNumber(24)} * * *`;
  const expressions =
    index % 10 === 0
      ? [`${pickNumber(60)} */4 * * *`, dailyCron(), `${pickNumber(60)} ${pickNumber(24)} * * 1-5`]
      : [
          `${pickNumber(60)} 6-21/3 * * *`,
          `${pickNumber(60)} */12 * * *`,
          dailyCron(),
          `${pickNumber(60)} ${pickNumber(24)} * * 1-5`,
        ];
  return expressions.map((expression) => {
    const rule = parseCron(expression);
    return { rule, nextRunAt: findNextRun(rule, timezone, new Date(0))!.at, prewokenFor: null };
  });
}

interface Scheduled {
  schedules: SimulatedSchedule[];
  nextRunAt: number;
}

/** Returns the time from which a machine may have to be woken. */
export function nearestRun({ nextRunAt }: Pick<Scheduled, 'nextRunAt'>): number {
  return nextRunAt - longestLeadMs;
}

/**
 * Returns the time of the run that the machine expects: of its own schedules, or of one without a machine for which it
 * was woken and whose run has not been launched yet.
 */
function findExpectedTime({ nextRunAt, prewokenRun }: SimulatedAgent): number {
  const isOpen = prewokenRun && prewokenRun.schedule.nextRunAt.getTime() === prewokenRun.at;
  return isOpen ? Math.min(nextRunAt, prewokenRun.at) : nextRunAt;
}

export function toExpected(agent: SimulatedAgent): Omit<ExpectedRun, 'agentId'> | null {
  const at = findExpectedTime(agent);
  return at === Infinity ? null : { at: new Date(at), name: 'a schedule' };
}

/** Whether the machine is kept on because it would be woken for its next run at once. */
export function isKeptOnForRun(agent: SimulatedAgent, clock: number): boolean {
  const { bootMs } = agent;
  const leftMs = findExpectedTime(agent) - clock;
  return leftMs <= longestLeadMs && leftMs <= computePrewakeLeadMs(bootMs);
}

export function endSchedules(owner: Scheduled): void {
  Object.assign(owner, { schedules: [], nextRunAt: Infinity });
}

/** Returns the scheduled times for which a run is launched now. */
export function dueRuns(owner: Scheduled, clock: number): number[] {
  if (owner.nextRunAt > clock) return [];
  const now = new Date(clock);
  const runs = owner.schedules.flatMap((schedule) => {
    if (schedule.nextRunAt > now) return [];
    const { rule, nextRunAt } = schedule;
    const decision = decideScheduleTick({ enabled: true, nextRunAt, rule, timezone, misfirePolicy: 'once' }, now);
    if (!decision.due) return [];
    schedule.nextRunAt = decision.next!;
    return decision.run ? [decision.run.getTime()] : [];
  });
  owner.nextRunAt = findFirstTime(owner.schedules);
  return runs;
}

/** Decides whether the machine is woken ahead of a run, and marks the schedules that it is woken for. */
export function isPrewoken(agent: SimulatedAgent, clock: number): boolean {
  const { status, schedules, bootMs, failedWakes, lastFailureAt } = agent;
  if (nearestRun(agent) > clock) return false;
  if (status !== 'stopped' && status !== 'offline' && status !== 'stopping') return false;
  const now = new Date(clock);
  const wakeRestsUntil = failedWakes > 0 ? new Date(lastFailureAt + getWakeDelayMs(failedWakes)) : null;
  const near = schedules.filter(({ nextRunAt }) => nextRunAt.getTime() - clock <= computePrewakeLeadMs(bootMs));
  const wakes = near.some(
    ({ nextRunAt, prewokenFor }) =>
      decidePrewakeOfMachine(
        { prewake: true, nextRunAt, prewokenFor, bootMs, wakeRestsUntil, guards: buildGuardFacts(agent) },
        now,
      ).wake,
  );
  if (wakes) for (const schedule of near) schedule.prewokenFor = schedule.nextRunAt;
  return wakes;
}

function buildGuardFacts({ status }: SimulatedAgent): GuardFacts {
  return {
    concurrencyLimit: null,
    openRuns: 0,
    idempotencyWindowMinutes: null,
    lastLaunchedAt: null,
    gate: { canLaunchRuns: true, reason: null },
    agent: { status, provider: 'ec2', drain: null },
    autoWake: true,
    missingSecrets: [],
    force: false,
  };
}
