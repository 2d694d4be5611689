import { type IdleSavings, type MicroUsd, microsToUsd } from '@muster/contracts';
import type { Database, OrganizationSettingsEntity } from '@muster/database';

type Sums = Pick<OrganizationSettingsEntity, 'idleStopPolicy'> & {
  idleMs: number;
  onMs: number;
  couldMs: number;
  couldMicros: MicroUsd;
  didMs: number;
  didMicros: MicroUsd;
};

/**
 * Returns what the adaptive policy saved, or would have saved, in the idle times that ended in a period. Without an
 * agent id, all agents of the organization are counted.
 */
export async function readIdleSavings(
  database: Database,
  organizationId: string,
  { from, to, agentId }: { from: string | null; to: string | null; agentId?: string },
): Promise<IdleSavings> {
  const [sums] = await database.query<Sums>(
    { organizationId },
    `SELECT s.idle_stop_policy,
            COALESCE(sum(extract(epoch FROM i.ended_at - i.began_at) * 1000), 0)::float8 AS idle_ms,
            COALESCE(sum(i.on_ms), 0)::float8 AS on_ms,
            COALESCE(sum(i.saved_ms) FILTER (WHERE i.policy = 'fixed'), 0)::float8 AS could_ms,
            COALESCE(sum(i.saved_micros) FILTER (WHERE i.policy = 'fixed'), 0)::bigint AS could_micros,
            COALESCE(sum(i.saved_ms) FILTER (WHERE i.policy = 'adaptive'), 0)::float8 AS did_ms,
            COALESCE(sum(i.saved_micros) FILTER (WHERE i.policy = 'adaptive'), 0)::bigint AS did_micros
     FROM organization_settings s LEFT JOIN agent_idle i
       ON i.organization_id = s.organization_id AND i.on_ms IS NOT NULL AND ($4::uuid IS NULL OR i.agent_id = $4)
       -- One more day on both sides, so that the index is used; the time zone decides exactly.
       AND i.ended_at >= COALESCE($2::date - 1, muster_now() - interval '30 days')
       AND i.ended_at < COALESCE($3::date + 2, muster_now())
       AND ($2::date IS NULL OR (i.ended_at AT TIME ZONE s.timezone)::date BETWEEN $2::date AND $3::date)
     WHERE s.organization_id = $1 GROUP BY s.idle_stop_policy`,
    [organizationId, from, to, agentId ?? null],
    'idle_savings',
  );
  const { idleStopPolicy, idleMs, onMs, couldMs, couldMicros, didMs, didMicros } = sums!;
  return {
    policy: idleStopPolicy,
    idleHours: millisecondsToHours(idleMs),
    onHours: millisecondsToHours(onMs),
    adaptiveWouldSave: { hours: millisecondsToHours(couldMs), usd: microsToUsd(couldMicros) },
    adaptiveSaved: { hours: millisecondsToHours(didMs), usd: microsToUsd(didMicros) },
  };
}

/** Converts milliseconds to hours with at most four decimals. */
export function millisecondsToHours(ms: number): number {
  return Math.round(ms / 360) / 10_000;
}
