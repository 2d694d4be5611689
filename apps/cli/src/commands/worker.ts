import { execFileSync } from 'node:child_process';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import type { Muster } from '@muster/sdk';
import type { Call, Command, Option } from '../frame/command';
import { exitCodes, Failure, usageFault } from '../frame/failure';
import { readSecret } from '../parts/input';
import { capabilityLines } from '../parts/capabilities';
import { findSystemd, SystemdUnit } from '../parts/systemd-unit';
import { WorkerFolder } from '../parts/worker-folder';

const dir: Option = { type: 'string', value: 'FOLDER', about: 'where it lives; ~/.local/state/muster-worker' };
const onlineWithinMs = 60_000;
const startsWithinMs = 15_000;
const endsWithinMs = 60_000;

const install: Command = {
  words: 'worker install',
  summary: 'Makes this machine an agent: puts a worker on it, and starts it',
  more:
    'It takes an admin’s login, which makes the agent. For an agent that is there already: --agent ID, and its worker ' +
    'key through stdin. It needs Node and Python here, and no open port. Where systemd runs, it is a service that begins with ' +
    'the machine (root’s, else the user’s own). IMAGING_ROOT and the other variables of a worker that are set now are kept ' +
    'in worker.env of its folder, where they can be changed: muster worker start takes them.',
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
    const { ofWorkers } = call.environment;
    folder.install({ SERVICE_BASE_URL: call.login().url, SERVICE_API_KEY: key, AGENT_ID: id }, ofWorkers);
    const unit = unitOf(call, folder);
    const later = unit?.install(serviceOf(call, folder)) ?? null;
    begin(call, folder, unit);
    await untilOnline(call, muster, { id, folder });
    const pid = folder.runningPid() ?? null;
    const asService = `It is the service ${unit?.name}, and begins again after a reboot.${later ? `\n${later}` : ''}`;
    const capabilities = folder.capabilities(ofWorkers);
    const machine = capabilityLines(capabilities).flatMap(([word, names]) => (names ? [`It ${word} ${names}.\n`] : []));
    terminal.show(
      { agentId: id, folder: folder.folder, pid, service: unit?.name ?? null, capabilities },
      `This machine is agent ${id}, and online. Its worker is process ${pid}, in ${folder.folder}.\n${machine.join('')}` +
        (unit ? asService : 'muster worker stop ends it; after a reboot: muster worker start'),
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
    if (running === undefined) {
      const unit = installedUnit(call, folder);
      unit?.install(serviceOf(call, folder));
      begin(call, folder, unit);
    }
    const pid = running ?? (await untilRunning(folder));
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
    const unit = installedUnit(call, folder);
    if (unit) unit.stop();
    else if (pid !== undefined) process.kill(pid, 'SIGTERM');
    call.terminal.show(
      { agentId: id, pid: pid ?? null },
      pid ? `Process ${pid} was asked to stop.` : 'It does not run.',
    );
  },
};

const status: Command = {
  words: 'worker status',
  summary: 'Whether the worker that is installed here runs, and how it is begun',
  options: { dir },
  async run(call) {
    const folder = folderOf(call);
    const { AGENT_ID: agentId, SERVICE_BASE_URL: url } = folder.read();
    const pid = folder.runningPid() ?? null;
    const service = installedUnit(call, folder)?.name ?? null;
    const capabilities = folder.capabilities(call.environment.ofWorkers);
    call.terminal.fields({ agentId, url, folder: folder.folder, pid, service, log: folder.log, capabilities }, [
      ['agent', agentId],
      ['service', url],
      ['worker', pid === null ? 'does not run: muster worker start' : `runs, as process ${pid}`],
      [
        'begun by',
        service
          ? `systemd, as ${service}: also after a reboot`
          : 'muster worker start, which is needed after a reboot too',
      ],
      ['folder', folder.folder],
      ['log', folder.log],
      ...capabilityLines(capabilities),
    ]);
  },
};

