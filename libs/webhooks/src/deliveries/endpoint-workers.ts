import type { Database } from '@muster/database';
import { runInSpan, type Metrics, type Outbound, Semaphore } from '@muster/platform';
import type { KeyRing } from '@muster/vault';
import { Logger } from '@nestjs/common';
import { decryptSecrets } from '../endpoints/seal-secret';
import { type ClaimedMessage, claimMessage } from '../messages/claim-message';
import { recordMessageAttempt } from '../messages/record-message-attempt';
import { type MessengerParts, sendChannelMessage } from '../messages/send-channel-message';
import { type NotifiedEvent, writeMessage } from '../messages/write-message';
import { type ClaimedDelivery, claimDelivery } from './claim-delivery';
import type { MessageDecision } from './decide-after-attempt';
import { releaseDelivery, recordAttempt } from './record-attempt';
import { sendDelivery, type SentAttempt, resolveUnlessAborted } from './send-delivery';

/** Maximum number of concurrent attempts in one process. */
const maxConcurrent = 500;
/** Maximum number of concurrent attempts to endpoints whose last attempt failed. */
const maxConcurrentFailing = 100;
/** Maximum number of concurrent attempts to one endpoint. */
const maxPerEndpoint = 8;
/** Time that running attempts have to finish during shutdown. */
const graceMs = 3000;

interface EndpointState {
  workers: number;
  /** Current limit of concurrent attempts to the endpoint; grows with each success. */
  concurrency: number;
  /** Whether deliveries may have become due since the workers last checked. */
  isNotified: boolean;
  fails: boolean;
  /** Whether the endpoint is a channel for people; null until its first delivery is leased. */
  isForPeople: boolean | null;
}

export interface EndpointWorkersParts extends MessengerParts {
  database: Database;
  outbound: Outbound;
  keyRing: KeyRing;
  metrics: Metrics;
  now(): Date;
  /** Returns the link that a message shows for an event. `recipient` is empty for channels without recipients. */
  linkOf(event: Omit<NotifiedEvent, 'link'> & LinkTarget): Promise<NotifiedEvent['link']>;
}

export interface LinkTarget {
  subjectId: string;
  endpointId: string;
  recipient: string;
}

/**
 * Sends due deliveries with a separate worker pool for each endpoint, so a slow endpoint delays only its own
 * deliveries. A pool may grow by one worker after each successful delivery, up to `maxPerEndpoint`, and shrinks to one
 * worker after a failed attempt.
 */
export class EndpointWorkers {
  private readonly logger = new Logger('webhooks');
  private readonly states = new Map<string, EndpointState>();
  private readonly slots = new Semaphore(maxConcurrent);
  private readonly failingSlots = new Semaphore(maxConcurrentFailing);
  private readonly working = new Set<Promise<void>>();
  private readonly stopped = new AbortController();
  private isEnding = false;

  constructor(private readonly parts: EndpointWorkersParts) {}

  /** Checks these endpoints for due deliveries. */
  notifyEndpoints(endpointIds: Iterable<string>): void {
    for (const endpointId of endpointIds) {
      const state = this.states.get(endpointId) ?? {
        ...{ workers: 0, concurrency: 1, isNotified: false, fails: false },
        isForPeople: null,
      };
      this.states.set(endpointId, state);
      state.isNotified = true;
      this.addWorker(endpointId, state);
    }
  }

  /** Starts no more attempts and waits for the running ones, at most `graceMs`. */
  async endWorkers(): Promise<void> {
    this.isEnding = true;
    const timer = setTimeout(() => this.stopped.abort(new Error('the process is shutting down')), graceMs);
    await Promise.all(this.working);
    clearTimeout(timer);
  }

  private addWorker(endpointId: string, state: EndpointState): void {
    if (this.isEnding || state.workers >= state.concurrency) return;
    state.workers += 1;
    let hasFailed = false;
    const work = this.sendDueOfEndpoint(endpointId, state)
      .catch((error: Error) => {
        hasFailed = true;
        this.logger.warn(`could not process the deliveries of endpoint ${endpointId}: ${error.message}`);
      })
      .finally(() => {
        state.workers -= 1;
        this.working.delete(work);
        // Deliveries became due while this worker was exiting (`notifyEndpoints()` was called), so it continues.
        if (state.isNotified && !hasFailed) this.addWorker(endpointId, state);
        if (state.workers === 0 && !state.fails) this.states.delete(endpointId);
      });
    this.working.add(work);
  }

