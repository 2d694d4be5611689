import { type BeforeApplicationShutdown, Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { QueueName } from '@muster/contracts';
import { type Metrics, Queue } from 'bullmq';
import { within } from '../context/within';
import { RedisConnections } from './redis-connections';

/** So many minutes every worker keeps of what it worked on; Redis adds up those of all processes. */
export const minutesKept = 60;
const minuteMs = 60_000;
const rateMinutes = 5;
const patienceMs = 1000;
const countingMs = 5000;

type Outcome = 'completed' | 'failed';

export interface QueueRate {
  handledLastHour: number;
  /** Of whole minutes, the last five. */
  handledPerMinute: number;
  /** Attempts that ended with an error, also those that were tried again. */
  failedLastHour: number;
}

/** How fast the queues are worked on, as their workers counted it. */
@Injectable()
export class QueueRates implements BeforeApplicationShutdown, OnApplicationShutdown {
  private readonly queues = new Map<QueueName, Queue>();
  /** What this process handled without the queue, by key, until Redis knows it. */
  private readonly counts = new Map<string, number>();
  private counting?: NodeJS.Timeout;

  constructor(@Inject(RedisConnections) private readonly connections: RedisConnections) {}

  /** Null where Redis gives no answer. */
  async read(name: QueueName): Promise<QueueRate | null> {
    try {
      const queue = this.queue(name);
      const asked = Promise.all([
        queue.getMetrics('completed'),
        queue.getMetrics('failed'),
        this.handedOff(name, 'completed'),
        this.handedOff(name, 'failed'),
      ]);
      // A queue's first question waits for its connection, however long that takes.
      const [completed, failed, done, undone] = await within(patienceMs, asked, () => {
        throw new Error('Redis does not answer');
      });
      return rateOf(completed, failed, Date.now(), { completed: done, failed: undone });
    } catch {
      return null;
    }
  }

  /** A message that this process handled without the queue. */
  count(queue: QueueName, outcome: Outcome): void {
    const key = this.keyOf(queue, outcome, Math.floor(Date.now() / minuteMs));
    this.counts.set(key, (this.counts.get(key) ?? 0) + 1);
    this.counting ??= setTimeout(() => void this.writeCounts(), countingMs);
  }

  private async writeCounts(): Promise<void> {
    clearTimeout(this.counting);
    delete this.counting;
    const batch = this.connections.impatient().client.pipeline();
    for (const [key, count] of this.counts) batch.incrby(key, count).expire(key, (minutesKept + 1) * 60);
    this.counts.clear();
    // A figure of an hour that a dead Redis does not get is not made up for.
    await batch.exec().catch(() => undefined);
  }

  private async handedOff(queue: QueueName, outcome: Outcome): Promise<number[]> {
    const minute = Math.floor(Date.now() / minuteMs);
    const keys = Array.from({ length: minutesKept }, (_, ago) => this.keyOf(queue, outcome, minute - ago));
    return (await this.connections.impatient().client.mget(keys)).map(Number);
  }

  private keyOf(queue: QueueName, outcome: Outcome, minute: number): string {
    return `${this.connections.impatient().prefix}:handled:${queue}:${outcome}:${minute}`;
  }

  /** Before its connection goes. */
  async beforeApplicationShutdown(): Promise<void> {
    if (this.counts.size > 0) await this.writeCounts();
  }

  async onApplicationShutdown(): Promise<void> {
    clearTimeout(this.counting);
    await Promise.all([...this.queues.values()].map((queue) => queue.close()));
  }

  private queue(name: QueueName): Queue {
    const known = this.queues.get(name);
    if (known) return known;
    const queue = new Queue(name, {
      connection: this.connections.impatient().client,
      prefix: this.connections.queuePrefix,
      skipVersionCheck: true,
      skipMetasUpdate: true,
    });
    // Its connection's own listener tells; unheard here, an error would end the process.
    queue.on('error', () => undefined);
    this.queues.set(name, queue);
    return queue;
  }
}

/**
 * Of what BullMQ keeps: the total and that before the minute of the last message, and the minutes before it. With it goes
 * what processes handled without the queue, by minutes, this one first.
 */
export function rateOf(
  completed: Metrics,
  failed: Metrics,
  now: number,
  handedOff: Record<Outcome, number[]> = { completed: [], failed: [] },
): QueueRate {
  const byQueue = minutesOf(completed, now);
  const handled = Array.from(
    { length: minutesKept },
    (_, ago) => (byQueue[ago] ?? 0) + (handedOff.completed[ago] ?? 0),
  );
  return {
    handledLastHour: sum(handled),
    handledPerMinute: sum(handled.slice(1, 1 + rateMinutes)) / rateMinutes,
    failedLastHour: sum(minutesOf(failed, now)) + sum(handedOff.failed),
  };
}

/** This minute's first, and none for those in which nothing came. */
function minutesOf({ meta: { count, prevTS, prevCount }, data }: Metrics, now: number): number[] {
  const quiet = Math.max(0, Math.floor(now / minuteMs) - Math.floor(prevTS / minuteMs));
  const silent = Array.from({ length: Math.min(quiet, minutesKept) }, () => 0);
  return [...silent, count - prevCount, ...data].slice(0, minutesKept);
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
