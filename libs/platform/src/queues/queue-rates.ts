import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { QueueName } from '@muster/contracts';
import { type Metrics, Queue } from 'bullmq';
import { within } from '../context/within';
import { RedisConnections } from './redis-connections';

/** So many minutes every worker keeps of what it worked on; Redis adds up those of all processes. */
export const minutesKept = 60;
const minuteMs = 60_000;
const rateMinutes = 5;
const patienceMs = 1000;

export interface QueueRate {
  handledLastHour: number;
  /** Of whole minutes, the last five. */
  handledPerMinute: number;
  /** Attempts that ended with an error, also those that were tried again. */
  failedLastHour: number;
}

/** How fast the queues are worked on, as their workers counted it. */
@Injectable()
export class QueueRates implements OnApplicationShutdown {
  private readonly queues = new Map<QueueName, Queue>();

  constructor(@Inject(RedisConnections) private readonly connections: RedisConnections) {}

  /** Null where Redis gives no answer. */
  async read(name: QueueName): Promise<QueueRate | null> {
    try {
      const queue = this.queue(name);
      const asked = Promise.all([queue.getMetrics('completed'), queue.getMetrics('failed')]);
      // A queue's first question waits for its connection, however long that takes.
      const [completed, failed] = await within(patienceMs, asked, () => {
        throw new Error('Redis does not answer');
      });
      return rateOf(completed, failed, Date.now());
    } catch {
      return null;
    }
  }

  async onApplicationShutdown(): Promise<void> {
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

/** Of what BullMQ keeps: the total and that before the minute of the last message, and the minutes before it. */
export function rateOf(completed: Metrics, failed: Metrics, now: number): QueueRate {
  const handled = minutesOf(completed, now);
  return {
    handledLastHour: sum(handled),
    handledPerMinute: sum(handled.slice(1, 1 + rateMinutes)) / rateMinutes,
    failedLastHour: sum(minutesOf(failed, now)),
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
