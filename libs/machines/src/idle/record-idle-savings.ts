import type { AgentEntity, AgentIdleEntity, OrganizationSettingsEntity, Transaction } from '@muster/database';
import { type MicroUsd, divideRoundingHalfEven } from '@muster/contracts';
import { defaultBootMs, computePrewakeLeadMs } from '../life/boot-time';
import { addIdleGap, maxGaps } from './choose-idle-limit';
import { computeSavedMs } from './replay-idle';

interface Habit
  extends
    Pick<AgentEntity, 'bootMs'>,
    Pick<OrganizationSettingsEntity, 'idleStopMinutes' | 'idleStopPolicy' | 'prewake'> {
  /**
   * Whether idle stop may stop this machine at all: idle stop is on for the organization, and the machine is not pinned
   * or external.
   */
  stoppable: boolean;
  computeMicrosPerHour: MicroUsd;
}

interface Past extends Pick<AgentIdleEntity, 'scheduled' | 'onMs' | 'slept' | 'policy'> {
  /** The time is read as text with microseconds, because a Date has only milliseconds. */
  at: string;
  lengthMs: number;
}

const maxIdleTimes = 500;
/** Milliseconds by which an idle stop may be late and still count as made by the policy. */
const graceMs = 5 * 60_000;

/**
 * Records what the adaptive policy saved, or would have saved, in each ended idle time that has no recorded saving yet.
 */
export async function recordIdleSavings(tx: Transaction, agentId: string): Promise<void> {
  const [habit] = await tx.query<Habit>(
    `SELECT a.boot_ms, s.idle_stop_minutes, s.idle_stop_policy, s.prewake,
            s.auto_stop_enabled AND NOT a.idle_auto_stop_exempt AND a.provider <> 'external' AS stoppable,
            COALESCE(a.compute_micros_per_hour, s.compute_micros_per_hour) AS compute_micros_per_hour
     FROM agent a JOIN organization_settings s ON s.organization_id = a.organization_id WHERE a.id = $1`,
    [agentId],
    'habit',
  );
  const past = await tx.query<Past>(
    `SELECT began_at::text AS at, extract(epoch FROM ended_at - began_at)::float8 * 1000 AS length_ms, scheduled, on_ms,
            slept, policy
     FROM agent_idle WHERE agent_id = $1 AND ended_at IS NOT NULL
     ORDER BY began_at DESC LIMIT ${maxIdleTimes + maxGaps}`,
    [agentId],
    'past_idle',
  );
  let gaps: number[] = [];
  for (const idle of past.reverse()) {
    if (idle.policy === null) recordIdleSaving(tx, agentId, { habit: habit!, idle, gaps });
    gaps = addIdleGap(gaps, { ms: idle.lengthMs, scheduled: idle.scheduled });
  }
}

function recordIdleSaving(
  tx: Transaction,
  agentId: string,
  { habit, idle, gaps }: { habit: Habit; idle: Past; gaps: number[] },
): void {
  const { idleStopPolicy: policy, idleStopMinutes, prewake, bootMs, stoppable, computeMicrosPerHour } = habit;
  const { lengthMs, scheduled, onMs, slept } = idle;
  const facts = { policy, gaps, limitMs: idleStopMinutes * 60_000, bootMs: bootMs ?? defaultBootMs, prewake };
  // If the machine was on for longer than the policies allow, something else kept it on: a person who used it, or a
  // failed stop. The other policy would have left the machine on too, so no saving is computed.
  const maxMs = facts.limitMs + (scheduled && prewake ? computePrewakeLeadMs(bootMs) : 0) + graceMs;
  const isKnown = stoppable && onMs !== null && onMs <= maxMs;
  const saved = isKnown ? computeSavedMs({ lengthMs, scheduled, onMs, slept }, facts) : null;
  const savedMs = saved === null ? null : Math.round(saved);
  const savedMicros =
    savedMs === null
      ? null
      : Number(divideRoundingHalfEven(BigInt(savedMs) * BigInt(computeMicrosPerHour), 3_600_000n));
  tx.deferStatement(
    'UPDATE agent_idle SET policy = $3, saved_ms = $4, saved_micros = $5 WHERE agent_id = $1 AND began_at = $2',
    [agentId, idle.at, policy, savedMs, savedMicros],
    'record_idle_saving',
  );
}
