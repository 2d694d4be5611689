import {
  AppError,
  invalidFieldError,
  usdToMicros,
  type OrganizationSettings,
  type UpdateOrganizationSettingsBody,
  microsToUsd,
  microsToUsdOrNull,
} from '@muster/contracts';
import { type Database, OrganizationSettingsEntity, type Transaction } from '@muster/database';
import { toEtag, requireEtagMatch } from '@muster/platform';
import { audit, listChangedFields } from '../audit/audit';
import { dropCachedPrincipals } from '../authentication/access-changes';
import type { Principal } from '../principal';
import type { Retention } from './retention';

export type SettingsRow = Retention &
  Pick<
    OrganizationSettingsEntity,
    | 'revision'
    | 'vmAutoWakeOnJob'
    | 'autoStopEnabled'
    | 'idleStopMinutes'
    | 'idleStopPolicy'
    | 'prewake'
    | 'maxConcurrentRuns'
    | 'monthlyRunLimit'
    | 'monthlySpendLimitMicros'
    | 'laborMicrosPerHour'
    | 'minutesSavedPerClaim'
    | 'computeMicrosPerHour'
    | 'timezone'
    | 'failStalledRuns'
    | 'sessionIdleMinutes'
    | 'apiKeyMaxDays'
    | 'requireSecondFactor'
  >;

/** Reads the settings in one round trip, because every launch reads them. */
export async function readSettings(database: Database, organizationId: string): Promise<SettingsRow> {
  const [row] = await database.query<SettingsRow>(
    { organizationId },
    `SELECT revision, vm_auto_wake_on_job, auto_stop_enabled, idle_stop_minutes, idle_stop_policy, prewake,
            max_concurrent_runs, monthly_run_limit, monthly_spend_limit_micros, labor_micros_per_hour, minutes_saved_per_claim,
            compute_micros_per_hour, timezone, fail_stalled_runs, log_retention_days, timeline_retention_days,
            step_retention_days, claim_retention_days, usage_retention_days, cost_retention_days, session_idle_minutes,
            api_key_max_days, require_second_factor
     FROM organization_settings WHERE organization_id = $1`,
    [organizationId],
    'read_settings',
  );
  if (!row) throw new AppError('not_found', { detail: 'The organization no longer exists. Sign in again.' });
  return row;
}

export async function updateSettings(
  tx: Transaction,
  caller: Principal,
  change: UpdateOrganizationSettingsBody,
  ifMatch: string | undefined,
): Promise<SettingsRow> {
  const { organizationId } = caller;
  if (change.timezone !== undefined) await requireValidTimezone(tx, change.timezone);
  const before = await tx.manager.findOneOrFail(OrganizationSettingsEntity, {
    where: { organizationId },
    lock: { mode: 'pessimistic_write' },
  });
  requireEtagMatch(ifMatch, toEtag(before.revision));
  const set = toSettingsUpdate(change);
  const after = { ...before, ...set, revision: before.revision + 1, updatedAt: tx.now };
  await tx.manager.update(OrganizationSettingsEntity, { organizationId }, after);
  // Processes cache sessions together with the idle time.
  if (after.sessionIdleMinutes !== before.sessionIdleMinutes) await dropCachedPrincipals(tx);
  audit(tx, caller, {
    action: 'organization.update_settings',
    target: { type: 'organization', id: organizationId },
    changes: listChangedFields(presentOrganizationSettings(before), presentOrganizationSettings(after)),
  });
  return after;
}

export function presentOrganizationSettings(row: SettingsRow): OrganizationSettings {
  return {
    vmAutoWakeOnJob: row.vmAutoWakeOnJob,
    autoStopEnabled: row.autoStopEnabled,
    idleStopMinutes: row.idleStopMinutes,
    idleStopPolicy: row.idleStopPolicy,
    prewake: row.prewake,
    maxConcurrentRuns: row.maxConcurrentRuns,
    monthlyRunLimit: row.monthlyRunLimit,
    monthlySpendLimitUsd: microsToUsdOrNull(row.monthlySpendLimitMicros),
    laborRateUsdPerHour: microsToUsd(row.laborMicrosPerHour),
    minutesSavedPerClaim: row.minutesSavedPerClaim,
    hourlyComputeUsd: microsToUsd(row.computeMicrosPerHour),
    timezone: row.timezone,
    failStalledRuns: row.failStalledRuns,
    logRetentionDays: row.logRetentionDays,
    timelineRetentionDays: row.timelineRetentionDays,
    stepRetentionDays: row.stepRetentionDays,
    claimRetentionDays: row.claimRetentionDays,
    usageRetentionDays: row.usageRetentionDays,
    costRetentionDays: row.costRetentionDays,
    sessionIdleMinutes: row.sessionIdleMinutes,
    apiKeyMaxDays: row.apiKeyMaxDays,
    requireSecondFactor: row.requireSecondFactor,
  };
}

/** Returns the properties to update; an absent field stays unchanged. */
function toSettingsUpdate(change: UpdateOrganizationSettingsBody): Partial<SettingsRow> {
  const { monthlySpendLimitUsd: limit, laborRateUsdPerHour: labor, hourlyComputeUsd: compute, ...others } = change;
  const set = {
    ...others,
    monthlySpendLimitMicros: typeof limit === 'number' ? Number(usdToMicros(limit)) : limit,
    laborMicrosPerHour: labor === undefined ? undefined : Number(usdToMicros(labor)),
    computeMicrosPerHour: compute === undefined ? undefined : Number(usdToMicros(compute)),
  };
  return Object.fromEntries(Object.entries(set).filter(([, value]) => value !== undefined));
}

/**
 * Time zone names that Node.js and Postgres interpret differently, because Postgres reads some as abbreviations of
 * fixed offsets: IST is India's time in Node.js and Israel's in Postgres.
 */
const ambiguous = new Set(
  (
    'ACT AET AGT ART AST BET BST CAT CET CNT CST CTT EAT ECT EET IET IST JST MET MIT NET NST PLT PNT PRT PST SST VST ' +
    'WET'
  ).split(' '),
);

/**
 * Throws for an unknown time zone, and for an offset such as +02:00: Postgres, which also computes days, interprets the
 * sign of an offset in the opposite way.
 */
async function requireValidTimezone(tx: Transaction, timezone: string): Promise<void> {
  try {
    if (!/^[A-Za-z]/.test(timezone) || ambiguous.has(timezone.toUpperCase())) throw new RangeError();
    new Intl.DateTimeFormat('en', { timeZone: timezone });
    await tx.query('SELECT muster_now() AT TIME ZONE $1', [timezone], 'known_timezone');
  } catch (error) {
    const isUnknown = error instanceof RangeError || (error as { code?: string }).code === unknownToDatabase;
    if (!isUnknown) throw error;
    throw invalidFieldError(
      'timezone',
      'timezone must be an IANA time zone such as America/Chicago',
      `${timezone} is not an IANA time zone. Use a name such as America/Chicago.`,
    );
  }
}

/** The Postgres error code invalid_parameter_value. */
const unknownToDatabase = '22023';
