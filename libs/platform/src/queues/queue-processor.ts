import { OnWorkerEvent, Processor, WorkerHost } from '@nestjs/bullmq';
import { applyDecorators, Inject, Logger, SetMetadata } from '@nestjs/common';
import {
  type MessageData,
  Faults,
  jobDefinition,
  type JobName,
  type JobPayload,
  type QueueName,
  queueDefinition,
  readFields,
} from '@muster/contracts';
import type { Job } from 'bullmq';
import { runInContext } from '../context/request-context';
import { acceptRequestId } from '../context/trace';
import { within } from '../context/within';
import { Metrics } from '../operations/metrics';
import { wordOf } from '../tracing/spans';
import { type MessageInHand, MessageLedger } from './message-ledger';
import { handledSpan } from './message-spans';
import { minutesKept } from './queue-rates';

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
        lockDuration: 30_000,
        stalledInterval: 15_000,
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

  override async process(job: Job<MessageData>): Promise<void> {
    const { organizationId, requestId } = job.data;
    const span = handledSpan(job);
    const context = {
      requestId: acceptRequestId(requestId),
      traceparent: span.traceparent,
      ...(organizationId ? { organizationId } : {}),
    };
    try {
      await runInContext(context, () => this.handle(job));
    } catch (error) {
      span.fail(wordOf(error));
      throw error;
    } finally {
      span.end();
    }
  }

  /** Before the connections go: a worker that is closed without one leaves its timers behind. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.worker.close();
  }

  @OnWorkerEvent('error')
  onError(error: Error): void {
    this.logger.debug?.(`worker: ${error.message}`);
  }

  private async handle(job: Job<MessageData>): Promise<void> {
    const queue = job.queueName as QueueName;
    const stop = this.metrics.jobSeconds.startTimer({ queue, job: job.name });
    const definition = jobDefinition(queue, job.name);
    const retry = definition?.retry ?? { attempts: 1, backoffMs: 0, maxBackoffMs: 0 };
    const message: MessageInHand = { id: job.id!, isSettled: false };
    try {
      if (!definition?.settles && !(await this.ledger.waits(job.id!))) return void stop({ outcome: 'repeated' });
      const limitMs = definition?.timeoutMs ?? 30_000;
      await within(limitMs, this.dispatch(queue, job, message), () => {
        throw new Error(`the handler did not finish within ${limitMs} ms`);
      });
      if (!message.isSettled) await this.ledger.handled(job.id!);
      stop({ outcome: 'handled' });
    } catch (error) {
      const outcome = await this.ledger.failed(job.id!, error, retry);
      stop({ outcome });
      if (outcome === 'dead') this.metrics.deadLetters.inc({ queue, job: job.name });
      this.logger.warn(`${queue}.${job.name} failed: ${outcome}`, { err: error, message: job.id });
      throw error;
    }
  }

  private async dispatch(queue: QueueName, job: Job<MessageData>, message: MessageInHand): Promise<void> {
    const definition = jobDefinition(queue, job.name);
    const handler = handlersIn(this.constructor).find(({ job: name }) => name === job.name);
    if (!definition || !handler) throw new Error(`no handler for ${queue}.${job.name}`);
    const faults = new Faults();
    const place = { faults, path: '', unknown: 'ignore' } as const;
    const payload = readFields(definition.payload, job.data.payload ?? {}, place);
    if (!faults.none) throw new Error(`payload of ${queue}.${job.name} is not valid: ${faults.errors[0]!.field}`);
    const methods = this as unknown as Record<string, Handling>;
    await methods[handler.method]!(payload, message);
  }
}
