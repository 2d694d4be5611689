import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import type { Muster } from '@muster/sdk';
import type { Call, Command } from '../frame/command';
import { exitCodes, explainError, createUsageError } from '../frame/failure';
import { toSafeLine } from '../output/plain';
import type { Terminal } from '../output/terminal';
import { parseTarget, targetOptions } from '../parts/target';
import { findAgentId, findWorkflowId } from '../parts/find';
import { readStdin } from '../parts/input';
import { onInterrupt } from '../parts/interrupts';
import { parseVariables } from '../parts/variables';

const looksMs = 1000;
/** Time for which the service may be unreachable before the command stops waiting. */
const awayMs = 120_000;

const batch: Command = {
  words: 'batch',
  args: '<csv>',
  summary: 'Run a workflow once for each row of a CSV file',
  more:
    'Each variable of the workflow is read from the column with its name, unless --map specifies another column. ' +
    'Specify - to read the table from stdin.',
  options: {
    workflow: { type: 'string', value: 'WORKFLOW', about: 'Workflow to run (required)' },
    agent: {
      type: 'string',
      short: 'a',
      value: 'AGENT',
      multiple: true,
      about: 'Agent to run on; several agents share the rows. Or use --label',
    },
    ...targetOptions,
    map: { type: 'string', value: 'K=COLUMN', multiple: true, about: 'Column to read a variable from' },
    strict: { type: 'boolean', about: 'Reject the whole batch if one row is invalid' },
    wait: { type: 'boolean', short: 'w', about: 'Wait until all runs have ended' },
  },
  async runCommand(call) {
    const { terminal, args } = call;
    const muster = call.muster();
    const workflow = call.text('workflow');
    const agents = call.list('agent');
    if (!workflow) throw createUsageError('--workflow is missing. To list the workflows, run muster workflows list.');
    const target = parseTarget(call);
    if (!agents.length && !target) throw createUsageError('--agent or --label is missing. Specify one of them.');
    if (agents.length && target)
      throw createUsageError('--agent and --label cannot be used together. Specify only one of them.');
    const agentIds: string[] = [];
    for (const agent of agents) agentIds.push(await findAgentId(muster, agent));
    const mapping = parseVariables(call.list('map'));
    const csv = args[0] === '-' ? await readStdin() : readFileSync(args[0]!);
    const made = await muster.batches.createFromCsv(new Blob([new Uint8Array(csv)]), {
      workflowId: await findWorkflowId(muster, workflow),
      ...(target ? { target } : { agentIds }),
      ...(Object.keys(mapping).length ? { mapping } : {}),
      ...(call.flag('strict') ? { strict: true } : {}),
    });
    for (const { row, errors } of made.rejected)
      terminal.printMessage(`Row ${row} was rejected: ${toSafeLine(errors.join('; '))}`);
    if (call.flag('wait')) return waitForBatch(call, muster, made.batchId);
    terminal.printResult(
      made,
      `Batch ${made.batchId}: ${made.queued} runs queued, ${made.rejected.length} rows rejected`,
    );
    return made.rejected.length ? exitCodes.failed : exitCodes.ok;
  },
};

const get: Command = {
  words: 'batches get',
  args: '<batch>',
  summary: 'Show the progress of a batch',
  options: { wait: { type: 'boolean', short: 'w', about: 'Wait until all runs have ended' } },
  async runCommand(call) {
    const muster = call.muster();
    if (call.flag('wait')) return waitForBatch(call, muster, call.args[0]!);
    const found = await muster.batches.get(call.args[0]!);
    call.terminal.printResult(found, formatCounts(found));
  },
};

export const batchCommands = [batch, get];

/**
 * Waits until all runs of the batch have ended. The first Ctrl-C cancels the remaining runs, the second one stops
 * waiting.
 */
async function waitForBatch({ terminal }: Call, muster: Muster, id: string): Promise<number> {
  const leave = new AbortController();
  const stop = onInterrupt((count) => {
    if (count > 1) return leave.abort();
    terminal.printMessage('\nCancelling the batch. Press Ctrl-C again to exit without waiting for it.');
    muster.batches
      .cancel(id, 'interrupted at the command line')
      .catch((error: Error) => terminal.printMessage(error.message));
  });
  let reachedAt = Date.now();
  try {
    for (;;) {
      const found = await muster.batches.get(id, { signal: leave.signal }).catch((error: unknown) => {
        if (leave.signal.aborted) return undefined;
        const { status } = explainError(error);
        const isAway = status === 0 || (status ?? 400) >= 500;
        if (isAway && Date.now() - reachedAt < awayMs) return null;
        terminal.printMessage(`The batch continues. To wait again, run muster batches get ${id} --wait`);
        throw error;
      });
      if (found === undefined) return printWaitStopped(terminal, id);
      if (found === null) {
        terminal.showProgress('the service is unreachable, trying again');
        await sleepMs(looksMs, leave.signal);
        continue;
      }
      reachedAt = Date.now();
      const open = found.queued + found.running;
      if (open === 0) {
        terminal.clearProgress();
        terminal.printResult(found, formatCounts(found));
        return found.failed + found.cancelled + found.rejected ? exitCodes.failed : exitCodes.ok;
      }
      terminal.showProgress(`${found.total - open} of ${found.total} runs have ended`, `, ${found.running} running`);
      await sleepMs(looksMs, leave.signal);
      if (leave.signal.aborted) return printWaitStopped(terminal, id);
    }
  } finally {
    stop();
  }
}

function printWaitStopped(terminal: Terminal, id: string): number {
  terminal.clearProgress();
  terminal.printMessage(`Stopped waiting. To wait again, run muster batches get ${id} --wait`);
  return exitCodes.failed;
}

/** Waits for `ms` milliseconds, or until the signal aborts. */
async function sleepMs(ms: number, signal: AbortSignal): Promise<void> {
  await wait(ms, undefined, { signal }).catch(() => undefined);
}

interface Counts {
  id: string;
  completed: number;
  failed: number;
  cancelled: number;
  queued: number;
  running: number;
  rejected: number;
}

function formatCounts({ id, ...counts }: Counts): string {
  const names = ['completed', 'failed', 'cancelled', 'running', 'queued', 'rejected'] as const;
  const parts = names.filter((name) => counts[name] > 0).map((name) => `${counts[name]} ${name}`);
  return `Batch ${id}: ${parts.join(', ') || 'no runs'}`;
}
