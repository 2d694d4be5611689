import { evaluateEventByRules } from '@muster/alerts';
import { Inject, Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import { Database } from '@muster/database';
import { BaseConfig, Clock, Metrics, Outbound, getPublicAddress, type Round } from '@muster/platform';
import { ObjectStorage } from '@muster/storage';
import { KeyRing } from '@muster/vault';
import {
  countDueDeliveries,
  EndpointWorkers,
  listEndpointsWithDueDeliveries,
  endUnclearMessages,
  createDeliveriesOfEvents,
  type FanOutParts,
  purgeWebhooks,
  SmtpConfig,
} from '@muster/webhooks';
import { buildEventLink } from './build-event-link';
import { readEventSubject } from './read-event-subject';

/** Processes webhooks: turns events into deliveries and sends them. */
@Injectable()
export class WebhookWork implements BeforeApplicationShutdown {
  private readonly workers: EndpointWorkers;
  private readonly parts: FanOutParts;
  /** Organizations whose events are being fanned out, each with whether another pass was requested. */
  private readonly fanning = new Map<string, { work: Promise<void>; isRequested: boolean }>();

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Outbound) outbound: Outbound,
    @Inject(KeyRing) keyRing: KeyRing,
    @Inject(ObjectStorage) storage: ObjectStorage,
    @Inject(Metrics) private readonly metrics: Metrics,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(BaseConfig) config: BaseConfig,
    @Inject(SmtpConfig) { smtpUrl, smtpFrom }: SmtpConfig,
  ) {
    const readClock = () => clock.now();
    const relay = smtpUrl ? { url: smtpUrl, from: smtpFrom! } : null;
    this.workers = new EndpointWorkers({
      ...{ database, outbound, keyRing, metrics, now: readClock, relay },
      linkOf: (event) => Promise.resolve(buildEventLink({ address: getPublicAddress(config), keyRing }, event)),
    });
    this.parts = {
      database,
      readSubject: (event) => readEventSubject({ database, storage, now: readClock }, event),
      evaluate: evaluateEventByRules,
      notify: (endpointIds) => this.workers.notifyEndpoints(endpointIds),
      now: readClock,
    };
  }

  /** Fans out the events of one organization. A call during a running pass waits for one more pass. */
  async createDeliveries(organizationId: string): Promise<void> {
    const current = this.fanning.get(organizationId);
    if (current) {
      current.isRequested = true;
      return current.work;
    }
    const entry = { work: Promise.resolve(), isRequested: true };
    const createAllDeliveries = async () => {
      while (entry.isRequested) {
        entry.isRequested = false;
        await createDeliveriesOfEvents(this.parts, undefined, organizationId);
      }
    };
    this.fanning.set(organizationId, entry);
    entry.work = createAllDeliveries().finally(() => this.fanning.delete(organizationId));
    return entry.work;
  }

  sendDue(endpointId: string): void {
    this.workers.notifyEndpoints([endpointId]);
  }

  /** Fans out waiting events of all organizations, in case a message was lost. */
  async sweepEvents(round: Round): Promise<Record<string, number>> {
    return createDeliveriesOfEvents(this.parts, round);
  }

  async sweepDeliveries(): Promise<Record<string, number>> {
    const due = await listEndpointsWithDueDeliveries(this.database, this.clock.now());
    this.workers.notifyEndpoints(due);
    return { endpoints: due.length, unclear: await endUnclearMessages(this.database, this.clock.now()) };
  }

  async measureBacklog(): Promise<void> {
    this.metrics.webhooksWaiting.set(await countDueDeliveries(this.database, this.clock.now()));
  }

  purgeOldRows(round: Round): Promise<Record<string, number>> {
    return purgeWebhooks(this.database, round, this.clock.now());
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.workers.endWorkers();
  }
}
