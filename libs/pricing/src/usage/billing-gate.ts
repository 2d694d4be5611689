import { AppError, type MicroUsd, microsToUsd } from '@muster/contracts';
import type { OrganizationEntity, OrganizationSettingsEntity, Transaction } from '@muster/database';

/** An organization's limits, and this month's ended runs and spend. */
export interface LimitFacts
  extends
    Pick<OrganizationEntity, 'suspended'>,
    Pick<OrganizationSettingsEntity, 'monthlyRunLimit' | 'monthlySpendLimitMicros'> {
  runs: number;
  spendMicros: MicroUsd;
}

/** Adds the open runs and their reserved spend, so that runs that have not ended yet count against the limits. */
export interface GateFacts extends LimitFacts {
  openRuns: number;
  /** Sum of the amounts that runs without a booked cost may still cost. */
  reservedMicros: MicroUsd;
  /** Maximum number of database connections, and so of launches that run at the same time. */
  maxConnections: number;
}

export interface GateDecision {
  canLaunchRuns: boolean;
  reason: string | null;
}

/** Whether the organization may launch another run, and the reason if not. */
export function decideBillingGate(facts: LimitFacts & { openRuns?: number }): GateDecision {
  const { suspended, monthlyRunLimit, monthlySpendLimitMicros, runs, openRuns = 0, spendMicros } = facts;
  if (suspended) return createClosedDecision('the organization is suspended');
  if (monthlyRunLimit !== null && runs + openRuns >= monthlyRunLimit) {
    return createClosedDecision(`the month's limit of ${monthlyRunLimit} runs is used up`);
  }
  if (monthlySpendLimitMicros !== null && spendMicros >= monthlySpendLimitMicros) {
    return createClosedDecision(`the month's limit of ${microsToUsd(monthlySpendLimitMicros)} USD is used up`);
  }
  return { canLaunchRuns: true, reason: null };
}

function createClosedDecision(reason: string): GateDecision {
  return { canLaunchRuns: false, reason };
}

export function readBillingLimits(tx: Transaction, organizationId: string, now: Date): Promise<LimitFacts> {
  return readLimitFacts<LimitFacts>(
    tx,
    buildLimitFactsStatement(organizationId, { columns: spendingLimitColumnsSql, now, name: 'read_limits' }),
  );
}

/** Reads the facts of the gate. Open runs and reserved spend are summed only if the organization has such a limit. */
export function readGateFacts(tx: Transaction, organizationId: string, now: Date): Promise<GateFacts> {
  return readLimitFacts<GateFacts>(tx, buildGateStatement(organizationId, now));
}

/** Returns the statement of `readGateFacts`, for a caller that sends it together with another statement. */
export function buildGateStatement(organizationId: string, now: Date): LimitStatement {
  return buildLimitFactsStatement(organizationId, { columns: billingGateColumnsSql, now, name: 'read_gate_facts' });
}

interface LimitStatement {
  text: string;
  values: unknown[];
  name: string;
}

function buildLimitFactsStatement(
  organizationId: string,
  { columns, now, name }: { columns: (month: string) => string; now: Date; name: string },
): LimitStatement {
  const text = `SELECT ${columns('$2')} FROM organization o
     JOIN organization_settings s ON s.organization_id = o.id
     LEFT JOIN usage_counter c ON c.organization_id = o.id AND c.month = $2
     WHERE o.id = $1`;
  return { text, values: [organizationId, getBillingMonth(now)], name };
}

async function readLimitFacts<T extends LimitFacts>(
  tx: Transaction,
  { text, values, name }: LimitStatement,
): Promise<T> {
  const [facts] = await tx.query<T>(text, values, name);
  return requireLimitFacts(facts);
}

export function requireLimitFacts<T extends LimitFacts>(facts: T | undefined): T {
  if (!facts) throw new AppError('not_found', { detail: 'The organization no longer exists. Sign in again.' });
  return facts;
}

/**
 * Columns of the limits, for statements that join organization o, organization_settings s and usage_counter c of
 * `month`. A run counts from its end, even if it is not in the counter yet.
 */
export const spendingLimitColumnsSql = (month: string) => `
  o.suspended, s.monthly_run_limit, s.monthly_spend_limit_micros,
  CASE WHEN s.monthly_run_limit IS NULL THEN 0 ELSE COALESCE(c.runs, 0) +
    (SELECT count(*) FROM usage_event e WHERE e.organization_id = o.id AND e.month = ${month} AND NOT e.counted)
  END AS runs,
  COALESCE(c.spend_micros, 0) AS spend_micros`;

/** Adds the open runs to `spendingLimitColumnsSql`. Reads one index row for each open run of the organization. */
export const billingGateColumnsSql = (month: string) => `${spendingLimitColumnsSql(month)},
  CASE WHEN s.monthly_run_limit IS NULL THEN 0 ELSE
    (SELECT count(*) FROM job j WHERE j.organization_id = o.id AND j.status IN ('queued', 'running')) END AS open_runs,
  CASE WHEN s.monthly_spend_limit_micros IS NULL THEN 0 ELSE
    (SELECT COALESCE(sum(j.reserved_micros), 0)::bigint FROM job j
     WHERE j.organization_id = o.id AND j.reserved_micros > 0) END AS reserved_micros,
  current_setting('max_connections')::int AS max_connections`;

/** Returns the month in which an event at this time is billed, as the month's first day in UTC. */
export function getBillingMonth(at: Date): string {
  return `${at.toISOString().slice(0, 7)}-01`;
}
