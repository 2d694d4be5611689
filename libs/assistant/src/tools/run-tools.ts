import { findAgent } from '@muster/machines';
import { runCommand, waitForCommand } from '@muster/commands';
import { listTimeline } from '@muster/timeline';
import {
  isTerminalStatus,
  maskResult,
  maskVariables,
  microsToUsd,
  microsToUsdOrNull,
  notFoundError,
  type WaitingReason,
} from '@muster/contracts';
import { cancelJob, findJob, type JobRow, launchJob, listAgentRuns, listSteps, computeJobProgress } from '@muster/jobs';
import { buildPage } from '@muster/platform';
import { buildArgumentsSchema } from './check-arguments';
import type { Tool, ToolContext, ToolOutcome } from './tool';

const jobId = { type: 'string', format: 'uuid', maxLength: 36, description: 'The run’s id.' } as const;
const maxLines = 100;
const maxSteps = 100;
const snippetTimeoutMs = 600_000;
/** Time to wait for a snippet's result. A longer snippet keeps running; its result can be read by the command's id. */
const snippetWaitMs = 15_000;

/** The tools for the machine's runs: they list, read, start and cancel them. */
export const runTools: Tool[] = [
  {
    name: 'list_runs',
    description: 'The machine’s 20 most recently started runs, the latest first, with steps, duration and cost.',
    parameters: buildArgumentsSchema({}),
    permission: 'runs.read',
    changes: false,
    perform: async ({ database, caller, agentId }) => {
      const rows = await listAgentRuns(database, caller.organizationId, agentId);
      return {
        runs: rows.map(({ aiCostMicros, durationSeconds, startedAt, ...row }) => ({
          ...row,
          startedAt: startedAt?.toISOString() ?? null,
          duration: durationSeconds,
          totalCost: microsToUsd(aiCostMicros),
        })),
      };
    },
  },
  {
    name: 'get_run',
    description: 'A run of this machine: its status, progress, error, result, cost, and its steps.',
    parameters: buildArgumentsSchema({ jobId }),
    permission: 'runs.read',
    changes: false,
    perform: async (context, args) => {
      const row = await findJobOfAgent(context, args.jobId as string);
      const page = { limit: maxSteps, after: null };
      const steps = await listSteps(context.database, context.caller.organizationId, { jobId: row.id, page });
      const { items, nextCursor } = buildPage(steps, page, ({ stepOrder }) => [String(stepOrder)]);
      return {
        ...presentJobForTool(row),
        steps: items.map(({ stepOrder, name, status, error }) => ({ stepOrder, name, status, error })),
        ...(nextCursor ? { cut: `only the first ${maxSteps} steps are shown` } : {}),
      };
    },
  },
  {
    name: 'read_logs',
    description: `The last ${maxLines} lines that a run of this machine wrote, or without a run the machine’s latest timeline entries; the newest first.`,
    parameters: buildArgumentsSchema({ jobId }, { optional: ['jobId'] }),
    permission: 'runs.read',
    changes: false,
    perform: async (context, args) => {
      const { database, caller, agentId } = context;
      const job = args.jobId as string | undefined;
      if (job) await findJobOfAgent(context, job);
      const agentRef = { organizationId: caller.organizationId, agentId };
      const page = { limit: maxLines, after: null };
      const filter = { order: 'desc' as const, ...(job ? { jobId: job, kind: 'execution' as const } : {}) };
      const rows = await listTimeline(database, agentRef, filter, page);
      const { items, nextCursor } = buildPage(rows, page, ({ seq }) => [String(seq)]);
      const entries = items.map(({ seq, kind, level, message, source, jobId: ofJob, at }) => ({
        id: String(seq),
        kind,
        level,
        message,
        source,
        jobId: ofJob,
        timestamp: at.toISOString(),
      }));
      return { entries, ...(nextCursor ? { cut: 'there are older entries' } : {}) };
    },
  },
  {
    name: 'explain_waiting',
    description: 'Why a run of this machine has not started yet, and what will let it start.',
    parameters: buildArgumentsSchema({ jobId }),
    permission: 'runs.read',
    changes: false,
    perform: async (context, args) => {
      const row = await findJobOfAgent(context, args.jobId as string);
      const { status, waitingReason, waitingSince, queuedAt } = row;
      const { status: agentStatus } = await findAgent(context.database, context.caller.organizationId, context.agentId);
      const waiting =
        waitingReason && waitingSince ? { reason: waitingReason, since: waitingSince.toISOString() } : null;
      return {
        jobId: row.id,
        status,
        waiting,
        queuedAt: queuedAt.toISOString(),
        agentStatus,
        why: explainJobStatus(row),
      };
    },
  },
  {
    name: 'run_workflow',
    description: 'Queues a run of one of the organization’s workflows on this machine.',
    parameters: buildArgumentsSchema(
      {
        workflowId: { type: 'string', format: 'uuid', maxLength: 36, description: 'The workflow’s id.' },
        variables: {
          type: 'object',
          additionalProperties: { type: 'string' },
          maxProperties: 200,
          description: 'A text for each variable of the workflow.',
        },
      },
      { optional: ['variables'] },
    ),
    permission: 'runs.write',
    changes: true,
    spends: true,
    perform: ({ caller, agentId, change, clock, keyRing }, args) => {
      const { workflowId, variables } = args as { workflowId: string; variables?: Record<string, string> };
      return change((tx) => launchJob(tx, caller, { workflowId, agentId, variables }, clock.now(), keyRing));
    },
  },
  {
    name: 'run_snippet',
    description: 'Runs Python code on this machine and returns its output if the code ends within a few seconds.',
    parameters: buildArgumentsSchema({
      code: { type: 'string', minLength: 1, maxLength: 500_000, description: 'Python source.' },
    }),
    permission: 'agents.control',
    changes: true,
    spends: true,
    perform: runSnippet,
  },
  {
    name: 'cancel_run',
    description: 'Cancels a run of this machine.',
    parameters: buildArgumentsSchema({ jobId }),
    permission: 'runs.write',
    changes: true,
    perform: async (context, args) => {
      const { caller, change, clock } = context;
      const row = await findJobOfAgent(context, args.jobId as string);
      const reason = 'requested through the assistant';
      await change((tx) => cancelJob(tx, caller, row.id, { reason, now: clock.now() }));
      return presentJobForTool(await findJobOfAgent(context, row.id));
    },
  },
];

