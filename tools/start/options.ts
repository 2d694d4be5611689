import { resolve } from 'node:path';
import { parseArgs } from 'node:util';

/** What went wrong, in the one sentence that the newcomer reads. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

export interface StartOptions {
  port: number;
  host: string;
  dataDir: string;
  reset: boolean;
  /** Whether a first start brings an agent and a workflow to look at. */
  demo: boolean;
  help: boolean;
}

export const usage = `npm start -- [--port N] [--host ADDRESS] [--data-dir DIR] [--reset] [--no-demo]

  --port N         the one port that serves everything (PORT; 3000)
  --host ADDRESS   the address that it listens on; 0.0.0.0 lets other machines in (HOST; 127.0.0.1)
  --data-dir DIR   where Postgres, Redis, objects and keys are kept (MUSTER_DATA_DIR; .muster/data)
  --reset          begin without the data of earlier starts
  --no-demo        bring no example agent and workflow
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
  const port = Number(portText);
  if (!/^\d+$/.test(portText) || port < 1 || port > 65_535) {
    throw new StartError(`"${portText}" is not a port; give --port a number from 1 to 65535.`);
  }
  return {
    port,
    host: values.host || env['HOST'] || '127.0.0.1',
    dataDir: resolve(root, values['data-dir'] ?? env['MUSTER_DATA_DIR'] ?? '.muster/data'),
    reset: values.reset ?? false,
    demo: !values['no-demo'],
    help: values.help ?? false,
  };
}

function parse(args: string[]) {
  try {
    const { values } = parseArgs({
      args,
      options: {
        port: { type: 'string' },
        host: { type: 'string' },
        'data-dir': { type: 'string' },
        reset: { type: 'boolean' },
        'no-demo': { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    });
    return values;
  } catch (error) {
    throw new StartError(`${(error as Error).message.split('. ')[0]}; npm start -- --help shows what there is.`);
  }
}