const logs: Command = {
  words: 'worker logs',
  summary: 'The last lines that the worker here has said',
  options: { dir, lines: { type: 'string', short: 'n', value: 'N', about: 'how many; 100' } },
  async run(call) {
    const folder = folderOf(call);
    folder.read();
    const count = Number(call.text('lines') ?? 100);
    if (!Number.isInteger(count) || count < 1) throw usageFault('--lines takes a whole number of at least 1.');
    const text = folder.lastWords(count);
    call.terminal.show({ lines: text.split('\n') }, text);
  },
};

const upgrade: Command = {
  words: 'worker upgrade',
  summary: 'Puts the worker that this muster carries in the place of the one that is installed here',
  more: 'A run goes on meanwhile: the new worker takes it over.',
  options: { dir },
  async run(call) {
    const folder = folderOf(call);
    const { AGENT_ID: agentId } = folder.read();
    const before = folder.runningPid();
    folder.prepare();
    const unit = installedUnit(call, folder);
    // Killed and not told to end: so its run lives on for the next one.
    if (before !== undefined) process.kill(before, 'SIGKILL');
    unit?.install(serviceOf(call, folder));
    begin(call, folder, unit);
    const pid = await untilRunning(folder, before);
    call.terminal.show({ agentId, pid }, `The new worker runs, as process ${pid}.`);
  },
};

const uninstall: Command = {
  words: 'worker uninstall',
  summary: 'Ends the worker that is installed here, and takes it and its folder away',
  more: 'What it had not sent yet goes too. The agent stays in the service, where an admin can terminate it.',
  options: { dir },
  async run(call) {
    const folder = folderOf(call);
    const { AGENT_ID: agentId } = folder.read();
    const pid = folder.runningPid();
    const unit = installedUnit(call, folder);
    unit?.remove();
    if (!unit && pid !== undefined) process.kill(pid, 'SIGTERM');
    const until = Date.now() + endsWithinMs;
    while (folder.runningPid() !== undefined && Date.now() < until) await rest();
    if (folder.runningPid() !== undefined) {
      throw new Failure('worker_runs', `Process ${pid} has not ended within ${endsWithinMs / 1000} s.`, {
        hint: 'muster worker uninstall again, or end it by hand.',
      });
    }
    folder.remove();
    call.terminal.show(
      { agentId, folder: folder.folder },
      `Nothing of it is left here. The agent ${agentId} stays in the service.`,
    );
  },
};

export const workerCommands = [install, start, stop, status, logs, upgrade, uninstall];

function unitOf({ environment }: Call, { folder }: WorkerFolder): SystemdUnit | null {
  const systemd = findSystemd(environment.configHome);
  return systemd && new SystemdUnit(systemd, { folder, isUsual: folder === resolve(environment.workerFolder) });
}

/** The one that begins the worker of this folder, where it was installed as a service. */
function installedUnit(call: Call, folder: WorkerFolder): SystemdUnit | null {
  const unit = unitOf(call, folder);
  return unit?.isInstalled ? unit : null;
}

function serviceOf(call: Call, folder: WorkerFolder) {
  const { program, log } = folder;
  const environment = folder.read();
  const isUsual = folder.folder === resolve(call.environment.workerFolder);
  return { folder: folder.folder, isUsual, program, log, agentId: environment.AGENT_ID, environment };
}

function begin(call: Call, folder: WorkerFolder, unit: SystemdUnit | null): void {
  if (unit) unit.start();
  else folder.start(call.environment.ofWorkers);
}

/** Its process, once it has its folder; another one than before. */
async function untilRunning(folder: WorkerFolder, before?: number): Promise<number> {
  const until = Date.now() + startsWithinMs;
  for (;;) {
    const pid = folder.runningPid();
    if (pid !== undefined && pid !== before) return pid;
    if (Date.now() > until) {
      throw new Failure('worker_silent', `The worker did not start.\n${folder.lastWords()}`, {
        hint: `It says more in ${folder.log}`,
      });
    }
    await rest();
  }
}

function rest(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 100));
}

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
