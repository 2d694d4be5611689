import type { ServiceApp } from '../http/apps';
import {
  AgentPayload,
  AnalysisPayload,
  BatchPayload,
  CommandPayload,
  EndpointPayload,
  JobPayloadIds,
  OrganizationPayload,
  PilotBatchPayload,
  ProbePayload,
  RecomputePayload,
  SessionPayload,
  SubmissionPayload,
  WakePayload,
} from './payloads';

/** How often a message whose handler failed is published again, before it becomes a dead letter. */
export interface RetryPolicy {
  attempts: number;
  backoffMs: number;
  maxBackoffMs: number;
}

export interface JobDefinition {
  payload: new () => object;
  /** A handler that runs longer is given up and counts as failed. */
  timeoutMs: number;
  retry: RetryPolicy;
  /**
   * Its handler takes the message off the table in the transaction that does what it asks for. So nobody asks before
   * whether it still waits: handled once more, there is nothing left to do.
   */
  settles?: true;
  /** Always goes through the queue, also where the process that enqueued it could begin it at once. */
  byQueue?: true;
}

export interface QueueDefinition {
  /** The one app that handles this queue's jobs. */
  app: ServiceApp;
  purpose: string;
  /** How many handlers of this queue one process runs side by side. */
  concurrency: number;
  jobs: Record<string, JobDefinition>;
}

const quick: Pick<JobDefinition, 'timeoutMs' | 'retry'> = {
  timeoutMs: 30_000,
  retry: { attempts: 8, backoffMs: 500, maxBackoffMs: 60_000 },
};

/** The canary that every queue carries: written by `request-queue-probes.ts`, answered by the app that consumes it. */
const probe = { payload: ProbePayload, ...quick, byQueue: true } as const;

/**
 * Every queue, declared once: what comes through it, with which payload, how it is retried, and which app answers.
 * A payload carries ids only; the handler reads the rows. Finished and failed messages are not kept in Redis: a kept
 * one would swallow a second one with the same id, and retries and dead letters live in Postgres (table `outbox`).
 */
export const queueCatalogue = {
  dispatch: {
    app: 'dispatcher',
    purpose: 'jobs to start, agents to wake and stop',
    concurrency: 100,
    jobs: {
      probe,
      /** An agent may be able to start a job. */
      'dispatch-agent': { payload: AgentPayload, ...quick, settles: true },
      /** A command waits for its agent. */
      'deliver-command': { payload: CommandPayload, ...quick },
      /** A command that a job waits for has its result. */
      'command-finished': { payload: CommandPayload, ...quick },
      /** A machine is to be started. */
      'wake-agent': { payload: WakePayload, ...quick },
      'recover-agent': { payload: AgentPayload, ...quick },
      /** A machine is to be stopped, rebooted or terminated, as its status says. */
      'control-agent': { payload: AgentPayload, ...quick, timeoutMs: 120_000 },
      /** A machine is off: nothing that was to end on it runs any more. */
      'agent-stopped': { payload: AgentPayload, ...quick },
      /** A run with a budget has spent something. */
      'check-budget': { payload: JobPayloadIds, ...quick },
      /** A recording is a step nearer to a workflow. */
      'analyze-video': { payload: AnalysisPayload, ...quick, timeoutMs: 600_000 },
      /** A batch is to end: what is open of it, in steps. */
      'cancel-batch': { payload: BatchPayload, ...quick, timeoutMs: 300_000 },
    },
  },
  autopilot: {
    app: 'dispatcher',
    purpose: 'sessions of the autopilot to bring forward by a step',
    // Many wait for a model at the same time, and none is to wait for them.
    concurrency: 100,
    jobs: {
      probe,
      /** What a session waits for may be there: a command's end, a person's answer, its turn at the model. */
      'advance-session': { payload: SessionPayload, ...quick, timeoutMs: 900_000, settles: true },
    },
  },
  schedule: { app: 'scheduler', purpose: 'schedules to look at before their tick', concurrency: 5, jobs: { probe } },
  metering: {
    app: 'metering',
    purpose: 'finished jobs to cost and count, sessions to tell, and the objects of deleted jobs to remove',
    // Runs that ended are settled by the set, so that many wait for one transaction.
    concurrency: 50,
    jobs: {
      probe,
      'job-finished': { payload: JobPayloadIds, ...quick, settles: true },
      /** A job was deleted: what it had in the object store goes. */
      'remove-objects': { payload: JobPayloadIds, ...quick, timeoutMs: 300_000 },
      /** A practice's batch was told: its session is made anew. */
      'batch-ingested': { payload: PilotBatchPayload, ...quick },
      /** Runs are to be priced anew, in steps. */
      'recompute-costs': { payload: RecomputePayload, ...quick, timeoutMs: 120_000 },
    },
  },
  feedback: {
    app: 'feedback-sync',
    purpose: 'feedback to bring to the trackers',
    concurrency: 5,
    jobs: {
      probe,
      /** A work item was made, or something about it may have changed. */
      'sync-work-item': { payload: SubmissionPayload, ...quick, timeoutMs: 300_000 },
    },
  },
  webhooks: {
    app: 'feedback-sync',
    purpose: 'facts to tell to the addresses that organizations named',
    concurrency: 20,
    jobs: {
      probe,
      /** Facts were written: those of the organization that wait become deliveries. */
      'fan-out': { payload: OrganizationPayload, ...quick, timeoutMs: 60_000 },
      /** Something was asked to be sent to an endpoint now: a test, a delivery once more. */
      'send-due': { payload: EndpointPayload, ...quick },
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

export function queueDefinition(queue: QueueName): QueueDefinition {
  return queueCatalogue[queue];
}

export function jobDefinition(queue: QueueName, job: string): JobDefinition | undefined {
  return queueDefinition(queue).jobs[job];
}
