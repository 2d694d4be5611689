import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { computeProcessCount, readUsableCores } from './core-share';

/** An error for the user. Its message is one sentence, which is printed without a stack trace. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

export interface StartOptions {
  port: number;
  host: string;
  dataDir: string;
  /** Number of processes of the service. */
  processes: number;
  reset: boolean;
  /** Whether the first start creates an example agent and workflow. */
  demo: boolean;
  /** Whether data of an older version is backed up before it is migrated to this version. */
  backup: boolean;
  help: boolean;
}

export const usage = `npm start -- [--port N] [--host ADDRESS] [--data-dir DIR] [--processes N] [--reset] [--no-demo] [--no-backup]

  --port N         the one port that serves everything (PORT; 3000)
  --host ADDRESS   the address that it listens on; 0.0.0.0 accepts other machines (HOST; 127.0.0.1)
  --data-dir DIR   where Postgres, Redis, objects and keys are stored (MUSTER_DATA_DIR; .muster/data)
  --processes N    number of processes that share the port, each running the whole service (MUSTER_PROCESSES; one for
                   every two cores, at most 4)
  --reset          delete the data of earlier starts first
  --no-demo        create no example agent and workflow
  --no-backup      migrate data of an older version without a backup
`;

/** URL of the service on this machine. 0.0.0.0 and :: are not addresses that a client can connect to. */
export function buildLocalAddress({ host, port }: Pick<StartOptions, 'host' | 'port'>): string {
  const local = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${local.includes(':') ? `[${local}]` : local}:${port}`;
}

/** Reads the options. The command line overrides the environment, and the environment overrides the defaults. */
export function parseOptions(args: string[], env: NodeJS.ProcessEnv, root: string): StartOptions {
  const values = parseArguments(args);
  const portText = values.port ?? env['PORT'] ?? '3000';
  const port = parseWholeNumber(portText, 65_535);
  if (!port) throw new StartError(`"${portText}" is not a port; set --port to a number from 1 to 65535.`);
  const processesText = values.processes ?? (env['MUSTER_PROCESSES'] || String(computeProcessCount(readUsableCores())));
  const processes = parseWholeNumber(processesText, 64);
  if (!processes)
    throw new StartError(`"${processesText}" is not a number of processes; set --processes to a number from 1 to 64.`);
  return {
    port,
    host: values.host || env['HOST'] || '127.0.0.1',
    dataDir: resolve(root, values['data-dir'] ?? env['MUSTER_DATA_DIR'] ?? '.muster/data'),
    processes,
    reset: values.reset ?? false,
    demo: !values['no-demo'],
    backup: !values['no-backup'],
    help: values.help ?? false,
  };
}

/** Parses a number from 1 to `largest`; null if it is not valid. */
function parseWholeNumber(text: string, largest: number): number | null {
  const value = Number(text);
  return /^\d+$/.test(text) && value >= 1 && value <= largest ? value : null;
}

function parseArguments(args: string[]) {
  try {
    const { values } = parseArgs({
      args,
      options: {
        port: { type: 'string' },
        host: { type: 'string' },
        'data-dir': { type: 'string' },
        processes: { type: 'string' },
        reset: { type: 'boolean' },
        'no-demo': { type: 'boolean' },
        'no-backup': { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    });
    return values;
  } catch (error) {
    throw new StartError(`${(error as Error).message.split('. ')[0]}; npm start -- --help shows the options.`);
  }
}
