import { AppError, type MicroUsd, usdOf } from '@muster/contracts';
import type { OrganizationEntity, OrganizationSettingsEntity, Transaction } from '@muster/database';

/** An organization's limits, and what runs that are over have used of them this month. */
export interface LimitFacts
  extends
    Pick<OrganizationEntity, 'suspended'>,
    Pick<OrganizationSettingsEntity, 'monthlyRunLimit' | 'monthlySpendLimitMicros'> {
  runs: number;
  spendMicros: MicroUsd;
}

/** With what is asked for or under way: a run must not pass because another has not ended. */
export interface GateFacts extends LimitFacts {
  openRuns: number;
  /** What runs may still cost whose cost is not known yet. */
  reservedMicros: MicroUsd;
  /** How many launches can be under way in the database at once. */
  maxConnections: number;
}

export interface GateDecision {
  canLaunchRuns: boolean;
  reason: string | null;
}

/** May the organization launch another run? */
export function canLaunchRuns(facts: LimitFacts & { openRuns?: number }): GateDecision {
  const { suspended, monthlyRunLimit, monthlySpendLimitMicros, runs, openRuns = 0, spendMicros } = facts;
  if (suspended) return closed('the organization is suspended');
  if (monthlyRunLimit !== null && runs + openRuns >= monthlyRunLimit) {
    return closed(`the month's limit of ${monthlyRunLimit} runs is used up`);
  }
  if (monthlySpendLimitMicros !== null && spendMicros >= monthlySpendLimitMicros) {
    return closed(`the month's limit of ${usdOf(monthlySpendLimitMicros)} USD is used up`);
  }
  return { canLaunchRuns: true, reason: null };
}

function closed(reason: string): GateDecision {
  return { canLaunchRuns: false, reason };
}

export function readLimits(tx: Transaction, organizationId: string, now: Date): Promise<LimitFacts> {
  return read<LimitFacts>(tx, limitStatement(organizationId, { columns: limitColumns, now, name: 'read_limits' }));
}

/** Open runs and what they hold are summed only where a limit makes them matter. */
export function readGateFacts(tx: Transaction, organizationId: string, now: Date): Promise<GateFacts> {
  return read<GateFacts>(tx, gateStatement(organizationId, now));
}

/** The statement of `readGateFacts`, for a caller that sends it together with another one. */
export function gateStatement(organizationId: string, now: Date): LimitStatement {
  return limitStatement(organizationId, { columns: gateColumns, now, name: 'read_gate_facts' });
}

interface LimitStatement {
  text: string;
  values: unknown[];
  name: string;
}

function limitStatement(
  organizationId: string,
  { columns, now, name }: { columns: (month: string) => string; now: Date; name: string },
): LimitStatement {
  const text = `SELECT ${columns('$2')} FROM organization o
     JOIN organization_settings s ON s.organization_id = o.id
     LEFT JOIN usage_counter c ON c.organization_id = o.id AND c.month = $2
     WHERE o.id = $1`;
  return { text, values: [organizationId, monthOf(now)], name };
}

async function read<T extends LimitFacts>(tx: Transaction, { text, values, name }: LimitStatement): Promise<T> {
  const [facts] = await tx.query<T>(text, values, name);
  return requireFacts(facts);
}

export function requireFacts<T extends LimitFacts>(facts: T | undefined): T {
  if (!facts) throw new AppError('not_found', { detail: 'The organization is gone.' });
  return facts;
}

/**
 * The limits' columns, for statements that join organization o, organization_settings s and usage_counter c of `month`.
 * Runs that ended and are not in the counter yet count as those that are: each with its end, in whatever moment.
 */
export const limitColumns = (month: string) => `
  o.suspended, s.monthly_run_limit, s.monthly_spend_limit_micros,
  CASE WHEN s.monthly_run_limit IS NULL THEN 0 ELSE COALESCE(c.runs, 0) +
    (SELECT count(*) FROM usage_event e WHERE e.organization_id = o.id AND e.month = ${month} AND NOT e.counted)
  END AS runs,
  COALESCE(c.spend_micros, 0) AS spend_micros`;

/** As limitColumns, with what is open: as many rows of an index are read as the organization has open runs. */
export const gateColumns = (month: string) => `${limitColumns(month)},
  CASE WHEN s.monthly_run_limit IS NULL THEN 0 ELSE
    (SELECT count(*) FROM job j WHERE j.organization_id = o.id AND j.status IN ('queued', 'running')) END AS open_runs,
  CASE WHEN s.monthly_spend_limit_micros IS NULL THEN 0 ELSE
    (SELECT COALESCE(sum(j.reserved_micros), 0)::bigint FROM job j
     WHERE j.organization_id = o.id AND j.reserved_micros > 0) END AS reserved_micros,
  current_setting('max_connections')::int AS max_connections`;

/** The month that something at this time is billed in: the first day, in UTC. */
export function monthOf(at: Date): string {
  return `${at.toISOString().slice(0, 7)}-01`;
}
