import type { Transaction } from '@muster/database';

/** Assumed boot time of a machine that was never woken. */
export const defaultBootMs = 60_000;
/** Longest lead in milliseconds, because a machine that is on costs money. */
const longestLeadMs = 10 * 60_000;
const marginMs = 3000;
const measuredWakes = 20;

/** Returns how long before a run its machine is woken: the measured boot time plus a tenth and a margin. */
export function prewakeLeadMs(bootMs: number | null): number {
  return Math.min(longestLeadMs, Math.round((bootMs ?? defaultBootMs) * 1.1) + marginMs);
}

/** The same as an SQL interval over the agent `a`. */
export const prewakeLead = `
  LEAST(${longestLeadMs}, COALESCE(a.boot_ms, ${defaultBootMs}) * 1.1 + ${marginMs}) * interval '1 millisecond'`;

/** Returns the timeout of a prewake: at least the normal wake timeout, and more for a machine that boots slowly. */
export function prewakeTimeoutMs(bootMs: number | null, wakeTimeoutMs: number): number {
  return Math.max(wakeTimeoutMs, Math.round(prewakeLeadMs(bootMs) * 1.5));
}

/** The longest possible lead, as an SQL interval, for a condition that can use an index. */
export const longestLead = `interval '${longestLeadMs} milliseconds'`;

/** Recomputes an agent's boot time after a successful wake. */
export function measureBoot(tx: Transaction, agentId: string): void {
  tx.defer(
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