  private async sendDueOfEndpoint(endpointId: string, state: EndpointState): Promise<void> {
    while (!this.isEnding && state.workers <= state.concurrency) {
      const releaseSlots = await this.acquireAttemptSlots(state);
      try {
        state.isNotified = false;
        const claimed = await this.claimNextDelivery(endpointId, state);
        if (!claimed && !state.isNotified) return;
        if (!claimed) continue;
        // Failures are also taken over from the row, because another process may have recorded them before this process
        // had a delivery for the endpoint.
        state.fails ||= claimed.failingSince !== null;
        this.addWorker(endpointId, state);
        if ('kind' in claimed) await this.attemptMessage(claimed, state);
        else await this.attemptDelivery(claimed, state);
      } finally {
        releaseSlots();
      }
    }
  }

  private async claimNextDelivery(
    endpointId: string,
    state: EndpointState,
  ): Promise<ClaimedDelivery | ClaimedMessage | undefined> {
    const { database, now } = this.parts;
    const delivery = state.isForPeople ? undefined : await claimDelivery(database, endpointId, now());
    if (delivery) state.isForPeople = false;
    if (delivery || state.isForPeople === false) return delivery;
    const message = await claimMessage(database, endpointId, now());
    state.isForPeople = message !== 'webhook';
    // `later` means that the deliveries are postponed. The sweep finds them when they are due.
    return typeof message === 'object' ? message : undefined;
  }

  private async acquireAttemptSlots(state: EndpointState): Promise<() => void> {
    const releaseFailing = state.fails ? await this.failingSlots.acquire() : undefined;
    const release = await this.slots.acquire();
    return () => {
      release();
      releaseFailing?.();
    };
  }

  private async attemptDelivery(claimed: ClaimedDelivery, state: EndpointState): Promise<void> {
    const { database, outbound, keyRing, metrics, now } = this.parts;
    const secrets = decryptSecrets(keyRing, claimed);
    const { signal } = this.stopped;
    let sent;
    try {
      sent = await runAsSpan(claimed, () => sendDelivery(outbound, claimed, { secrets, at: now(), signal }));
    } catch (error) {
      await releaseDelivery(database, claimed);
      throw error;
    }
    const decision = await recordAttempt(database, claimed, sent, { now: now(), chance: Math.random() });
    this.applyAttemptDecision(claimed.id, state, { decision, durationMs: sent.durationMs, metrics });
  }

  /** Sends a message that is marked as being sent. If recording its result fails, the message is not sent again. */
  private async attemptMessage(claimed: ClaimedMessage, state: EndpointState): Promise<void> {
    const { database, keyRing, metrics, now } = this.parts;
    const { endpointId, recipient, count } = claimed;
    const at = now();
    const began = performance.now();
    const events = await Promise.all(
      claimed.events.map(async ({ type, subjectId, body }) => {
        const { data } = JSON.parse(body) as Pick<NotifiedEvent, 'data'>;
        return { type, data, link: await this.parts.linkOf({ type, data, subjectId, endpointId, recipient }) };
      }),
    );
    const [url = null] = decryptSecrets(keyRing, claimed);
    const sending = sendChannelMessage(this.parts, claimed, { message: writeMessage(events, count), url });
    const sent = await resolveUnlessAborted(sending, this.stopped.signal);
    const durationMs = Math.round(performance.now() - began);
    const decision = await recordMessageAttempt(
      database,
      claimed,
      { sent, at, durationMs },
      { now: now(), chance: Math.random() },
    );
    this.applyAttemptDecision(claimed.id, state, { decision, durationMs, metrics });
  }

  private applyAttemptDecision(
    id: string,
    state: EndpointState,
    { decision, durationMs, metrics }: { decision: MessageDecision | null; durationMs: number; metrics: Metrics },
  ): void {
    if (!decision) return;
    const { status } = decision.delivery;
    state.fails = decision.failingSince !== null;
    state.concurrency = status === 'delivered' ? Math.min(maxPerEndpoint, state.concurrency + 1) : 1;
    const outcome = status === 'pending' ? 'retried' : status;
    metrics.webhookSeconds.observe({ outcome }, durationMs / 1000);
    if (decision.turnOff) metrics.webhookEndpointsTurnedOff.inc({ reason: decision.turnOff });
    if (status !== 'delivered') this.logger.debug(`delivery ${id}: ${decision.reason}`);
  }
}

/** Traces an attempt: as part of the run’s trace if the event is about a run, otherwise as a new trace. */
function runAsSpan(
  { id, organizationId, type, tries, traceparent: parent }: ClaimedDelivery,
  send: () => Promise<SentAttempt>,
): Promise<SentAttempt> {
  const attributes = {
    'muster.organization_id': organizationId,
    'muster.delivery_id': id,
    'muster.attempt': tries + 1,
  };
  return runInSpan({ name: `webhook ${type}`, kind: 'client', parent, attributes }, async (span) => {
    const sent = await send();
    span.setAttributes({ 'http.response.status_code': sent.statusCode });
    if (sent.statusCode === null) span.markFailed('no_answer');
    else if (sent.statusCode >= 300) span.markFailed(String(sent.statusCode));
    return sent;
  });
}
