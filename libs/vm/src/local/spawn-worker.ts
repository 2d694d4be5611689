import { type ChildProcess, spawn } from 'node:child_process';
import { open } from 'node:fs/promises';
import { MachineError } from '../machine';
import type { AgentFolder } from './agent-folder';
import { buildConfinedCommand, type Confinement, type ConfinementInput } from './confinement';

export interface WorkerStart {
  folder: AgentFolder;
  confinement: Confinement;
  input: ConfinementInput;
  serviceUrl: string;
  key: string;
}

/** Starts a confined worker in its machine's folder. The worker keeps running when this process ends. */
export async function spawnWorker({ folder, confinement, input, serviceUrl, key }: WorkerStart): Promise<ChildProcess> {
  const { agentId, leaseFile, machine, home } = folder;
  await folder.renewLease();
  const account = await folder.prepareMachine(confinement);
  const worker = [process.execPath, '--enable-source-maps', input.program];
  const confined = { account, machine, home, lease: leaseFile, command: worker };
  const [command, ...args] = buildConfinedCommand(confinement, confined, input);
  const isConfined = confinement.account || confinement.namespaces;
  const log = await open(folder.logFile, 'a', 0o600);
  try {
    const child = spawn(command!, args, {
      // This process may have no access to the machine's folder; confine.py changes to it.
      cwd: isConfined ? '/' : machine,
      detached: true,
      stdio: ['ignore', log.fd, log.fd],
      env: {
        ...input.baseEnv,
        ...(isConfined ? { HOME: home } : {}),
        SERVICE_BASE_URL: serviceUrl,
        SERVICE_API_KEY: key,
        AGENT_ID: agentId,
        MUSTER_WORKER_DIR: machine,
        MUSTER_LEASE_FILE: leaseFile,
      },
    });
    await waitForSpawn(child);
    return child;
  } finally {
    await log.close();
  }
}

function waitForSpawn(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', (error) =>
      reject(new MachineError('failed', `The worker cannot be started: ${error.message}.`)),
    );
  });
}
