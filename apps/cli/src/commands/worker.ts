import { execFileSync } from 'node:child_process';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import type { Muster } from '@muster/sdk';
import type { Call, Command, Option } from '../frame/command';
import { exitCodes, Failure, createUsageError } from '../frame/failure';
import { readSecret } from '../parts/input';
import { formatCapabilities } from '../parts/capabilities';
import { findSystemd, SystemdUnit } from '../parts/systemd-unit';
import { WorkerFolder } from '../parts/worker-folder';

const dir: Option = {
  type: 'string',
  value: 'FOLDER',
  about: 'Folder of the worker (default ~/.local/state/muster-worker)',
};
const onlineWithinMs = 60_000;
const startsWithinMs = 15_000;
const endsWithinMs = 60_000;

const install: Command = {
  words: 'worker install',
  summary: 'Install a worker on this machine and start it',
  more:
    'Creates an agent for this machine, which requires the login of an admin. To use an existing agent, specify ' +
    '--agent ID and pipe its worker key to stdin. The machine needs Node and Python, and no open port. If systemd ' +
    'is available, the worker is installed as a service that starts at boot: a system service for root, otherwise a ' +
    'user service. IMAGING_ROOT and other variables of the worker that are set now are saved in the file worker.env ' +
    'in its folder. To apply changes to this file, run muster worker stop and muster worker start.',
  options: {
    name: { type: 'string', value: 'NAME', about: 'Name of the agent (default the hostname)' },
    label: { type: 'string', value: 'LABEL', multiple: true, about: 'Label of the agent' },
    agent: { type: 'string', value: 'ID', about: 'Id of an existing agent; its worker key is read from stdin' },
    dir,
  },
  async runCommand(call) {
    const { terminal } = call;
    const folder = openWorkerFolder(call);
    if (folder.isInstalled) {
      throw createUsageError(
        `A worker is already installed in ${folder.folder}.`,
        'To start it, run muster worker start. To install another worker, specify another folder with --dir.',
      );
    }
    requirePython();
    const muster = call.muster();
    folder.writeWorkerProgram();
    const { id, key } = await chooseAgentToInstall(call, muster);
    const { ofWorkers } = call.environment;
    folder.install({ SERVICE_BASE_URL: call.login().url, SERVICE_API_KEY: key, AGENT_ID: id }, ofWorkers);
    const unit = findSystemdUnit(call, folder);
    const later = unit?.installUnit(buildServiceSettings(call, folder)) ?? null;
    startWorker(call, folder, unit);
    await waitUntilOnline(call, muster, { id, folder });
    const pid = folder.findRunningPid() ?? null;
    const asService = `The worker is the systemd service ${unit?.name}.${later ? `\n${later}` : ' It starts at boot.'}`;
    const capabilities = folder.readCapabilities(ofWorkers);
    const machine = formatCapabilities(capabilities).flatMap(([word, names]) =>
      names ? [`This machine ${word} ${names}.\n`] : [],
    );
    terminal.printResult(
      { agentId: id, folder: folder.folder, pid, service: unit?.name ?? null, capabilities },
      `Agent ${id} is online. Its worker runs as process ${pid} in ${folder.folder}.\n${machine.join('')}` +
        (unit ? asService : 'To stop it, run muster worker stop. After a reboot, run muster worker start.'),
    );
  },
};

const start: Command = {
  words: 'worker start',
  summary: 'Start the installed worker',
  options: { dir },
  async runCommand(call) {
    const folder = openWorkerFolder(call);
    const { AGENT_ID: id } = folder.readSettings();
    const running = folder.findRunningPid();
    if (running === undefined) {
      const unit = findInstalledUnit(call, folder);
      unit?.installUnit(buildServiceSettings(call, folder));
      startWorker(call, folder, unit);
    }
    const pid = running ?? (await waitUntilRunning(folder));
    call.terminal.printResult(
      { agentId: id, pid },
      running ? `The worker is already running as process ${pid}.` : `The worker is running as process ${pid}.`,
    );
  },
};

const stop: Command = {
  words: 'worker stop',
  summary: 'Stop the installed worker',
  options: { dir },
  async runCommand(call) {
    const folder = openWorkerFolder(call);
    const { AGENT_ID: id } = folder.readSettings();
    const pid = folder.findRunningPid();
    const unit = findInstalledUnit(call, folder);
    if (unit) unit.stopUnit();
    else if (pid !== undefined) process.kill(pid, 'SIGTERM');
    call.terminal.printResult(
      { agentId: id, pid: pid ?? null },
      pid ? `The worker is stopping (process ${pid}).` : 'The worker is not running.',
    );
  },
};

const status: Command = {
  words: 'worker status',
  summary: 'Show whether the installed worker runs and what starts it',
  options: { dir },
  async runCommand(call) {
    const folder = openWorkerFolder(call);
    const { AGENT_ID: agentId, SERVICE_BASE_URL: url } = folder.readSettings();
    const pid = folder.findRunningPid() ?? null;
    const service = findInstalledUnit(call, folder)?.name ?? null;
    const capabilities = folder.readCapabilities(call.environment.ofWorkers);
    call.terminal.printFields({ agentId, url, folder: folder.folder, pid, service, log: folder.log, capabilities }, [
      ['agent', agentId],
      ['service', url],
      ['worker', pid === null ? 'not running; to start it, run muster worker start' : `running as process ${pid}`],
      [
        'started by',
        service
          ? `systemd, as ${service}, also after a reboot`
          : 'muster worker start, which is also required after a reboot',
      ],
      ['folder', folder.folder],
      ['log', folder.log],
      ...formatCapabilities(capabilities),
    ]);
  },
};

