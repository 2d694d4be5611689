import { Inject, Injectable } from '@nestjs/common';
import {
  closeAuditDays,
  linkNewAuditRows,
  purgeExpiredCredentials,
  rewrapSecondFactors,
  rewrapSecrets,
  rewrapSsoSecrets,
  rewrapValueKeys,
} from '@muster/access';
import { enqueueDueRemovals, purgeOldImages } from '@muster/commands';
import { purgeIdleTimes } from '@muster/machines';
import { maintainTimelinePartitions, purgeTimeline, eventsKeptDays } from '@muster/timeline';
import { purgeAssistantData } from '@muster/assistant';
import {
  Database,
  purgeOrganizationEvents,
  purgeQueueProbes,
  readBacklog,
  requestQueueProbes,
  sweepOutbox,
} from '@muster/database';
import {
  expireQuestions,
  failStaleJobs,
  purgeInboundMessages,
  purgeStepsAndClaims,
  repairLeakedLeases,
} from '@muster/jobs';
import { purgeBatchClaims, sweepRoiRollups } from '@muster/pilot';
import { AppLoops, Clock, MessagePublisher, LoopLedger, Metrics, PubSub } from '@muster/platform';
import { removeUnusedPackObjects } from '@muster/packs';
import { markLostCalls, purgeUsage, reconcileUsageNightly, sweepCostDays } from '@muster/pricing';
import { readNextDueDelayMs, purgeScheduleHistory, runDueSchedules } from '@muster/schedules';
import { ObjectStorage } from '@muster/storage';
import { KeyRing } from '@muster/vault';
import { notifyExpiringKeys, rewrapWebhookSecrets } from '@muster/webhooks';
import { updateDatabaseMetrics } from './update-database-metrics';
import { SchedulerConfig } from './scheduler.config';

