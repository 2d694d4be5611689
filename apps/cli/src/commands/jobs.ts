import type { Job } from '@muster/sdk';
import type { Command } from '../frame/command';
import { createUsageError } from '../frame/failure';
import type { Column } from '../output/terminal';
import { formatRelativeTime, formatDuration, getStatusColor, formatUsd } from '../output/words';
import { waitForJobAndPrint } from '../parts/wait-for-job-and-print';
import { findAgentId, findWorkflowId } from '../parts/find';
import { printLogLine } from '../parts/log-lines';
import { parseWholeNumber } from '../parts/numbers';

const statuses = ['queued', 'running', 'completed', 'failed', 'cancelled'] as const;
const columns: Column<Job>[] = [
  { title: 'RUN', cell: ({ id }) => id },
  {
    title: 'STATUS',
    cell: ({ status, cancelling }) => (cancelling ? 'cancelling' : status),
    color: (row) => getStatusColor(row.status),
  },
  { title: 'QUEUED', cell: ({ queuedAt }) => formatRelativeTime(queuedAt) },
  { title: 'DURATION', cell: ({ durationMs }) => formatDuration(durationMs) },
  { title: 'COST', cell: ({ totalCostUsd }) => formatUsd(totalCostUsd) },
  { title: 'REASON', cell: ({ error, waiting }) => error ?? waiting?.reason },
];

const list: Command = {
  words: 'jobs list',
  summary: 'List runs, newest first',
  options: {
    status: { type: 'string', value: 'STATUS', about: `Only runs with this status: ${statuses.join(', ')}` },
    agent: { type: 'string', short: 'a', value: 'AGENT', about: 'Only runs on this agent' },
    workflow: { type: 'string', value: 'WORKFLOW', about: 'Only runs of this workflow' },
    limit: { type: 'string', value: 'N', about: 'Maximum number of runs to list (default 30)' },
  },
  async runCommand(call) {
    const muster = call.muster();
    const status = statuses.find((each) => each === call.text('status'));
    if (call.text('status') && !status) throw createUsageError(`--status must be one of ${statuses.join(', ')}.`);
    const [agent, workflow] = [call.text('agent'), call.text('workflow')];
    const limit = parseWholeNumber(call.text('limit'), 'limit', 30);
    const jobs = muster.jobs.list({
      limit: Math.min(200, Math.max(1, limit)),
      ...(status ? { status } : {}),
      ...(agent ? { agentId: await findAgentId(muster, agent) } : {}),
      ...(workflow ? { workflowId: await findWorkflowId(muster, workflow) } : {}),
    });
    call.terminal.printTable(await jobs.toArray(limit), columns, 'There are no matching runs.');
  },
};

const get: Command = {
  words: 'jobs get',
  args: '<run>',
  summary: 'Show a run and its result',
  async runCommand({ args, muster, terminal }) {
    const job = await muster().jobs.get(args[0]!);
    const { progress, claims } = job;
    terminal.printFields(job, [
      ['run', job.id],
      ['status', job.cancelling ? 'cancelling' : job.status],
      ['workflow', `${job.workflowId}, revision ${job.workflowRevision}`],
      ['agent', job.agentId ?? `any with ${job.target?.labels.join(', ')}`],
      ['chosen because', job.placement?.why],
      ['queued', job.queuedAt],
      ['started', job.startedAt],
      ['finished', job.finishedAt],
      ['duration', formatDuration(job.durationMs)],
      ['waiting for', job.waiting?.reason],
      ['steps', `${progress.stepsPassed} passed, ${progress.stepsFailed} failed, of ${progress.stepsTotal}`],
      ['claims', `${claims.attempted} attempted, ${claims.eobUploaded} with EOB, ${claims.failed} failed`],
      ['cost', formatUsd(job.totalCostUsd)],
      ['error', job.error && `${job.errorCode ? `${job.errorCode}: ` : ''}${job.error}`],
      ['missing', job.incomplete.map(({ kind, reason }) => `${kind}: ${reason}`).join('; ')],
      ['result', job.result],
    ]);
  },
};

const logs: Command = {
  words: 'jobs logs',
  args: '<run>',
  summary: 'Print the log of a run',
  more: 'With --json, each line of the log is one line of JSON.',
  options: { follow: { type: 'boolean', short: 'f', about: 'Print new lines until the run ends' } },
  async runCommand({ args, flag, muster, terminal }) {
    for await (const line of muster().jobs.logs(args[0]!, { follow: flag('follow') })) printLogLine(terminal, line);
  },
};

const cancel: Command = {
  words: 'jobs cancel',
  args: '<run>',
  summary: 'Cancel a run',
  more: 'The run has the status cancelled as soon as its machine confirms that the script has stopped.',
  options: {
    reason: { type: 'string', value: 'TEXT', about: 'Reason to record with the run' },
    wait: { type: 'boolean', short: 'w', about: 'Wait until the run ends' },
  },
  async runCommand(call) {
    const { terminal, args } = call;
    const muster = call.muster();
    const job = await muster.jobs.cancel(args[0]!, call.text('reason'));
    if (!call.flag('wait')) return terminal.printResult(job, `Run ${args[0]} is being cancelled.`);
    await waitForJobAndPrint(args[0]!, { muster, terminal });
  },
};

const replay: Command = {
  words: 'jobs replay',
  args: '<run>',
  summary: 'Start a new run with the input of an earlier run',
  options: { wait: { type: 'boolean', short: 'w', about: 'Wait until the run ends' } },
  async runCommand({ args, flag, muster: openClient, terminal }) {
    const muster = openClient();
    const { jobId, status } = await muster.jobs.replay(args[0]!);
    if (!flag('wait')) return terminal.printResult({ jobId, status }, `${status}: run ${jobId}`);
    terminal.printMessage(`run ${jobId}`);
    return waitForJobAndPrint(jobId, { muster, terminal, withLog: true, mayCancel: true });
  },
};

const wait: Command = {
  words: 'jobs wait',
  args: '<run>',
  summary: 'Wait until a run ends',
  more: 'The exit code is 0 if the run completes, otherwise 1.',
  async runCommand({ args, muster, terminal }) {
    return waitForJobAndPrint(args[0]!, { muster: muster(), terminal });
  },
};

export const jobCommands = [list, get, logs, cancel, replay, wait];
