import { CronConfig, defaultRetention } from '@muster/access';
import { EnvInt } from '@muster/platform';

export class SchedulerConfig extends CronConfig {
  @EnvInt('MAINTENANCE_TICK_MS', {
    description: 'Interval in milliseconds at which expired rows are deleted and every queue gets a probe message.',
    default: 60_000,
    min: 100,
  })
  readonly maintenanceTickMs!: number;

  @EnvInt('TIMELINE_RETENTION_DAYS', {
    description:
      'Days after which timeline entries are deleted, a whole calendar month at a time, even if an organization ' +
      'retains them longer. 0 applies only the organizations’ own retention.',
    default: 400,
    max: 36_500,
  })
  readonly timelineRetentionDays!: number;

  @EnvInt('AUDIT_RETENTION_DAYS', {
    description:
      'Days after which rows of the audit trail are deleted, a whole day at a time. The hashes of deleted days are ' +
      'kept. 0 deletes nothing.',
    default: defaultRetention.audit,
    max: 36_500,
  })
  readonly auditRetentionDays!: number;

  @EnvInt('ACCESS_LOG_RETENTION_DAYS', {
    description:
      'Days after which rows of the access log are deleted, a whole day at a time. The hashes of deleted days are ' +
      'kept. 0 deletes nothing. HIPAA requires six years.',
    default: defaultRetention.access,
    max: 36_500,
  })
  readonly accessLogRetentionDays!: number;

  @EnvInt('MEASURE_TICK_MS', {
    description:
      'Interval in milliseconds at which the gauges of machines, waiting runs, costs and consistency checks in ' +
      '/metrics are updated.',
    default: 15_000,
    min: 50,
  })
  readonly measureTickMs!: number;

  @EnvInt('RETENTION_TICK_MS', {
    description: 'Interval in milliseconds at which data that is older than its organization’s retention is deleted.',
    default: 600_000,
    min: 50,
  })
  readonly retentionTickMs!: number;

  @EnvInt('ROLLUPS_TICK_MS', {
    description:
      'Interval in milliseconds at which the stored totals of costs and of the return on investment are updated.',
    default: 5_000,
    min: 50,
  })
  readonly rollupsTickMs!: number;

  @EnvInt('SCHEDULE_TICK_MS', {
    description:
      'Maximum interval in milliseconds between two checks for due schedules. A check runs earlier if a schedule is ' +
      'due before that.',
    default: 15_000,
    min: 50,
  })
  readonly scheduleTickMs!: number;

  @EnvInt('SCHEDULE_HISTORY_DAYS', {
    description:
      'Days after which the history of a schedule (the outcome of each scheduled time) is deleted. 0 deletes ' +
      'nothing.',
    default: 400,
    max: 36_500,
  })
  readonly scheduleHistoryDays!: number;

  @EnvInt('STALE_JOBS_TICK_MS', {
    description:
      'Interval in milliseconds at which the service checks which runs have exceeded their time limit, have no ' +
      'worker that reports them, or make no progress.',
    default: 60_000,
    min: 50,
  })
  readonly staleJobsTickMs!: number;

  @EnvInt('JOB_LOST_AFTER_MS', {
    description:
      'Milliseconds without a report from the agent after which a run that the agent has accepted fails with ' +
      'agent_not_ready.',
    default: 900_000,
    min: 100,
  })
  readonly jobLostAfterMs!: number;

  @EnvInt('JOB_STALLED_AFTER_MS', {
    description:
      'Milliseconds without a step, a claim result or a log line after which a run is marked as stalled, or fails ' +
      'if the organization’s setting failStalledRuns is true. 0 turns this check off.',
    default: 3_600_000,
  })
  readonly jobStalledAfterMs!: number;

  get logRetention(): { audit: number; access: number } {
    return { audit: this.auditRetentionDays, access: this.accessLogRetentionDays };
  }

  get staleLimits(): { lostAfterMs: number; stalledAfterMs: number } {
    return { lostAfterMs: this.jobLostAfterMs, stalledAfterMs: this.jobStalledAfterMs };
  }
}
