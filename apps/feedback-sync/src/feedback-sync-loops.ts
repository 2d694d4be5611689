import { Inject, Injectable } from '@nestjs/common';
import { purgeAlerts, sweepAlerts } from '@muster/alerts';
import { Database } from '@muster/database';
import {
  scheduleUnsentSubmissions,
  startReconciliation,
  readLastReconciliation,
  purgeDeliveries,
  reconcileFeedback,
  sweepWorkItems,
} from '@muster/feedback';
import { AppLoops, Clock, LoopLedger, Metrics, PubSub } from '@muster/platform';
import { findNextRun, parseCron } from '@muster/schedules';
import { FeedbackWork } from './feedback-work';
import { WebhookWork } from './webhooks/webhook-work';

const dayMs = 86_400_000;

/** Loops that process due feedback and webhooks even if a queue message is lost, and the nightly reconciliation. */
@Injectable()
export class FeedbackSyncLoops extends AppLoops {
  constructor(
    @Inject(Metrics) metrics: Metrics,
    @Inject(LoopLedger) ledger: LoopLedger,
    @Inject(PubSub) pubSub: PubSub,
    @Inject(Database) database: Database,
    @Inject(Clock) clock: Clock,
    @Inject(FeedbackWork) work: FeedbackWork,
    @Inject(WebhookWork) webhooks: WebhookWork,
  ) {
    const { config, parts } = work;
    const rule = parseCron(config.feedbackReconcileCron);
    const began = clock.now();
    let armed = false;
    super(
      [
        {
          name: 'sync feedback',
          intervalMs: config.feedbackIntervalMs,
          runOnce: async (round) => {
            if (!work.hasTrackers) return {};
            if (!armed)
              await scheduleUnsentSubmissions(
                database,
                parts.trackers.map(({ name }) => name),
              );
            armed = true;
            return sweepWorkItems(parts, round);
          },
        },
        {
          name: 'reconcile feedback',
          intervalMs: Math.min(config.feedbackIntervalMs, 60_000),
          runOnce: async (round) => {
            if (!work.hasTrackers) return {};
            const now = clock.now();
            const last = await readLastReconciliation(database);
            // An interrupted reconciliation is resumed first. Several missed nights need only one reconciliation.
            if (!last || last.rungAt) {
              const after = new Date(Math.max((last?.nominalAt ?? began).getTime(), now.getTime() - dayMs));
              const next = findNextRun(rule, 'UTC', after);
              if (next && next.at <= now) await startReconciliation(database, { nominalAt: next.at, now });
            }
            return reconcileFeedback(database, round);
          },
        },
        { name: 'purge feedback deliveries', intervalMs: 600_000, runOnce: () => purgeDeliveries(database) },
        { name: 'fan out webhooks', intervalMs: 1000, runOnce: (round) => webhooks.sweepEvents(round) },
        { name: 'send webhooks', intervalMs: 1000, runOnce: () => webhooks.sweepDeliveries() },
        {
          name: 'measure webhooks',
          intervalMs: 5000,
          runOnce: async () => {
            await webhooks.measureBacklog();
            return {};
          },
        },
        { name: 'sweep alerts', intervalMs: 2000, runOnce: (round) => sweepAlerts(database, round) },
        { name: 'purge alerts', intervalMs: 600_000, runOnce: (round) => purgeAlerts(database, round, clock.now()) },
        { name: 'purge webhooks', intervalMs: 600_000, runOnce: (round) => webhooks.purgeOldRows(round) },
      ],
      { app: 'feedback-sync', metrics, ledger, pubSub },
    );
  }
}
