import { readFileSync } from 'node:fs';
import type { Agent, Muster } from '@muster/sdk';
import type { Call, Command, Option } from '../frame/command';
import { exitCodes, Failure, usageFault } from '../frame/failure';
import { plain } from '../output/plain';
import { ago, statusColor } from '../output/words';
import { capabilityLines } from '../parts/capabilities';
import { agentId } from '../parts/find';
import { stdinBytes } from '../parts/input';
import { onInterrupt } from '../parts/interrupts';
import { printLine } from '../parts/log-lines';
import { wholeNumber } from '../parts/numbers';

const force: Option = { type: 'boolean', about: 'also where a run ends for it' };

const list: Command = {
  words: 'agents list',
  summary: 'The machines, and why each is on or off',
  options: {
    status: { type: 'string', value: 'STATUS', about: 'such as online' },
    label: { type: 'string', value: 'LABEL', about: 'those that have it' },
  },
  async run(call) {
    const [status, label] = [call.text('status') as Agent['status'] | undefined, call.text('label')];
    const agents = await call
      .muster()
      .agents.list({ limit: 200, ...(status ? { status } : {}), ...(label ? { label } : {}) })
      .toArray();
    call.terminal.table(
      agents,
      [
        { title: 'NAME', of: ({ name }) => name },
        { title: 'STATUS', of: ({ status: now }) => now, color: (row) => statusColor(row.status) },
        { title: 'PROVIDER', of: ({ provider }) => provider },
        { title: 'SEEN', of: ({ lastSeen }) => ago(lastSeen) },
        { title: 'RUN', of: ({ currentJobId }) => currentJobId },
        { title: 'ID', of: ({ id }) => id },
        { title: 'WHY', of: ({ why }) => why },
      ],
      'There is no such machine. An admin adds this one: muster worker install',
    );
  },
};

const get: Command = {
  words: 'agents get',
  args: '<agent>',
  summary: 'One machine',
  async run({ args, muster: of, terminal }) {
    const muster = of();
    const agent = await muster.agents.get(await agentId(muster, args[0]!));
    terminal.fields(agent, [
      ['name', agent.name],
      ['id', agent.id],
      ['status', agent.status],
      ['why', agent.why],
      ['provider', agent.provider],
      ['labels', agent.labels.join(', ')],
      ['run', agent.currentJobId],
      ['seen', ago(agent.lastSeen)],
      ['stops', agent.stopAt && ago(agent.stopAt)],
      ['worker', agent.workerVersion],
      ...capabilityLines(agent.capabilities),
    ]);
  },
};

type Act = (muster: Muster, id: string, call: Call) => Promise<{ status: string } | { agent: Agent }>;

function action(verb: string, summary: string, act: Act, options?: Record<string, Option>): Command {
  return {
    words: `agents ${verb}`,
    args: '<agent>',
    summary,
    options,
    async run(call) {
      const muster = call.muster();
      const answer = await act(muster, await agentId(muster, call.args[0]!), call);
      call.terminal.show(answer, `${call.args[0]} is ${'agent' in answer ? answer.agent.status : answer.status}.`);
    },
  };
}

const actions = [
  action('start', 'Starts a machine', (muster, id) => muster.agents.start(id)),
  action('stop', 'Stops a machine', (muster, id, call) => muster.agents.stop(id, { force: call.flag('force') }), {
    force,
  }),
  action('reboot', 'Reboots a machine; a run that it has fails', (muster, id) => muster.agents.reboot(id)),
  action(
    'drain',
    'Gives a machine nothing new, and lets it finish',
    (muster, id, call) => muster.agents.drain(id, call.flag('now') ? 'now' : 'finish', { force: call.flag('force') }),
    { now: { type: 'boolean', about: 'does not wait for its run; with --force that run ends' }, force },
  ),
  action('undrain', 'Gives a machine work again', (muster, id) => muster.agents.undrain(id)),
];

const logs: Command = {
  words: 'agents logs',
  args: '<agent>',
  summary: 'What is said on a machine; with --json one line of JSON for each',
  options: {
    follow: { type: 'boolean', short: 'f', about: 'goes on until Ctrl-C' },
    lines: { type: 'string', short: 'n', value: 'N', about: 'how many of the last lines; 50' },
  },
  async run(call) {
    const muster = call.muster();
    const leave = new AbortController();
    const stop = onInterrupt(() => leave.abort());
    const lines = wholeNumber(call.text('lines'), 'lines', 50);
    const options = { follow: call.flag('follow'), lines, signal: leave.signal };
    try {
      const id = await agentId(muster, call.args[0]!);
      for await (const line of muster.agents.logs(id, options)) printLine(call.terminal, line);
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
  summary: 'Runs Python on a machine, and prints what it says',
  more: 'The code comes from --code, a file, or stdin.',
  options: {
    code: { type: 'string', short: 'c', value: 'CODE', about: 'the code itself' },
    timeout: { type: 'string', value: 'SECONDS', about: 'ends it then' },
  },
  async run(call) {
    const { args, terminal } = call;
    const muster = call.muster();
    const code = call.text('code') ?? (await codeOf(args[1]));
    const seconds = call.text('timeout');
    const said = await muster.agents.runSnippet(await agentId(muster, args[0]!), {
      code,
      ...(seconds ? { timeoutMs: wholeNumber(seconds, 'timeout', 0) * 1000 } : {}),
    });
    const output = process.stdout.isTTY ? plain(said.output ?? '') : (said.output ?? '');
    if (terminal.json) terminal.show(said, '');
    else if (output) terminal.print(output.replace(/\n$/, ''));
    if (said.status === 'success') return exitCodes.ok;
    if (terminal.json) return exitCodes.failed;
    throw new Failure(said.code ?? 'snippet_failed', said.error ?? 'The snippet failed.');
  },
};

export const agentCommands = [list, get, ...actions, logs, runSnippet];

async function codeOf(file: string | undefined): Promise<string> {
  if (file && file !== '-') return readFileSync(file, 'utf8');
  if (process.stdin.isTTY) throw usageFault('There is no code.', 'Give --code, a file, or pipe it in.');
  return (await stdinBytes()).toString('utf8');
}
