import type { Database } from '@muster/database';
import { inSpan, type Metrics, type Outbound, Semaphore } from '@muster/platform';
import type { KeyRing } from '@muster/vault';
import { Logger } from '@nestjs/common';
import { openSecrets } from '../endpoints/seal-secret';
import { type ClaimedMessage, claimMessage } from '../messages/claim-message';
import { recordMessage } from '../messages/record-message';
import { type MessengerParts, sendMessage } from '../messages/send-message';
import { type MessageFact, writeMessage } from '../messages/write-message';
import { type ClaimedDelivery, claimDelivery } from './claim-delivery';
import type { MessageDecision } from './decide-attempt';
import { giveBack, recordAttempt } from './record-attempt';
import { sendDelivery, type SentAttempt, unlessAborted } from './send-delivery';

/** Maximum number of concurrent attempts in one process. */
const atOnce = 500;
/** Maximum number of concurrent attempts to endpoints whose last attempt failed. */
const failingAtOnce = 100;
/** Maximum number of concurrent attempts to one endpoint. */
const mostToOne = 8;
/** Time that running attempts have to finish during shutdown. */
const graceMs = 3000;

interface Lane {
  workers: number;
  /** Current limit of concurrent attempts; grows with each success. */
  width: number;
  /** Whether deliveries may have become due since the workers last checked. */
  rung: boolean;
  fails: boolean;
  /** Whether the endpoint is a channel for people; null until its first claim. */
  isForPeople: boolean | null;
}

export interface LaneParts extends MessengerParts {
  database: Database;
  outbound: Outbound;
  keyRing: KeyRing;
  metrics: Metrics;
  now(): Date;
  /** Returns the link that a message shows for an event. `recipient` is empty for channels without recipients. */
  linkOf(fact: Omit<MessageFact, 'link'> & LinkTarget): Promise<MessageFact['link']>;
}

export interface LinkTarget {
  subjectId: string;
  endpointId: string;
  recipient: string;
}

/**
 * Sends due deliveries with a separate worker pool for each endpoint, so a slow endpoint delays only its own
 * deliveries. A pool may grow by one worker after each successful delivery, up to `mostToOne`, and shrinks to one
 * worker after a failed attempt.
 */
export class DeliveryLanes {
  private readonly logger = new Logger('webhooks');
  private readonly lanes = new Map<string, Lane>();
  private readonly places = new Semaphore(atOnce);
  private readonly failingPlaces = new Semaphore(failingAtOnce);
  private readonly working = new Set<Promise<void>>();
  private readonly stopped = new AbortController();
  private isEnding = false;

  constructor(private readonly parts: LaneParts) {}

  /** Checks these endpoints for due deliveries. */
  ring(endpointIds: Iterable<string>): void {
    for (const endpointId of endpointIds) {
      const lane = this.lanes.get(endpointId) ?? {
        ...{ workers: 0, width: 1, rung: false, fails: false },
        isForPeople: null,
      };
      this.lanes.set(endpointId, lane);
      lane.rung = true;
      this.widen(endpointId, lane);
    }
  }

  /** Starts no more attempts and waits for the running ones, at most `graceMs`. */
  async end(): Promise<void> {
    this.isEnding = true;
    const timer = setTimeout(() => this.stopped.abort(new Error('the process is shutting down')), graceMs);
    await Promise.all(this.working);
    clearTimeout(timer);
  }

  private widen(endpointId: string, lane: Lane): void {
    if (this.isEnding || lane.workers >= lane.width) return;
    lane.workers += 1;
    let isBroken = false;
    const work = this.work(endpointId, lane)
      .catch((error: Error) => {
        isBroken = true;
        this.logger.warn(`could not process the deliveries of endpoint ${endpointId}: ${error.message}`);
      })
      .finally(() => {
        lane.workers -= 1;
        this.working.delete(work);
        // `ring()` was called while this worker was exiting.
        if (lane.rung && !isBroken) this.widen(endpointId, lane);
        if (lane.workers === 0 && !lane.fails) this.lanes.delete(endpointId);
      });
    this.working.add(work);
  }

  private async work(endpointId: string, lane: Lane): Promise<void> {
    while (!this.isEnding && lane.workers <= lane.width) {
      const leave = await this.enter(lane);
      try {
        lane.rung = false;
        const claimed = await this.claim(endpointId, lane);
        if (!claimed && !lane.rung) return;
        if (!claimed) continue;
        // Another process may have recorded failures before this one had a delivery for the endpoint.
        lane.fails ||= claimed.failingSince !== null;
        this.widen(endpointId, lane);
        if ('kind' in claimed) await this.attemptMessage(claimed, lane);
        else await this.attempt(claimed, lane);
      } finally {
        leave();
      }
    }
  }

