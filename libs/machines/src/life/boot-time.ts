import type { Transaction } from '@muster/database';

/** Assumed boot time in milliseconds of a machine that was never woken. */
export const defaultBootMs = 60_000;
/** Maximum milliseconds by which a machine is woken ahead of a run, because a machine that is on costs money. */
const longestLeadMs = 10 * 60_000;
const marginMs = 3000;
const measuredWakes = 20;

/**
 * Returns the milliseconds by which a machine is woken ahead of a scheduled run: the measured boot time, a tenth of it,
 * and a margin.
 */
export function computePrewakeLeadMs(bootMs: number | null): number {
  return Math.min(longestLeadMs, Math.round((bootMs ?? defaultBootMs) * 1.1) + marginMs);
}

/** SQL over the agent `a`: the result of computePrewakeLeadMs as an interval. */
export const prewakeLead = `
  LEAST(${longestLeadMs}, COALESCE(a.boot_ms, ${defaultBootMs}) * 1.1 + ${marginMs}) * interval '1 millisecond'`;

/**
 * Returns the timeout of a prewake in milliseconds: at least the normal timeout of a wake, and more for a machine that
 * boots slowly.
 */
export function computePrewakeTimeoutMs(bootMs: number | null, wakeTimeoutMs: number): number {
  return Math.max(wakeTimeoutMs, Math.round(computePrewakeLeadMs(bootMs) * 1.5));
}

/**
 * SQL: the longest possible lead as an interval. Unlike `prewakeLead` it does not depend on the agent, so a condition
 * with it can use an index.
 */
export const longestLead = `interval '${longestLeadMs} milliseconds'`;

/** Recomputes an agent's boot time after a successful wake. */
export function recordBootTime(tx: Transaction, agentId: string): void {
  tx.deferStatement(
    `UPDATE agent SET boot_ms = (
       SELECT percentile_cont(0.9) WITHIN GROUP (ORDER BY last.ms) FROM (
         SELECT GREATEST(0, extract(epoch FROM finished_at - requested_at) * 1000) AS ms FROM agent_wake
         WHERE agent_id = $1 AND state = 'ready' AND attempt > 0
         ORDER BY requested_at DESC LIMIT ${measuredWakes}) AS last)
     WHERE id = $1`,
    [agentId],
    'measure_boot',
  );
}
