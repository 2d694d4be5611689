import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import type { Muster } from '@muster/sdk';
import type { Call, Command } from '../frame/command';
import { exitCodes, explain, usageFault } from '../frame/failure';
import { inLine } from '../output/plain';
import type { Terminal } from '../output/terminal';
import { agentId, workflowId } from '../parts/find';
import { stdinBytes } from '../parts/input';
import { onInterrupt } from '../parts/interrupts';
import { variablesOf } from '../parts/variables';

const looksMs = 1000;
/** As long as a service may be away while somebody waits. */
const awayMs = 120_000;

const batch: Command = {
  words: 'batch',
  args: '<csv>',
  summary: 'Runs a workflow once for each row of a table',
  more: 'The columns are the workflow’s variables, unless --map says otherwise; - reads the table from stdin.',
  options: {
    workflow: { type: 'string', value: 'WORKFLOW', about: 'which one' },
    agent: { type: 'string', short: 'a', value: 'AGENT', multiple: true, about: 'the rows are spread over these' },
    map: { type: 'string', value: 'K=COLUMN', multiple: true, about: 'the column of a variable' },
    strict: { type: 'boolean', about: 'all rows or none' },
    wait: { type: 'boolean', short: 'w', about: 'stays until all of them have ended' },
  },
  async run(call) {
    const { terminal, args } = call;
    const muster = call.muster();
    const workflow = call.text('workflow');
    const agents = call.list('agent');
    if (!workflow) throw usageFault('--workflow is missing.');
    if (!agents.length) throw usageFault('--agent is missing.');
    const agentIds: string[] = [];
    for (const agent of agents) agentIds.push(await agentId(muster, agent));
    const mapping = variablesOf(call.list('map'));
    const csv = args[0] === '-' ? await stdinBytes() : readFileSync(args[0]!);
    const made = await muster.batches.createFromCsv(new Blob([new Uint8Array(csv)]), {
      workflowId: await workflowId(muster, workflow),
      agentIds,
      ...(Object.keys(mapping).length ? { mapping } : {}),
      ...(call.flag('strict') ? { strict: true } : {}),
    });
    for (const { row, errors } of made.rejected) terminal.say(`row ${row} was refused: ${inLine(errors.join('; '))}`);
    if (call.flag('wait')) return attendBatch(call, muster, made.batchId);
    terminal.show(
      made,
      `${made.queued} runs are queued, ${made.rejected.length} rows were refused: batch ${made.batchId}`,
    );
    return made.rejected.length ? exitCodes.failed : exitCodes.ok;
  },
};

const get: Command = {
  words: 'batches get',
  args: '<batch>',
  summary: 'How far a batch is',
  options: { wait: { type: 'boolean', short: 'w', about: 'stays until all of its runs have ended' } },
  async run(call) {
    const muster = call.muster();
    if (call.flag('wait')) return attendBatch(call, muster, call.args[0]!);
    const found = await muster.batches.get(call.args[0]!);
    call.terminal.show(found, words(found));
  },
};

export const batchCommands = [batch, get];

/** The first Ctrl-C cancels what has not ended, the second leaves. */
async function attendBatch({ terminal }: Call, muster: Muster, id: string): Promise<number> {
  const leave = new AbortController();
  const stop = onInterrupt((count) => {
    if (count > 1) return leave.abort();
    terminal.say('\nCancelling the batch; Ctrl-C again leaves without waiting for it.');
    muster.batches.cancel(id, 'interrupted at the command line').catch((error: Error) => terminal.say(error.message));
  });
  let reachedAt = Date.now();
  try {
    for (;;) {
      const found = await muster.batches.get(id, { signal: leave.signal }).catch((error: unknown) => {
        if (leave.signal.aborted) return undefined;
        const { status } = explain(error);
        const isAway = status === 0 || (status ?? 400) >= 500;
        if (isAway && Date.now() - reachedAt < awayMs) return null;
        terminal.say(`The batch goes on: muster batches get ${id} --wait`);
        throw error;
      });
      if (found === undefined) return left(terminal, id);
      if (found === null) {
        terminal.progress('the service is away for a moment');
        await sleep(looksMs, leave.signal);
        continue;
      }
      reachedAt = Date.now();
      const open = found.queued + found.running;
      if (open === 0) {
        terminal.close();
        terminal.show(found, words(found));
        return found.failed + found.cancelled + found.rejected ? exitCodes.failed : exitCodes.ok;
      }
      terminal.progress(`${found.total - open} of ${found.total} have ended`, `, ${found.running} run`);
      await sleep(looksMs, leave.signal);
      if (leave.signal.aborted) return left(terminal, id);
    }
  } finally {
    stop();
  }
}

function left(terminal: Terminal, id: string): number {
  terminal.close();
  terminal.say(`Left. The batch is ${id}: muster batches get ${id} --wait`);
  return exitCodes.failed;
}

/** Ends early when the signal says so. */
async function sleep(ms: number, signal: AbortSignal): Promise<void> {
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

function words({ id, ...counts }: Counts): string {
  const names = ['completed', 'failed', 'cancelled', 'running', 'queued', 'rejected'] as const;
  const said = names.filter((name) => counts[name] > 0).map((name) => `${counts[name]} ${name}`);
  return `batch ${id}: ${said.join(', ') || 'nothing'}`;
}
