import { readFileSync } from 'node:fs';
import type { Agent, Muster } from '@muster/sdk';
import type { Call, Command, Option } from '../frame/command';
import { exitCodes, Failure, createUsageError } from '../frame/failure';
import { removeControlCharacters } from '../output/plain';
import { formatRelativeTime, getStatusColor } from '../output/words';
import { formatCapabilities } from '../parts/capabilities';
import { findAgentId } from '../parts/find';
import { readStdin } from '../parts/input';
import { onInterrupt } from '../parts/interrupts';
import { printLogLine } from '../parts/log-lines';
import { parseWholeNumber } from '../parts/numbers';

const force: Option = { type: 'boolean', about: 'Proceed even if a run is in progress; the run then fails' };

const list: Command = {
  words: 'agents list',
  summary: 'List agents',
  more: 'The column REASON shows why the agent has its current status.',
  options: {
    status: { type: 'string', value: 'STATUS', about: 'Only agents with this status, such as online' },
    label: { type: 'string', value: 'LABEL', about: 'Only agents with this label' },
  },
  async runCommand(call) {
    const [status, label] = [call.text('status') as Agent['status'] | undefined, call.text('label')];
    const agents = await call
      .muster()
      .agents.list({ limit: 200, ...(status ? { status } : {}), ...(label ? { label } : {}) })
      .toArray();
    call.terminal.printTable(
      agents,
      [
        { title: 'NAME', cell: ({ name }) => name },
        { title: 'STATUS', cell: ({ status: now }) => now, color: (row) => getStatusColor(row.status) },
        { title: 'PROVIDER', cell: ({ provider }) => provider },
        { title: 'LAST SEEN', cell: ({ lastSeen }) => formatRelativeTime(lastSeen) },
        { title: 'RUN', cell: ({ currentJobId }) => currentJobId },
        { title: 'ID', cell: ({ id }) => id },
        { title: 'REASON', cell: ({ why }) => why },
      ],
      'There are no matching agents. To make this machine an agent, sign in as an admin and run muster worker install.',
    );
  },
};

const get: Command = {
  words: 'agents get',
  args: '<agent>',
  summary: 'Show an agent',
  async runCommand({ args, muster: openClient, terminal }) {
    const muster = openClient();
    const agent = await muster.agents.get(await findAgentId(muster, args[0]!));
    terminal.printFields(agent, [
      ['name', agent.name],
      ['id', agent.id],
      ['status', agent.status],
      ['reason', agent.why],
      ['provider', agent.provider],
      ['labels', agent.labels.join(', ')],
      ['run', agent.currentJobId],
      ['last seen', formatRelativeTime(agent.lastSeen)],
      ['stops', agent.stopAt && formatRelativeTime(agent.stopAt)],
      ['worker', agent.workerVersion],
      ...formatCapabilities(agent.capabilities),
    ]);
  },
};

type Act = (muster: Muster, id: string, call: Call) => Promise<{ status: string } | { agent: Agent }>;

function createAgentCommand(verb: string, summary: string, act: Act, options?: Record<string, Option>): Command {
  return {
    words: `agents ${verb}`,
    args: '<agent>',
    summary,
    options,
    async runCommand(call) {
      const muster = call.muster();
      const answer = await act(muster, await findAgentId(muster, call.args[0]!), call);
      call.terminal.printResult(
        answer,
        `${call.args[0]} is ${'agent' in answer ? answer.agent.status : answer.status}.`,
      );
    },
  };
}

const actions = [
  createAgentCommand('start', 'Start an agent', (muster, id) => muster.agents.start(id)),
  createAgentCommand(
    'stop',
    'Stop an agent',
    (muster, id, call) => muster.agents.stop(id, { force: call.flag('force') }),
    {
      force,
    },
  ),
  createAgentCommand('reboot', 'Reboot an agent. A run in progress fails', (muster, id) => muster.agents.reboot(id)),
  createAgentCommand(
    'drain',
    'Drain an agent: start no new runs on it',
    (muster, id, call) => muster.agents.drain(id, call.flag('now') ? 'now' : 'finish', { force: call.flag('force') }),
    {
      now: { type: 'boolean', about: 'Drain at once. If a run is in progress, --force is required, and the run fails' },
      force,
    },
  ),
  createAgentCommand('undrain', 'End the draining of an agent: start runs on it again', (muster, id) =>
    muster.agents.undrain(id),
  ),
];

const logs: Command = {
  words: 'agents logs',
  args: '<agent>',
  summary: 'Print the log of an agent',
  more: 'With --json, each line of the log is one line of JSON.',
  options: {
    follow: { type: 'boolean', short: 'f', about: 'Print new lines until Ctrl-C' },
    lines: { type: 'string', short: 'n', value: 'N', about: 'Number of the latest log lines to print (default 50)' },
  },
  async runCommand(call) {
    const muster = call.muster();
    const leave = new AbortController();
    const stop = onInterrupt(() => leave.abort());
    const lines = parseWholeNumber(call.text('lines'), 'lines', 50);
    const options = { follow: call.flag('follow'), lines, signal: leave.signal };
    try {
      const id = await findAgentId(muster, call.args[0]!);
      for await (const line of muster.agents.logs(id, options)) printLogLine(call.terminal, line);
    } catch (error) {
      if (!leave.signal.aborted) throw error;
    } finally {
      stop();
    }
  },
};

const runSnippet: Command = {
  words: 'agents run-snippet',
  args: '<agent> [file]',
  summary: 'Run Python code on an agent and print its output',
  more: 'The code is read from --code, from a file, or from stdin.',
  options: {
    code: { type: 'string', short: 'c', value: 'CODE', about: 'Python code to run' },
    timeout: {
      type: 'string',
      value: 'SECONDS',
      about: 'Seconds after which the code is stopped, 1 to 3600 (default 600)',
    },
  },
  async runCommand(call) {
    const { args, terminal } = call;
    const muster = call.muster();
    const code = call.text('code') ?? (await readCodeFromFileOrStdin(args[1]));
    const seconds = call.text('timeout');
    const result = await muster.agents.runSnippet(await findAgentId(muster, args[0]!), {
      code,
      ...(seconds ? { timeoutMs: parseWholeNumber(seconds, 'timeout', 0) * 1000 } : {}),
    });
    const output = process.stdout.isTTY ? removeControlCharacters(result.output ?? '') : (result.output ?? '');
    if (terminal.json) terminal.printResult(result, '');
    else if (output) terminal.printLine(output.replace(/\n$/, ''));
    if (result.status === 'success') return exitCodes.ok;
    if (terminal.json) return exitCodes.failed;
    throw new Failure(result.code ?? 'snippet_failed', result.error ?? 'The snippet failed.');
  },
};

export const agentCommands = [list, get, ...actions, logs, runSnippet];

async function readCodeFromFileOrStdin(file: string | undefined): Promise<string> {
  if (file && file !== '-') return readFileSync(file, 'utf8');
  if (process.stdin.isTTY)
    throw createUsageError('There is no code to run.', 'Specify --code or a file, or pipe the code to stdin.');
  return (await readStdin()).toString('utf8');
}