/** Runs due schedules and the maintenance loops. */
@Injectable()
export class SchedulerLoops extends AppLoops {
  constructor(
    @Inject(Metrics) metrics: Metrics,
    @Inject(LoopLedger) ledger: LoopLedger,
    @Inject(PubSub) pubSub: PubSub,
    @Inject(Database) database: Database,
    @Inject(MessagePublisher) publisher: MessagePublisher,
    @Inject(KeyRing) keyRing: KeyRing,
    @Inject(Clock) clock: Clock,
    @Inject(ObjectStorage) storage: ObjectStorage,
    @Inject(SchedulerConfig) config: SchedulerConfig,
  ) {
    const { maintenanceTickMs } = config;
    super(
      [
        {
          name: 'run due schedules',
          intervalMs: config.scheduleTickMs,
          // The next due time is known, so the loop runs then and not only at its interval.
          dueInMs: () => readNextDueDelayMs(database, clock.now()),
          budgetMs: 60_000,
          runOnce: async (round) => {
            const { scanned, launched, skipped, failed } = await runDueSchedules(database, {
              now: clock.now(),
              limit: 100_000,
              budgetMs: 60_000,
              whenScanned: 'leave',
              keyRing,
            });
            for (const { scheduleId, reason, detail } of failed) {
              round.recordFailure(`schedule ${scheduleId}`, `${reason}: ${detail}`);
            }
            return { scanned, launched: launched.length, skipped: skipped.length };
          },
        },
        {
          name: 'fail stale jobs',
          intervalMs: config.staleJobsTickMs,
          runOnce: async (round) => {
            const { failed, ...counts } = await failStaleJobs(database, config.staleLimits, round);
            return { ...counts, failed: failed.length };
          },
        },
        {
          name: 'repair leases',
          intervalMs: 30_000,
          runOnce: async (round) => {
            const counts = await repairLeakedLeases(database, round);
            metrics.leaseRepairs.inc(counts.repaired);
            return { ...counts };
          },
        },
        {
          name: 'expire questions',
          intervalMs: 1000,
          restsWhenQuiet: true,
          runOnce: async (round) => ({ ...(await expireQuestions({ database, keyRing }, round)) }),
        },
        {
          name: 'forget codes',
          intervalMs: 30_000,
          runOnce: async () => ({ ...(await purgeInboundMessages(database)) }),
        },
        {
          name: 'sweep outbox',
          intervalMs: config.outboxSweepMs,
          restsWhenQuiet: true,
          runOnce: async (round) => {
            const options = { republishMs: config.outboxRepublishMs, limit: 500 };
            const counts = await sweepOutbox(database, publisher, options, round);
            metrics.outboxPublished.inc({ by: 'sweep' }, counts.published);
            return { ...counts };
          },
        },
        {
          name: 'measure backlog',
          intervalMs: 5000,
          runOnce: async () => {
            for (const { queue, waiting, waitedSeconds, dead } of await readBacklog(database)) {
              metrics.backlog.set({ queue }, waiting);
              metrics.backlogAge.set({ queue }, waitedSeconds);
              metrics.deadLettersKept.set({ queue }, dead);
            }
            return {};
          },
        },
        {
          name: 'measure house',
          intervalMs: config.measureTickMs,
          runOnce: async () => {
            await updateDatabaseMetrics(database, metrics, clock.now());
            return {};
          },
        },
        {
          name: 'purge schedule history',
          intervalMs: maintenanceTickMs,
          runOnce: (round) =>
            purgeScheduleHistory(database, { now: clock.now(), keepDays: config.scheduleHistoryDays }, round),
        },
        {
          name: 'purge expired',
          intervalMs: maintenanceTickMs,
          runOnce: async (round) => ({
            ...(await purgeExpiredCredentials(database, clock.now(), { round, retention: config.logRetention })),
            ...(await purgeQueueProbes(database, round)),
            ...(await purgeOrganizationEvents(database, { now: clock.now(), keepDays: eventsKeptDays + 1 }, round)),
          }),
        },
        {
          name: 'chain logs',
          intervalMs: 1000,
          restsWhenQuiet: true,
          runOnce: async (round) => ({
            ...(await linkNewAuditRows(database)),
            ...(await closeAuditDays(database, clock.now(), round)),
          }),
        },
        {
          name: 'apply retention',
          intervalMs: config.retentionTickMs,
          runOnce: async (round) => ({
            ...(await purgeTimeline(database, round, clock.now())),
            ...(await purgeIdleTimes(database, round)),
            ...(await purgeStepsAndClaims(database, round, clock.now())),
            ...(await purgeBatchClaims(database, round, clock.now())),
            ...(await purgeUsage(database, round, clock.now())),
            ...(await purgeOldImages({ database, storage }, round, clock.now())),
            ...(await purgeAssistantData({ database, storage }, round, clock.now())),
          }),
        },
        {
          // eslint-disable-next-line plain/words -- The loop's name is a metric label.
          name: 'settle cost days',
          intervalMs: config.rollupsTickMs,
          runOnce: (round) => sweepCostDays(database, round),
        },
        {
          // eslint-disable-next-line plain/words -- The loop's name is a metric label.
          name: 'settle lost model calls',
          intervalMs: maintenanceTickMs,
          runOnce: () => markLostCalls(database),
        },
        {
          // eslint-disable-next-line plain/words -- The loop's name is a metric label.
          name: 'settle roi rollups',
          intervalMs: config.rollupsTickMs,
          runOnce: (round) => sweepRoiRollups(database, round),
        },
        {
          name: 'remove objects',
          intervalMs: maintenanceTickMs,
          runOnce: () => enqueueDueRemovals(database, clock.now()),
        },
        {
          name: 'collect packs',
          intervalMs: maintenanceTickMs,
          runOnce: (round) => removeUnusedPackObjects({ database, storage }, round, clock.now()),
        },
        {
          name: 'reconcile usage',
          intervalMs: maintenanceTickMs,
          runOnce: async () => {
            const found = await reconcileUsageNightly(database, clock.now());
            if (found) metrics.usageDifferences.set(found.differing);
            return { organizations: found?.organizations ?? 0, differing: found?.differing ?? 0 };
          },
        },
        {
          name: 'notify expiring keys',
          intervalMs: maintenanceTickMs,
          runOnce: (round) => notifyExpiringKeys(database, clock.now(), round),
        },
        {
          name: 'rewrap secrets',
          intervalMs: maintenanceTickMs,
          runOnce: async (round) => {
            const secrets = await rewrapSecrets(database, keyRing, round);
            const webhooks = await rewrapWebhookSecrets(database, keyRing, round);
            const factors = await rewrapSecondFactors(database, keyRing, round);
            const providers = await rewrapSsoSecrets(database, keyRing, round);
            const values = await rewrapValueKeys(database, keyRing, round);
            const all = [secrets, webhooks, factors, providers, values];
            return {
              looked: all.reduce((sum, { looked }) => sum + looked, 0),
              rewrapped: all.reduce((sum, { rewrapped }) => sum + rewrapped, 0),
            };
          },
        },
        {
          name: 'keep timeline partitions',
          intervalMs: maintenanceTickMs,
          runOnce: () =>
            maintainTimelinePartitions(database, {
              databaseUrl: config.databaseUrl,
              retentionDays: config.timelineRetentionDays,
            }),
        },
        {
          name: 'send canaries',
          intervalMs: maintenanceTickMs,
          runOnce: async () => {
            const probes = await database.transaction('system', (tx) => requestQueueProbes(tx, {}));
            return { probes: probes.length };
          },
        },
      ],
      { app: 'scheduler', metrics, ledger, pubSub },
    );
  }
}
