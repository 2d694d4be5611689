import { Inject, Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { newId } from '../context/ids';
import { RedisConnections } from './redis-connections';

/**
 * Subjects of notifications. A notification carries the id of its subject and wakes the listeners that wait for it.
 * Each notification also wakes the loops of every app.
 *
 * - `timeline`: an agent has new timeline entries. Read by open event streams.
 * - `command`: an agent has a new command, or a command has ended. Read by polling workers and by callers that wait.
 * - `agent`: a wake may have ended. Read by callers that wait for the machine.
 * - `job`: a run has reported, or its question was answered or closed. Read by the worker that waits for the answer, and by
 *   the delivery of commands, which then does not record that the run's command was acknowledged.
 * - `autopilot`: a session has new events. Read by open event streams.
 * - `organization`: an organization has new events. Read by open event streams.
 *
 * Do not add a subject without a reader: each notification costs a message to every process.
 */
export const topics = ['timeline', 'command', 'agent', 'job', 'autopilot', 'organization'] as const;
export type Topic = (typeof topics)[number];
type Listener = (id: string) => void;

/** The notifications that are sent together: those of one turn of the event loop, of all topics. */
interface Message {
  from: string;
  topics: Partial<Record<Topic, string[]>>;
}
const channel = 'notices';

/**
 * Notifies every process that there is more to read; a notification never contains the data itself. Notifications can
 * be lost (Redis is unreachable, a process is slow), so listeners also poll from time to time.
 */
@Injectable()
export class PubSub implements OnApplicationShutdown {
  private readonly logger = new Logger(PubSub.name);
  private readonly self = newId();
  private readonly listeners = new Map<Topic, Set<Listener>>();
  private readonly waiting = new Map<Topic, Set<string>>();
  private subscriber?: Redis;
  private timer?: NodeJS.Immediate;

  constructor(@Inject(RedisConnections) private readonly connections: RedisConnections) {}

  /** Notifies the listeners of a topic. Never waits and never throws; listeners in this process are called at once. */
  publish(topic: Topic, ids: Iterable<string>): void {
    const waiting = this.waiting.get(topic) ?? new Set();
    this.waiting.set(topic, waiting);
    for (const id of ids) {
      waiting.add(id);
      this.notifyListeners(topic, id);
    }
    this.timer ??= setImmediate(() => this.sendWaitingNotifications());
  }

  /** Registers a listener. Returns the function that ends the subscription. */
  subscribe(topic: Topic, listener: Listener): () => void {
    const listeners = this.listeners.get(topic) ?? new Set();
    this.listeners.set(topic, listeners.add(listener));
    this.connectSubscriber();
    return () => listeners.delete(listener);
  }

  onApplicationShutdown(): void {
    if (this.timer) clearImmediate(this.timer);
  }

  private sendWaitingNotifications(): void {
    delete this.timer;
    const { client, prefix } = this.connections.getImpatientConnection();
    const topics = Object.fromEntries([...this.waiting].map(([topic, ids]) => [topic, [...ids]]));
    this.waiting.clear();
    client
      .publish(`${prefix}:${channel}`, JSON.stringify({ from: this.self, topics } satisfies Message))
      .catch((error: Error) => this.logger.debug?.(`could not publish a notification to Redis: ${error.message}`));
  }

  private connectSubscriber(): void {
    if (this.subscriber) return;
    const { prefix } = this.connections.getImpatientConnection();
    this.subscriber = this.connections.createSubscriber();
    this.subscriber.on('message', (_channel, message: string) => {
      const { from, topics } = JSON.parse(message) as Message;
      if (from === this.self) return;
      for (const [topic, ids] of Object.entries(topics)) for (const id of ids) this.notifyListeners(topic as Topic, id);
    });
    this.subscriber
      .subscribe(`${prefix}:${channel}`)
      .catch((error: Error) => this.logger.debug?.(`could not subscribe to Redis notifications: ${error.message}`));
  }

  private notifyListeners(topic: Topic, id: string): void {
    for (const listener of this.listeners.get(topic) ?? []) listener(id);
  }
}