const logs: Command = {
  words: 'worker logs',
  summary: 'Print the last lines of the worker’s log',
  options: { dir, lines: { type: 'string', short: 'n', value: 'N', about: 'Number of lines (default 100)' } },
  async runCommand(call) {
    const folder = openWorkerFolder(call);
    folder.readSettings();
    const count = Number(call.text('lines') ?? 100);
    if (!Number.isInteger(count) || count < 1)
      throw createUsageError('--lines must be a whole number of at least 1, such as --lines 100.');
    const text = folder.readLastLogLines(count);
    call.terminal.printResult({ lines: text.split('\n') }, text);
  },
};

const upgrade: Command = {
  words: 'worker upgrade',
  summary: 'Replace the installed worker with the version in this CLI',
  more: 'A run in progress continues, and the new worker takes the run over.',
  options: { dir },
  async runCommand(call) {
    const folder = openWorkerFolder(call);
    const { AGENT_ID: agentId } = folder.readSettings();
    const before = folder.findRunningPid();
    folder.writeWorkerProgram();
    const unit = findInstalledUnit(call, folder);
    // SIGTERM would end the run in progress. After SIGKILL the run continues, and the new worker takes it over.
    if (before !== undefined) process.kill(before, 'SIGKILL');
    unit?.installUnit(buildServiceSettings(call, folder));
    startWorker(call, folder, unit);
    const pid = await waitUntilRunning(folder, before);
    call.terminal.printResult({ agentId, pid }, `The new worker is running as process ${pid}.`);
  },
};

const uninstall: Command = {
  words: 'worker uninstall',
  summary: 'Stop the installed worker and delete its folder',
  more:
    'Data that the worker has not sent to the service yet is lost. The agent remains in the service until an admin ' +
    'terminates it.',
  options: { dir },
  async runCommand(call) {
    const folder = openWorkerFolder(call);
    const { AGENT_ID: agentId } = folder.readSettings();
    const pid = folder.findRunningPid();
    const unit = findInstalledUnit(call, folder);
    unit?.removeUnit();
    if (!unit && pid !== undefined) process.kill(pid, 'SIGTERM');
    const until = Date.now() + endsWithinMs;
    while (folder.findRunningPid() !== undefined && Date.now() < until) await waitBeforeNextCheck();
    if (folder.findRunningPid() !== undefined) {
      throw new Failure('worker_runs', `Process ${pid} has not ended within ${endsWithinMs / 1000} s.`, {
        hint: 'Run muster worker uninstall again, or stop the process yourself.',
      });
    }
    folder.remove();
    call.terminal.printResult(
      { agentId, folder: folder.folder },
      `The worker is removed from this machine. The agent ${agentId} remains in the service.`,
    );
  },
};

export const workerCommands = [install, start, stop, status, logs, upgrade, uninstall];

function findSystemdUnit({ environment }: Call, { folder }: WorkerFolder): SystemdUnit | null {
  const systemd = findSystemd(environment.configHome);
  return systemd && new SystemdUnit(systemd, { folder, isUsual: folder === resolve(environment.workerFolder) });
}

/** Returns the systemd unit of this folder's worker, or null if it is not installed as a service. */
function findInstalledUnit(call: Call, folder: WorkerFolder): SystemdUnit | null {
  const unit = findSystemdUnit(call, folder);
  return unit?.isInstalled ? unit : null;
}

function buildServiceSettings(call: Call, folder: WorkerFolder) {
  const { program, log } = folder;
  const environment = folder.readSettings();
  const isUsual = folder.folder === resolve(call.environment.workerFolder);
  return { folder: folder.folder, isUsual, program, log, agentId: environment.AGENT_ID, environment };
}

function startWorker(call: Call, folder: WorkerFolder, unit: SystemdUnit | null): void {
  if (unit) unit.startUnit();
  else folder.startWorker(call.environment.ofWorkers);
}

/** Waits until the worker runs, and returns its process id. A process with the id `before` does not count. */
async function waitUntilRunning(folder: WorkerFolder, before?: number): Promise<number> {
  const until = Date.now() + startsWithinMs;
  for (;;) {
    const pid = folder.findRunningPid();
    if (pid !== undefined && pid !== before) return pid;
    if (Date.now() > until) {
      throw new Failure('worker_silent', `The worker did not start.\n${folder.readLastLogLines()}`, {
        hint: `For details, see ${folder.log}`,
      });
    }
    await waitBeforeNextCheck();
  }
}

function waitBeforeNextCheck(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 100));
}

function openWorkerFolder(call: Call): WorkerFolder {
  return new WorkerFolder(resolve(call.text('dir') ?? call.environment.workerFolder));
}

function requirePython(): void {
  try {
    execFileSync('python3', ['--version'], { stdio: 'ignore' });
  } catch {
    throw new Failure('no_python', 'This machine has no python3, which is required to run scripts.', {
      hint: 'Install it, for example with apt-get install python3.',
    });
  }
}

async function chooseAgentToInstall(call: Call, muster: Muster): Promise<{ id: string; key: string }> {
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

async function waitUntilOnline(
  call: Call,
  muster: Muster,
  { id, folder }: { id: string; folder: WorkerFolder },
): Promise<void> {
  const until = Date.now() + onlineWithinMs;
  while ((await muster.agents.status(id)).status !== 'online') {
    call.terminal.showProgress('waiting for the worker to come online');
    if (Date.now() > until) {
      throw new Failure(
        'worker_silent',
        `The worker did not come online within ${onlineWithinMs / 1000} s.\n${folder.readLastLogLines()}`,
        {
          hint: `For details, see ${folder.log}`,
          exitCode: exitCodes.refused,
        },
      );
    }
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  call.terminal.clearProgress();
}
