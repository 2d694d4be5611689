import type { ServiceApp } from '../http/apps';
import {
  AgentPayload,
  AnalysisPayload,
  BatchPayload,
  CommandPayload,
  EndpointPayload,
  JobPayloadIds,
  LinkPayload,
  OrganizationPayload,
  PilotBatchPayload,
  ProbePayload,
  RecomputePayload,
  SessionPayload,
  SubmissionPayload,
  WakePayload,
} from './payloads';

/** Number of attempts and backoff of a message whose handler fails. After the last attempt it becomes a dead letter. */
export interface RetryPolicy {
  attempts: number;
  backoffMs: number;
  maxBackoffMs: number;
}

export interface JobDefinition {
  payload: new () => object;
  /** Time in milliseconds after which a handler that has not finished counts as failed. */
  timeoutMs: number;
  retry: RetryPolicy;
  /**
   * Whether the handler deletes the message from the outbox in the transaction that does the work. Then no check
   * precedes the handler, because handling the message a second time does nothing.
   */
  settles?: true;
  /**
   * Whether the message always goes through the queue, even if the process that enqueued it could handle it directly.
   */
  byQueue?: true;
}

export interface QueueDefinition {
  /** App that processes this queue. */
  app: ServiceApp;
  purpose: string;
  /** Maximum number of handlers of this queue that one process runs concurrently. */
  concurrency: number;
  jobs: Record<string, JobDefinition>;
}

const quick: Pick<JobDefinition, 'timeoutMs' | 'retry'> = {
  timeoutMs: 30_000,
  retry: { attempts: 8, backoffMs: 500, maxBackoffMs: 60_000 },
};

/** Probe message of every queue. `request-queue-probes.ts` enqueues it; the app of the queue answers it. */
const probe = { payload: ProbePayload, ...quick, byQueue: true } as const;

/**
 * Every queue with its app and its jobs: payload, timeout and retry policy. A payload contains only ids; the handler
 * reads the rows. Finished and failed messages are removed from Redis, because a stored message would make Redis
 * ignore a second one with the same id. Retries and dead letters are in Postgres (table `outbox`).
 */
export const queueCatalogue = {
  dispatch: {
    app: 'dispatcher',
    purpose: 'starts jobs; wakes, stops and recovers agents',
    concurrency: 100,
    jobs: {
      probe,
      /** Message with an agent's id: the dispatcher checks whether the agent can start its next job. */
      'dispatch-agent': { payload: AgentPayload, ...quick, settles: true },
      /** Enqueued when a job that names no agent may be able to start on an idle agent. */
      'place-job': { payload: JobPayloadIds, ...quick },
      /**
       * Enqueued when jobs of an organization that name no agent may be able to start: a batch was launched, or a key
       * came free.
       */
      'place-jobs': { payload: OrganizationPayload, ...quick },
      /** Enqueued when a command waits to be delivered to its agent. */
      'deliver-command': { payload: CommandPayload, ...quick },
      /** Enqueued when a command that a job waits for has a result. */
      'command-finished': { payload: CommandPayload, ...quick },
      /** Enqueued when a machine must be started. */
      'wake-agent': { payload: WakePayload, ...quick },
      'recover-agent': { payload: AgentPayload, ...quick },
      /** Enqueued when a machine must be stopped, rebooted or terminated, depending on the agent's status. */
      'control-agent': { payload: AgentPayload, ...quick, timeoutMs: 120_000 },
      /** Enqueued when a machine is off, so that jobs that were being stopped on it are cancelled. */
      'agent-stopped': { payload: AgentPayload, ...quick },
      /** Enqueued when the cost of a run that has a budget has increased. */
      'check-budget': { payload: JobPayloadIds, ...quick },
      /** Enqueued when a video analysis can take its next step towards a workflow. */
      'analyze-video': { payload: AnalysisPayload, ...quick, timeoutMs: 600_000 },
      /** Enqueued when a batch was cancelled, so that its open jobs are ended. */
      'cancel-batch': { payload: BatchPayload, ...quick, timeoutMs: 300_000 },
    },
  },
  autopilot: {
    app: 'dispatcher',
    purpose: 'advances autopilot sessions by one step',
    // The concurrency is high, because many handlers wait for a language model at the same time, and other sessions
    // must not wait for them.
    concurrency: 100,
    jobs: {
      probe,
      /**
       * Enqueued when an autopilot session may be able to continue: a command ended, a person answered, or the model
       * can be called.
       */
      'advance-session': { payload: SessionPayload, ...quick, timeoutMs: 900_000, settles: true },
    },
  },
  schedule: {
    app: 'scheduler',
    purpose: 'receives only probe messages; a maintenance loop finds the schedules that are due',
    concurrency: 5,
    jobs: { probe },
  },
  metering: {
    app: 'metering',
    purpose: 'computes the cost of finished jobs, describes reported batches, deletes the files of deleted jobs',
    // The concurrency is high, because the runs that end at the same time are booked in one transaction, for which many
    // handlers wait.
    concurrency: 50,
    jobs: {
      probe,
      'job-finished': { payload: JobPayloadIds, ...quick, settles: true },
      /** Enqueued when a job was deleted, so that its objects are removed from the object store. */
      'remove-objects': { payload: JobPayloadIds, ...quick, timeoutMs: 300_000 },
      /** Enqueued when a pilot batch was reported, so that its session is summarized again. */
      'batch-ingested': { payload: PilotBatchPayload, ...quick },
      /** Enqueued when costs of runs must be recomputed. A message that runs out of time enqueues the next one. */
      'recompute-costs': { payload: RecomputePayload, ...quick, timeoutMs: 120_000 },
    },
  },
  feedback: {
    app: 'feedback-sync',
    purpose: 'synchronizes feedback with the trackers',
    concurrency: 5,
    jobs: {
      probe,
      /** Enqueued when the work item of a feedback report was created or may have changed. */
      'sync-work-item': { payload: SubmissionPayload, ...quick, timeoutMs: 300_000 },
    },
  },
  webhooks: {
    app: 'feedback-sync',
    purpose:
      'delivers events to webhook endpoints and notification channels, and sends mails for passwords and invitations',
    concurrency: 20,
    jobs: {
      probe,
      /** Enqueued when events were recorded, so that the organization's pending events become deliveries. */
      'fan-out': { payload: OrganizationPayload, ...quick, timeoutMs: 60_000 },
      /** Enqueued when an immediate delivery to a webhook endpoint was requested: a test or a redelivery. */
      'send-due': { payload: EndpointPayload, ...quick },
      /** Enqueued when a person needs the mail with a link to set a password. */
      'send-account-mail': { payload: LinkPayload, ...quick, timeoutMs: 60_000 },
    },
  },
} as const satisfies Record<string, QueueDefinition>;

export type QueueName = keyof typeof queueCatalogue;
export type JobName<Q extends QueueName> = keyof (typeof queueCatalogue)[Q]['jobs'] & string;
export type JobPayload<Q extends QueueName, N extends JobName<Q>> = (typeof queueCatalogue)[Q]['jobs'][N] extends {
  payload: new () => infer P;
}
  ? P
  : never;

export const queueNames = Object.keys(queueCatalogue) as QueueName[];

export function getQueueDefinition(queue: QueueName): QueueDefinition {
  return queueCatalogue[queue];
}

export function getJobDefinition(queue: QueueName, job: string): JobDefinition | undefined {
  return getQueueDefinition(queue).jobs[job];
}
