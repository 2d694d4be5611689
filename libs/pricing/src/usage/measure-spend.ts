import type { MicroUsd } from '@muster/contracts';
import type { Database, OrganizationEntity, OrganizationSettingsEntity, UsageCounterEntity } from '@muster/database';
import { decideBillingGate, getBillingMonth } from './billing-gate';

export interface MeasuredMoney {
  /** Runs of this month that are in the counters. */
  runs: Record<'completed' | 'failed' | 'cancelled', number>;
  runMs: number;
  spendMicros: MicroUsd;
  gatesClosed: Record<'suspended' | 'limit', number>;
  /** Runs that ended more than 5 minutes ago and are not in a counter yet. */
  unmetered: number;
}

type Counted = Pick<UsageCounterEntity, 'completed' | 'failed' | 'cancelled' | 'runMs' | 'spendMicros'>;
type Gate = Pick<OrganizationEntity, 'suspended'> &
  Pick<OrganizationSettingsEntity, 'monthlyRunLimit' | 'monthlySpendLimitMicros'> &
  Pick<UsageCounterEntity, 'runs' | 'spendMicros'>;

/** Measures this month's usage over all organizations, and how many organizations may not launch runs. */
export async function readSpendMetrics(database: Database, now: Date): Promise<MeasuredMoney> {
  const month = getBillingMonth(now);
  const [[counted], gates, [ended]] = await Promise.all([
    database.query<Counted>(
      'system',
      `SELECT COALESCE(sum(completed), 0)::bigint AS completed, COALESCE(sum(failed), 0)::bigint AS failed,
              COALESCE(sum(cancelled), 0)::bigint AS cancelled, COALESCE(sum(run_ms), 0)::bigint AS run_ms,
              COALESCE(sum(spend_micros), 0)::bigint AS spend_micros
       FROM usage_counter WHERE month = $1`,
      [month],
      'measure_month',
    ),
    database.query<Gate>(
      'system',
      `SELECT o.suspended, s.monthly_run_limit, s.monthly_spend_limit_micros, COALESCE(c.runs, 0) AS runs,
              COALESCE(c.spend_micros, 0) AS spend_micros
       FROM organization o JOIN organization_settings s ON s.organization_id = o.id
       LEFT JOIN usage_counter c ON c.organization_id = o.id AND c.month = $1
       WHERE o.suspended OR s.monthly_run_limit IS NOT NULL OR s.monthly_spend_limit_micros IS NOT NULL`,
      [month],
      'measure_gates',
    ),
    database.query<Pick<MeasuredMoney, 'unmetered'>>(
      'system',
      `SELECT count(*)::int AS unmetered FROM usage_event WHERE NOT counted AND at < muster_now() - interval '5 minutes'`,
      [],
      'measure_unmetered',
    ),
  ]);
  const { completed, failed, cancelled, runMs, spendMicros } = counted!;
  const closed = gates.filter((gate) => !decideBillingGate(gate).canLaunchRuns);
  const suspended = closed.filter((gate) => gate.suspended).length;
  return {
    runs: { completed, failed, cancelled },
    runMs,
    spendMicros,
    gatesClosed: { suspended, limit: closed.length - suspended },
    unmetered: ended!.unmetered,
  };
}
