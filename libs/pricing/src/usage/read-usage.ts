import { AppError, microsToUsd } from '@muster/contracts';
import type { Database, OrganizationSettingsEntity, UsageCounterEntity } from '@muster/database';
import { figureColumns, joinMonthlyUsageSql } from './figures-of-month';
import {
  decideBillingGate,
  billingGateColumnsSql,
  type GateDecision,
  type GateFacts,
  getBillingMonth,
} from './billing-gate';

export interface UsageOfMonth extends GateDecision {
  month: string;
  runs: number;
  completed: number;
  failed: number;
  cancelled: number;
  runMinutes: number;
  spendUsd: number;
  limits: { monthlyRunLimit: number | null; monthlySpendLimitUsd: number | null; maxConcurrentRuns: number | null };
}

type Row = GateFacts &
  Pick<UsageCounterEntity, 'completed' | 'failed' | 'cancelled' | 'runMs'> &
  Pick<OrganizationSettingsEntity, 'maxConcurrentRuns'>;

/** Reads the usage of a month. The billing gate in the result is always that of the current month. */
export async function readUsage(
  database: Database,
  organizationId: string,
  { month, now }: { month?: string; now: Date },
): Promise<UsageOfMonth> {
  const current = getBillingMonth(now);
  const requestedMonth = month === undefined ? current : `${month}-01`;
  const readMonth = (firstDay: string) =>
    database.query<Row>(
      { organizationId },
      `SELECT ${billingGateColumnsSql('$2')}, s.max_concurrent_runs, ${figureColumns}
       FROM organization o
       JOIN organization_settings s ON s.organization_id = o.id
       LEFT JOIN usage_counter c ON c.organization_id = o.id AND c.month = $2
       ${joinMonthlyUsageSql('$2')}
       WHERE o.id = $1`,
      [organizationId, firstDay],
      'read_usage',
    );
  const [[row], [gate]] = await Promise.all([readMonth(requestedMonth), readMonth(current)]);
  if (!row || !gate) throw new AppError('not_found', { detail: 'The organization no longer exists. Sign in again.' });
  const { runs, completed, failed, cancelled, runMs, spendMicros, ...limits } = row;
  return {
    month: requestedMonth.slice(0, 7),
    runs,
    completed,
    failed,
    cancelled,
    runMinutes: runMs / 60_000,
    spendUsd: microsToUsd(spendMicros),
    limits: {
      monthlyRunLimit: limits.monthlyRunLimit,
      monthlySpendLimitUsd:
        limits.monthlySpendLimitMicros === null ? null : microsToUsd(limits.monthlySpendLimitMicros),
      maxConcurrentRuns: limits.maxConcurrentRuns,
    },
    ...decideBillingGate(gate),
  };
}
