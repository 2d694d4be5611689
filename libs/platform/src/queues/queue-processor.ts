import { OnWorkerEvent, Processor, WorkerHost } from '@nestjs/bullmq';
import { applyDecorators, Inject, Logger, SetMetadata } from '@nestjs/common';
import {
  type MessageData,
  Faults,
  jobDefinition,
  type JobName,
  type JobPayload,
  type OutboxMessage,
  type QueueName,
  queueDefinition,
  readFields,
} from '@muster/contracts';
import type { Job } from 'bullmq';
import { runInContext } from '../context/request-context';
import { acceptRequestId } from '../context/trace';
import { within } from '../context/within';
import { RecoveryHold } from '../loops/recovery-hold';
import { Metrics } from '../operations/metrics';
import { Handoff } from './handoff';
import { wordOf } from '../tracing/spans';
import { type MessageInHand, MessageLedger } from './message-ledger';
import { handledSpan, publishedSpan, type ReceivedMessage } from './message-spans';
import { minutesKept, QueueRates } from './queue-rates';

/** The name under which workers find their connection. */
export const workerConfig = 'worker';
export const QUEUE_OF_PROCESSOR = 'muster:queue';
const handlersOf = new WeakMap<object, { job: string; method: string }[]>();

/** Marks the one class of an app that handles a queue's jobs. */
export function ProcessesQueue(queue: QueueName): ClassDecorator {
  return applyDecorators(
    SetMetadata(QUEUE_OF_PROCESSOR, queue),
    Processor(
      { name: queue, configKey: workerConfig },
      {
        concurrency: queueDefinition(queue).concurrency,
        // What a process that died had in hand is given to another after at most fifteen seconds.
        lockDuration: 10_000,
        stalledInterval: 5000,
        // After an error of its connection a worker rests this long, also when it is to end; by default for 15 s.
        runRetryDelay: 1000,
        // A crash counts as a stall, and BullMQ fails a job for good after the second one whatever its attempts say.
        // Giving up is Postgres's business.
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
  message: MessageInHand,
) => Promise<void>;

type Handling = (payload: object, message: MessageInHand) => Promise<void>;

/** Marks the method that handles one job of the queue; it may run twice for the same payload. */
export function HandlesJob<Q extends QueueName, N extends JobName<Q>>(_queue: Q, job: N) {
  return <H extends Handler<Q, N>>(target: object, method: string, _descriptor: TypedPropertyDescriptor<H>): void => {
    handlersOf.set(target.constructor, [...(handlersOf.get(target.constructor) ?? []), { job, method }]);
  };
}

/** Which methods of a processor class handle which job. */
export function handlersIn(type: object): { job: string; method: string }[] {
  return handlersOf.get(type) ?? [];
}

/** What every processor does around its handlers: context, payload check, time limit, metrics, and the ledger. */
export abstract class QueueProcessor extends WorkerHost {
  private readonly logger = new Logger(this.constructor.name);

  @Inject(MessageLedger) private readonly ledger!: MessageLedger;
  @Inject(Metrics) private readonly metrics!: Metrics;
  @Inject(Handoff) private readonly handoff!: Handoff;
  @Inject(RecoveryHold) private readonly hold!: RecoveryHold;
  @Inject(QueueRates) private readonly rates!: QueueRates;
  private readonly begun = new Set<Promise<void>>();

  onApplicationBootstrap(): void {
    this.handoff.open(this.queue, (message) => this.handleAtOnce(message));
  }

  /** From the queue. */
  override async process({ id, name, data, timestamp }: Job<MessageData>): Promise<void> {
    // Published once more while it is under way here.
    if (this.handoff.has(id!)) return;
    await this.handleInContext({ id: id!, queue: this.queue, name, data, enqueuedAtMs: timestamp, isNew: false });
  }

  /** From a commit of this process. Whoever enqueued it waits for nothing, so nobody hears of a fault but the ledger. */
  private async handleAtOnce(message: OutboxMessage): Promise<void> {
    const { id, queue, name, payload, organizationId, requestId } = message;
    const span = publishedSpan(message);
    span.end();
    const data = { payload, organizationId, requestId, traceparent: span.traceparent };
    const work = this.handleInContext({ id, queue, name, data, enqueuedAtMs: Date.now(), isNew: true }).then(
      () => this.rates.count(queue, 'completed'),
      () => this.rates.count(queue, 'failed'),
    );
    this.begun.add(work);
    await work.finally(() => this.begun.delete(work));
  }

  private get queue(): QueueName {
    return Reflect.getMetadata(QUEUE_OF_PROCESSOR, this.constructor) as QueueName;
  }

  private async handleInContext(received: ReceivedMessage & { isNew: boolean }): Promise<void> {
    if (this.hold.isHeld) await this.hold.released();
    const { organizationId, requestId } = received.data;
    const span = handledSpan(received);
    const context = {
      requestId: acceptRequestId(requestId),
      traceparent: span.traceparent,
      ...(organizationId ? { organizationId } : {}),
    };
    try {
      await runInContext(context, () => this.handoff.counted(received.queue, () => this.handle(received)));
    } catch (error) {
      span.fail(wordOf(error));
      throw error;
    } finally {
      span.end();
    }
  }

  /** Before the connections go: a worker that is closed without one leaves its timers behind. */
  async beforeApplicationShutdown(): Promise<void> {
    this.handoff.close(this.queue);
    await Promise.all([this.worker.close(), ...this.begun]);
  }

  @OnWorkerEvent('error')
  onError(error: Error): void {
    this.logger.debug?.(`worker: ${error.message}`);
  }

  private async handle({ id, queue, name, data, isNew }: ReceivedMessage & { isNew: boolean }): Promise<void> {
    const stop = this.metrics.jobSeconds.startTimer({ queue, job: name });
    const definition = jobDefinition(queue, name);
    const retry = definition?.retry ?? { attempts: 1, backoffMs: 0, maxBackoffMs: 0 };
    const message: MessageInHand = { id, isSettled: false };
    try {
      if (!isNew && !definition?.settles && !(await this.ledger.waits(id))) return void stop({ outcome: 'repeated' });
      const limitMs = definition?.timeoutMs ?? 30_000;
      await within(limitMs, this.dispatch({ queue, name, data }, message), () => {
        throw new Error(`the handler did not finish within ${limitMs} ms`);
      });
      if (!message.isSettled) await this.ledger.handled(id);
      stop({ outcome: 'handled' });
    } catch (error) {
      const outcome = await this.ledger.failed(id, error, retry);
      stop({ outcome });
      if (outcome === 'dead') this.metrics.deadLetters.inc({ queue, job: name });
      this.logger.warn(`${queue}.${name} failed: ${outcome}`, { err: error, message: id });
      throw error;
    }
  }

  private async dispatch(
    { queue, name, data }: Pick<ReceivedMessage, 'queue' | 'name' | 'data'>,
    message: MessageInHand,
  ): Promise<void> {
    const definition = jobDefinition(queue, name);
    const handler = handlersIn(this.constructor).find(({ job }) => job === name);
    if (!definition || !handler) throw new Error(`no handler for ${queue}.${name}`);
    const faults = new Faults();
    const place = { faults, path: '', unknown: 'ignore' } as const;
    const payload = readFields(definition.payload, data.payload ?? {}, place);
    if (!faults.none) throw new Error(`the payload of ${queue}.${name} is not valid: ${faults.errors[0]!.field}`);
    const methods = this as unknown as Record<string, Handling>;
    await methods[handler.method]!(payload, message);
  }
}
