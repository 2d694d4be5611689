import { OnWorkerEvent, Processor, WorkerHost } from '@nestjs/bullmq';
import { applyDecorators, Inject, Logger, SetMetadata } from '@nestjs/common';
import {
  type MessageData,
  Faults,
  getJobDefinition,
  type JobName,
  type JobPayload,
  type OutboxMessage,
  type QueueName,
  getQueueDefinition,
  readFields,
} from '@muster/contracts';
import type { Job } from 'bullmq';
import { runInContext } from '../context/request-context';
import { chooseRequestId } from '../context/trace';
import { finishWithin } from '../context/finish-within';
import { RecoveryHold } from '../loops/recovery-hold';
import { Metrics } from '../operations/metrics';
import { Handoff } from './handoff';
import { getErrorCodeOrName } from '../tracing/spans';
import { MessageLedger, type ReceivedMessage } from './message-ledger';
import { openHandlerSpan, openPublishSpan, type QueuedMessage } from './message-spans';
import { minutesKept, QueueRates } from './queue-rates';

/** Key of the BullMQ configuration that contains the connection of workers. */
export const workerConfig = 'worker';
export const QUEUE_OF_PROCESSOR = 'muster:queue';
const handlersOf = new WeakMap<object, { job: string; method: string }[]>();

/** Marks the only class of an app that handles the jobs of a queue. */
export function ProcessesQueue(queue: QueueName): ClassDecorator {
  return applyDecorators(
    SetMetadata(QUEUE_OF_PROCESSOR, queue),
    Processor(
      { name: queue, configKey: workerConfig },
      {
        concurrency: getQueueDefinition(queue).concurrency,
        // If a process dies, another process gets its messages after at most fifteen seconds.
        lockDuration: 10_000,
        stalledInterval: 5000,
        // Milliseconds that a worker pauses after a connection error, which also delays its shutdown. BullMQ's default
        // is 15 s.
        runRetryDelay: 1000,
        // A crash counts as a stall. By default BullMQ fails a job permanently after the second stall, whatever its
        // attempts. Only the ledger decides that a message has failed permanently.
        maxStalledCount: 1_000_000,
        removeOnComplete: { count: 0 },
        removeOnFail: { count: 0 },
        metrics: { maxDataPoints: minutesKept },
      },
    ) as ClassDecorator,
  );
}

type Handler<Q extends QueueName, N extends JobName<Q>> = (
  payload: JobPayload<Q, N>,
  message: ReceivedMessage,
) => Promise<void>;

type Handling = (payload: object, message: ReceivedMessage) => Promise<void>;

/** Marks the method that handles one job of the queue. The method may run twice for the same payload. */
export function HandlesJob<Q extends QueueName, N extends JobName<Q>>(_queue: Q, job: N) {
  return <H extends Handler<Q, N>>(target: object, method: string, _descriptor: TypedPropertyDescriptor<H>): void => {
    handlersOf.set(target.constructor, [...(handlersOf.get(target.constructor) ?? []), { job, method }]);
  };
}

/** Returns the jobs that a processor class handles, with their methods. */
export function listHandlers(type: object): { job: string; method: string }[] {
  return handlersOf.get(type) ?? [];
}

/**
 * Does the work around the handlers of a processor: context, validation of payloads, time limit, metrics and the
 * ledger.
 */
export abstract class QueueProcessor extends WorkerHost {
  private readonly logger = new Logger(this.constructor.name);

  @Inject(MessageLedger) private readonly ledger!: MessageLedger;
  @Inject(Metrics) private readonly metrics!: Metrics;
  @Inject(Handoff) private readonly handoff!: Handoff;
  @Inject(RecoveryHold) private readonly hold!: RecoveryHold;
  @Inject(QueueRates) private readonly rates!: QueueRates;
  private readonly begun = new Set<Promise<void>>();

  onApplicationBootstrap(): void {
    this.handoff.openQueue(this.queue, (message) => this.handleWithoutQueue(message));
  }

  /** Handles a message from the queue. */
  override async process({ id, name, data, timestamp }: Job<MessageData>): Promise<void> {
    // This process is already handling the message, because the message was published again in the meantime.
    if (this.handoff.isAccepted(id!)) return;
    await this.handleInContext({ id: id!, queue: this.queue, name, data, enqueuedAtMs: timestamp, isNew: false });
  }