  private async claim(endpointId: string, lane: Lane): Promise<ClaimedDelivery | ClaimedMessage | undefined> {
    const { database, now } = this.parts;
    const delivery = lane.isForPeople ? undefined : await claimDelivery(database, endpointId, now());
    if (delivery) lane.isForPeople = false;
    if (delivery || lane.isForPeople === false) return delivery;
    const message = await claimMessage(database, endpointId, now());
    lane.isForPeople = message !== 'webhook';
    // `later`: the sweep finds the postponed deliveries when they are due.
    return typeof message === 'object' ? message : undefined;
  }

  private async enter(lane: Lane): Promise<() => void> {
    const leaveFailing = lane.fails ? await this.failingPlaces.acquire() : undefined;
    const leave = await this.places.acquire();
    return () => {
      leave();
      leaveFailing?.();
    };
  }

  private async attempt(claimed: ClaimedDelivery, lane: Lane): Promise<void> {
    const { database, outbound, keyRing, metrics, now } = this.parts;
    const secrets = openSecrets(keyRing, claimed);
    const { signal } = this.stopped;
    let sent;
    try {
      sent = await asSpan(claimed, () => sendDelivery(outbound, claimed, { secrets, at: now(), signal }));
    } catch (error) {
      await giveBack(database, claimed);
      throw error;
    }
    const decision = await recordAttempt(database, claimed, sent, { now: now(), chance: Math.random() });
    this.learn(claimed.id, lane, { decision, durationMs: sent.durationMs, metrics });
  }

  /** The message is already marked as being sent. If anything fails before its result is recorded, it is not resent. */
  private async attemptMessage(claimed: ClaimedMessage, lane: Lane): Promise<void> {
    const { database, keyRing, metrics, now } = this.parts;
    const { endpointId, recipient, count } = claimed;
    const at = now();
    const began = performance.now();
    const facts = await Promise.all(
      claimed.facts.map(async ({ type, subjectId, body }) => {
        const { data } = JSON.parse(body) as Pick<MessageFact, 'data'>;
        return { type, data, link: await this.parts.linkOf({ type, data, subjectId, endpointId, recipient }) };
      }),
    );
    const [url = null] = openSecrets(keyRing, claimed);
    const sending = sendMessage(this.parts, claimed, { message: writeMessage(facts, count), url });
    const sent = await unlessAborted(sending, this.stopped.signal);
    const durationMs = Math.round(performance.now() - began);
    const decision = await recordMessage(
      database,
      claimed,
      { sent, at, durationMs },
      { now: now(), chance: Math.random() },
    );
    this.learn(claimed.id, lane, { decision, durationMs, metrics });
  }

  private learn(
    id: string,
    lane: Lane,
    { decision, durationMs, metrics }: { decision: MessageDecision | null; durationMs: number; metrics: Metrics },
  ): void {
    if (!decision) return;
    const { status } = decision.delivery;
    lane.fails = decision.failingSince !== null;
    lane.width = status === 'delivered' ? Math.min(mostToOne, lane.width + 1) : 1;
    const outcome = status === 'pending' ? 'retried' : status;
    metrics.webhookSeconds.observe({ outcome }, durationMs / 1000);
    if (decision.turnOff) metrics.webhookEndpointsTurnedOff.inc({ reason: decision.turnOff });
    if (status !== 'delivered') this.logger.debug(`delivery ${id}: ${decision.reason}`);
  }
}

/** Traces an attempt: as part of the run’s trace if the event is about a run, otherwise as a new trace. */
function asSpan(
  { id, organizationId, type, tries, traceparent: parent }: ClaimedDelivery,
  send: () => Promise<SentAttempt>,
): Promise<SentAttempt> {
  const attributes = {
    'muster.organization_id': organizationId,
    'muster.delivery_id': id,
    'muster.attempt': tries + 1,
  };
  return inSpan({ name: `webhook ${type}`, kind: 'client', parent, attributes }, async (span) => {
    const sent = await send();
    span.set({ 'http.response.status_code': sent.statusCode });
    if (sent.statusCode === null) span.fail('no_answer');
    else if (sent.statusCode >= 300) span.fail(String(sent.statusCode));
    return sent;
  });
}
