import type { Transaction } from '@muster/database';

/** What a machine is taken to need that has never been woken. */
export const defaultBootMs = 60_000;
/** Nobody pays for a machine for longer than this before its time. */
const longestLeadMs = 10 * 60_000;
const marginMs = 3000;
const measuredWakes = 20;

/** How long before a run its machine is woken: its measured boot and a tenth, so that it is there at the time. */
export function prewakeLeadMs(bootMs: number | null): number {
  return Math.min(longestLeadMs, Math.round((bootMs ?? defaultBootMs) * 1.1) + marginMs);
}

/** The same for a statement, over the agent `a`, as an interval. */
export const prewakeLead = `
  LEAST(${longestLeadMs}, COALESCE(a.boot_ms, ${defaultBootMs}) * 1.1 + ${marginMs}) * interval '1 millisecond'`;

/** How long a machine that is woken ahead is waited for: a slow one no shorter than its boots take, now and then more. */
export function prewakeTimeoutMs(bootMs: number | null, wakeTimeoutMs: number): number {
  return Math.max(wakeTimeoutMs, Math.round(prewakeLeadMs(bootMs) * 1.5));
}

/** The longest that it can be, for an index to begin with. */
export const longestLead = `interval '${longestLeadMs} milliseconds'`;

/** Measures an agent's boots anew, once a wake of it has ended well. */
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