async function runSnippet(context: ToolContext, args: Record<string, unknown>): Promise<ToolOutcome> {
  const { database, caller, agentId, change, clock, wakeTimeoutMs, signal } = context;
  const { organizationId } = caller;
  const payload = { code: args.code, timeoutMs: snippetTimeoutMs };
  const command = { kind: 'snippet' as const, payload, timeoutMs: snippetTimeoutMs, wakeTimeoutMs, now: clock.now() };
  const commandId = await change((tx) => runCommand(tx, caller, agentId, command));
  const { status: agentStatus } = await findAgent(database, organizationId, agentId);
  // The tool does not wait if the machine must be started first, because that takes longer than the tool can wait.
  const waitMs = agentStatus === 'online' ? snippetWaitMs : 0;
  const { status, output, error, code } = await waitForCommand(
    context,
    { organizationId, agentId, commandId },
    { waitMs, signal },
  );
  return {
    status: status === 'failed' ? 'failed' : 'done',
    result: { commandId, status, ...(output === undefined ? {} : { output }), ...(error ? { error } : {}) },
    ...(status === 'failed' ? { error: error ?? 'The snippet failed.', code: code ?? 'snippet_failed' } : {}),
  };
}

async function findJobOfAgent({ database, caller, agentId }: ToolContext, id: string): Promise<JobRow> {
  const row = await findJob(database, caller.organizationId, id);
  // A tool call about one agent must not read or change the runs of another agent.
  if (row.agentId !== agentId) throw notFoundError('job');
  return row;
}

function presentJobForTool(row: JobRow): Record<string, unknown> {
  const { startedAt, finishedAt, waitingReason, waitingSince, currentStep, stepRunning } = row;
  return {
    id: row.id,
    status: row.status,
    cancelling: row.cancelRequestedAt !== null && !isTerminalStatus(row.status),
    workflowId: row.workflowId,
    workflowRevision: row.workflowRevision,
    scheduleId: row.scheduleId,
    attempt: row.attempt,
    variables: maskVariables(row.variables),
    queuedAt: row.queuedAt.toISOString(),
    startedAt: startedAt?.toISOString() ?? null,
    finishedAt: finishedAt?.toISOString() ?? null,
    progress: computeJobProgress({ ...row, currentStep: stepRunning ?? currentStep }),
    waiting: waitingReason && waitingSince ? { reason: waitingReason, since: waitingSince.toISOString() } : null,
    totalCostUsd: microsToUsdOrNull(row.totalCostMicros),
    error: row.error,
    errorCode: row.errorCode,
    result: maskResult(row.result, row.sensitiveResults),
  };
}

function explainJobStatus({ status, waitingReason, error }: JobRow): string {
  if (status === 'running') return 'The run no longer waits: it is running.';
  if (isTerminalStatus(status)) return `The run no longer waits: it ${status}${error ? `: ${error}` : ''}.`;
  return waitingReason ? reasons[waitingReason] : 'The run has just been queued and has not been checked yet.';
}

const reasons: Record<WaitingReason, string> = {
  agent_busy:
    'Another run is on the machine. This run starts when the other ends; a run with a higher priority starts first.',
  agent_waking: 'The machine is being started for the run.',
  agent_offline:
    'The machine is off or does not report, and the organization does not start machines automatically; start it manually.',
  concurrency_limit:
    'The organization has reached its limit of concurrent runs. This run starts when one of them ends.',
  account_busy: 'The run needs an account, and none of the pool is free. It starts when another run releases one.',
  concurrency_key:
    'The limit of one of the run’s concurrency keys is reached. The run starts when another run with that key ends.',
  retry_delay: 'The run is a retry, and its delay has not passed yet.',
  billing_gate: 'The organization cannot start runs: a monthly limit is used up, or the organization is suspended.',
  secret_missing: 'The vault lacks a secret that the run needs.',
  draining: 'The machine is being drained and accepts no new work until the drain ends.',
  no_agent_free: 'No machine with the labels that the run requires is free.',
  no_agent_online:
    'No machine with the labels that the run requires is online, and the organization does not start machines automatically; start one manually.',
};