  /**
   * Handles a message that this process has just committed. The code that enqueued the message does not wait for it, so
   * errors go only to the ledger and the log.
   */
  private async handleWithoutQueue(message: OutboxMessage): Promise<void> {
    const { id, queue, name, payload, organizationId, requestId } = message;
    const span = openPublishSpan(message);
    span.end();
    const data = { payload, organizationId, requestId, traceparent: span.traceparent };
    const work = this.handleInContext({ id, queue, name, data, enqueuedAtMs: Date.now(), isNew: true }).then(
      () => this.rates.countHandled(queue, 'completed'),
      () => this.rates.countHandled(queue, 'failed'),
    );
    this.begun.add(work);
    await work.finally(() => this.begun.delete(work));
  }

  private get queue(): QueueName {
    return Reflect.getMetadata(QUEUE_OF_PROCESSOR, this.constructor) as QueueName;
  }

  private async handleInContext(received: QueuedMessage & { isNew: boolean }): Promise<void> {
    if (this.hold.isHeld) await this.hold.waitForRelease();
    const { organizationId, requestId } = received.data;
    const span = openHandlerSpan(received);
    const context = {
      requestId: chooseRequestId(requestId),
      traceparent: span.traceparent,
      ...(organizationId ? { organizationId } : {}),
    };
    try {
      await runInContext(context, () =>
        this.handoff.countHandlerWhileRunning(received.queue, () => this.handleMessage(received)),
      );
    } catch (error) {
      span.markFailed(getErrorCodeOrName(error));
      throw error;
    } finally {
      span.end();
    }
  }

  /**
   * The workers are closed before the connections, because a worker without a connection leaves its timers running when
   * it is closed.
   */
  async beforeApplicationShutdown(): Promise<void> {
    this.handoff.closeQueue(this.queue);
    await Promise.all([this.worker.close(), ...this.begun]);
  }

  @OnWorkerEvent('error')
  onError(error: Error): void {
    this.logger.debug?.(`worker: ${error.message}`);
  }

  private async handleMessage({ id, queue, name, data, isNew }: QueuedMessage & { isNew: boolean }): Promise<void> {
    const stop = this.metrics.jobSeconds.startTimer({ queue, job: name });
    const definition = getJobDefinition(queue, name);
    const retry = definition?.retry ?? { attempts: 1, backoffMs: 0, maxBackoffMs: 0 };
    const message: ReceivedMessage = { id, isSettled: false };
    try {
      if (!isNew && !definition?.settles && !(await this.ledger.isMessageUnhandled(id)))
        return void stop({ outcome: 'repeated' });
      const limitMs = definition?.timeoutMs ?? 30_000;
      await finishWithin(limitMs, this.callHandler({ queue, name, data }, message), () => {
        throw new Error(`the handler did not finish within ${limitMs} ms`);
      });
      if (!message.isSettled) await this.ledger.markHandled(id);
      stop({ outcome: 'handled' });
    } catch (error) {
      const outcome = await this.ledger.recordFailure(id, error, retry);
      stop({ outcome });
      if (outcome === 'dead') this.metrics.deadLetters.inc({ queue, job: name });
      this.logger.warn(`${queue}.${name} failed: ${outcome}`, { err: error, message: id });
      throw error;
    }
  }

  private async callHandler(
    { queue, name, data }: Pick<QueuedMessage, 'queue' | 'name' | 'data'>,
    message: ReceivedMessage,
  ): Promise<void> {
    const definition = getJobDefinition(queue, name);
    const handler = listHandlers(this.constructor).find(({ job }) => job === name);
    if (!definition || !handler) throw new Error(`no handler for ${queue}.${name}`);
    const faults = new Faults();
    const options = { faults, path: '', unknown: 'ignore' } as const;
    const payload = readFields(definition.payload, data.payload ?? {}, options);
    if (!faults.isEmpty) throw new Error(`the payload of ${queue}.${name} is not valid: ${faults.errors[0]!.field}`);
    const methods = this as unknown as Record<string, Handling>;
    await methods[handler.method]!(payload, message);
  }
}
