import { type BeforeApplicationShutdown, Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { QueueName } from '@muster/contracts';
import { type Metrics, Queue } from 'bullmq';
import { finishWithin } from '../context/finish-within';
import { RedisConnections } from './redis-connections';

/** Number of minutes for which every worker stores its counts. Redis adds up the counts of all processes. */
export const minutesKept = 60;
const minuteMs = 60_000;
const rateMinutes = 5;
const patienceMs = 1000;
const countingMs = 5000;

type Outcome = 'completed' | 'failed';

export interface QueueRate {
  handledLastHour: number;
  /** Number of messages handled per minute, as an average of the last five whole minutes. */
  handledPerMinute: number;
  /** Number of attempts in the last hour that ended with an error, including attempts that were retried. */
  failedLastHour: number;
}

/** Reads how many messages of a queue are handled, as counted by the workers. */
@Injectable()
export class QueueRates implements BeforeApplicationShutdown, OnApplicationShutdown {
  private readonly queues = new Map<QueueName, Queue>();
  /** Messages that this process handled without the queue and has not reported to Redis yet, by key. */
  private readonly counts = new Map<string, number>();
  private counting?: NodeJS.Timeout;

  constructor(@Inject(RedisConnections) private readonly connections: RedisConnections) {}

  /** Reads the rates of a queue; null if Redis does not answer. */
  async readRate(name: QueueName): Promise<QueueRate | null> {
    try {
      const queue = this.openQueue(name);
      const requests = Promise.all([
        queue.getMetrics('completed'),
        queue.getMetrics('failed'),
        this.readHandedOffCounts(name, 'completed'),
        this.readHandedOffCounts(name, 'failed'),
      ]);
      // The wait is limited here, because the first request of a BullMQ queue waits for its connection without a time
      // limit.
      const [completed, failed, done, undone] = await finishWithin(patienceMs, requests, () => {
        throw new Error('Redis does not answer');
      });
      return computeQueueRate(completed, failed, Date.now(), { completed: done, failed: undone });
    } catch {
      return null;
    }
  }

  /** Counts a message that this process handled without the queue. */
  countHandled(queue: QueueName, outcome: Outcome): void {
    const key = this.buildCountKey(queue, outcome, Math.floor(Date.now() / minuteMs));
    this.counts.set(key, (this.counts.get(key) ?? 0) + 1);
    this.counting ??= setTimeout(() => void this.writeCounts(), countingMs);
  }

  private async writeCounts(): Promise<void> {
    clearTimeout(this.counting);
    delete this.counting;
    const batch = this.connections.getImpatientConnection().client.pipeline();
    for (const [key, count] of this.counts) batch.incrby(key, count).expire(key, (minutesKept + 1) * 60);
    this.counts.clear();
    // Counts that Redis does not receive are lost. They only serve statistics of the last hour.
    await batch.exec().catch(() => undefined);
  }

  private async readHandedOffCounts(queue: QueueName, outcome: Outcome): Promise<number[]> {
    const minute = Math.floor(Date.now() / minuteMs);
    const keys = Array.from({ length: minutesKept }, (_, ago) => this.buildCountKey(queue, outcome, minute - ago));
    return (await this.connections.getImpatientConnection().client.mget(keys)).map(Number);
  }

  private buildCountKey(queue: QueueName, outcome: Outcome, minute: number): string {
    return `${this.connections.getImpatientConnection().prefix}:handled:${queue}:${outcome}:${minute}`;
  }

  /** Reports the last counts before the connection is closed. */
  async beforeApplicationShutdown(): Promise<void> {
    if (this.counts.size > 0) await this.writeCounts();
  }

  async onApplicationShutdown(): Promise<void> {
    clearTimeout(this.counting);
    await Promise.all([...this.queues.values()].map((queue) => queue.close()));
  }

  private openQueue(name: QueueName): Queue {
    const existing = this.queues.get(name);
    if (existing) return existing;
    const queue = new Queue(name, {
      connection: this.connections.getImpatientConnection().client,
      prefix: this.connections.queuePrefix,
      skipVersionCheck: true,
      skipMetasUpdate: true,
    });
    // The listener of the connection logs errors. Without a listener here, an error would end the process.
    queue.on('error', () => undefined);
    this.queues.set(name, queue);
    return queue;
  }
}

/**
 * Computes the rate from BullMQ's metrics and the messages that processes handled without the queue. BullMQ stores the
 * total, the total before the minute of the last message, and the counts of the minutes before that.
 * `readHandedOffCounts` has counts by minute, the current minute first.
 */
export function computeQueueRate(
  completed: Metrics,
  failed: Metrics,
  now: number,
  handedOff: Record<Outcome, number[]> = { completed: [], failed: [] },
): QueueRate {
  const byQueue = listCountsByMinute(completed, now);
  const handled = Array.from(
    { length: minutesKept },
    (_, ago) => (byQueue[ago] ?? 0) + (handedOff.completed[ago] ?? 0),
  );
  return {
    handledLastHour: sumNumbers(handled),
    handledPerMinute: sumNumbers(handled.slice(1, 1 + rateMinutes)) / rateMinutes,
    failedLastHour: sumNumbers(listCountsByMinute(failed, now)) + sumNumbers(handedOff.failed),
  };
}

/** Returns the counts by minute, the current minute first. Minutes without messages have 0. */
function listCountsByMinute({ meta: { count, prevTS, prevCount }, data }: Metrics, now: number): number[] {
  const quiet = Math.max(0, Math.floor(now / minuteMs) - Math.floor(prevTS / minuteMs));
  const silent = Array.from({ length: Math.min(quiet, minutesKept) }, () => 0);
  return [...silent, count - prevCount, ...data].slice(0, minutesKept);
}

function sumNumbers(numbers: number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
