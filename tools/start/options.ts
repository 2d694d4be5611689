import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { processesFor, usableCores } from './core-share';

/** What went wrong, in the one sentence that the newcomer reads. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

export interface StartOptions {
  port: number;
  host: string;
  dataDir: string;
  /** How many processes the service is. */
  processes: number;
  reset: boolean;
  /** Whether a first start brings an agent and a workflow to look at. */
  demo: boolean;
  /** Whether data of an older version is backed up before it is brought to this one. */
  backup: boolean;
  help: boolean;
}

export const usage = `npm start -- [--port N] [--host ADDRESS] [--data-dir DIR] [--processes N] [--reset] [--no-demo] [--no-backup]

  --port N         port of the service (PORT; 3000)
  --host ADDRESS   address that the port listens on; 0.0.0.0 accepts other machines (HOST; 127.0.0.1)
  --data-dir DIR   folder of Postgres, Redis, objects and keys (MUSTER_DATA_DIR; .muster/data)
  --processes N    number of processes behind the port, each with the whole service (MUSTER_PROCESSES; one for every
                   two cores, at most 4)
  --reset          delete the data of earlier starts first
  --no-demo        create no example agent and workflow
  --no-backup      upgrade the data of an older version without a backup
`;

/** Where this machine reaches the service: an address that stands for every one is no address to call. */
export function localAddress({ host, port }: Pick<StartOptions, 'host' | 'port'>): string {
  const local = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${local.includes(':') ? `[${local}]` : local}:${port}`;
}

/** The command line before the environment, the environment before the defaults. */
export function readOptions(args: string[], env: NodeJS.ProcessEnv, root: string): StartOptions {
  const values = parse(args);
  const portText = values.port ?? env['PORT'] ?? '3000';
  const port = wholeNumber(portText, 65_535);
  if (!port) throw new StartError(`"${portText}" is not a port; use --port with a number from 1 to 65535.`);
  const processesText = values.processes ?? (env['MUSTER_PROCESSES'] || String(processesFor(usableCores())));
  const processes = wholeNumber(processesText, 64);
  if (!processes)
    throw new StartError(
      `"${processesText}" is not a number of processes; use --processes with a number from 1 to 64.`,
    );
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

/** From 1 to the largest, or null. */
function wholeNumber(text: string, largest: number): number | null {
  const value = Number(text);
  return /^\d+$/.test(text) && value >= 1 && value <= largest ? value : null;
}

function parse(args: string[]) {
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
    throw new StartError(`${(error as Error).message.split('. ')[0]}; run npm start -- --help for the options.`);
  }
}
