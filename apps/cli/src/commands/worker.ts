import { execFileSync } from 'node:child_process';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import type { Muster } from '@muster/sdk';
import type { Call, Command, Option } from '../frame/command';
import { exitCodes, Failure, usageFault } from '../frame/failure';
import { readSecret } from '../parts/input';
import { WorkerFolder } from '../parts/worker-folder';

const dir: Option = { type: 'string', value: 'FOLDER', about: 'where it lives; ~/.local/state/muster-worker' };
const onlineWithinMs = 60_000;

const install: Command = {
  words: 'worker install',
  summary: 'Makes this machine an agent: puts a worker on it, and starts it',
  more:
    'It takes an admin’s login, which makes the agent. For an agent that is there already: --agent ID, and its worker ' +
    'key through stdin. It needs Node and Python here, and no open port.',
  options: {
    name: { type: 'string', value: 'NAME', about: 'what the agent is called; the name of this machine' },
    label: { type: 'string', value: 'LABEL', multiple: true, about: 'its labels' },
    agent: { type: 'string', value: 'ID', about: 'an agent that is there already; its key comes through stdin' },
    dir,
  },
  async run(call) {
    const { terminal } = call;
    const folder = folderOf(call);
    if (folder.isInstalled) {
      throw usageFault(
        `A worker is installed in ${folder.folder}.`,
        'muster worker start starts it; --dir puts another elsewhere.',
      );
    }
    requirePython();
    const muster = call.muster();
    folder.prepare();
    const { id, key } = await agentOf(call, muster);
    folder.install({ SERVICE_BASE_URL: call.login().url, SERVICE_API_KEY: key, AGENT_ID: id });
    const pid = folder.start(call.environment.ofWorkers);
    await untilOnline(call, muster, { id, folder });
    terminal.show(
      { agentId: id, folder: folder.folder, pid },
      `This machine is agent ${id}, and online. Its worker is process ${pid}, in ${folder.folder}.\n` +
        'muster worker stop ends it; after a reboot: muster worker start',
    );
  },
};

const start: Command = {
  words: 'worker start',
  summary: 'Starts the worker that is installed here',
  options: { dir },
  async run(call) {
    const folder = folderOf(call);
    const { AGENT_ID: id } = folder.read();
    const running = folder.runningPid();
    const pid = running ?? folder.start(call.environment.ofWorkers);
    call.terminal.show(
      { agentId: id, pid },
      running ? `It runs, as process ${pid}.` : `It is started, as process ${pid}.`,
    );
  },
};

const stop: Command = {
  words: 'worker stop',
  summary: 'Ends the worker that is installed here',
  options: { dir },
  async run(call) {
    const folder = folderOf(call);
    const { AGENT_ID: id } = folder.read();
    const pid = folder.runningPid();
    if (pid !== undefined) process.kill(pid, 'SIGTERM');
    call.terminal.show({ agentId: id, pid: pid ?? null }, pid ? `Process ${pid} is told to end.` : 'It does not run.');
  },
};

export const workerCommands = [install, start, stop];

function folderOf(call: Call): WorkerFolder {
  return new WorkerFolder(resolve(call.text('dir') ?? call.environment.workerFolder));
}

function requirePython(): void {
  try {
    execFileSync('python3', ['--version'], { stdio: 'ignore' });
  } catch {
    throw new Failure('no_python', 'There is no python3 on this machine, and scripts are Python.', {
      hint: 'Install it, such as with apt-get install python3.',
    });
  }
}

async function agentOf(call: Call, muster: Muster): Promise<{ id: string; key: string }> {
  const known = call.text('agent');
  if (known) return { id: known, key: await readSecret(call.terminal, 'Worker key of the agent: ') };
  const labels = call.list('label');
  const { agent, workerKey } = await muster.agents.create({
    name: call.text('name') ?? hostname(),
    provider: 'external',
    ...(labels.length ? { labels } : {}),
  });
  return { id: agent.id, key: workerKey };
}

async function untilOnline(
  call: Call,
  muster: Muster,
  { id, folder }: { id: string; folder: WorkerFolder },
): Promise<void> {
  const until = Date.now() + onlineWithinMs;
  while ((await muster.agents.status(id)).status !== 'online') {
    call.terminal.progress('waiting for its worker to report');
    if (Date.now() > until) {
      throw new Failure(
        'worker_silent',
        `The worker has not reported within ${onlineWithinMs / 1000} s.\n${folder.lastWords()}`,
        {
          hint: `It says more in ${folder.log}`,
          exitCode: exitCodes.refused,
        },
      );
    }
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  call.terminal.close();
}
