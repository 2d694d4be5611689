import { detectCapabilities } from './host/capabilities';
import { createLocalLog } from './host/local-log';
import { runPackCommandSafely, packHelp } from './publish/pack-command';
import { readMachine, readSettings } from './settings';
import { getErrorMessage } from './protocol/service';
import { Worker } from './worker';

const help = `muster-worker

Without arguments, runs this machine's worker for the agent in SERVICE_BASE_URL, SERVICE_API_KEY and AGENT_ID.

muster-worker capabilities [--json]

Prints which of the programs and features that commands need this machine has: name, yes or no, and details.

${packHelp}`;

let worker: Worker | undefined;
const log = createLocalLog(
  (line) => process.stderr.write(line),
  () => worker?.listSecrets() ?? [],
);

async function runWorker(): Promise<number> {
  const [word, ...more] = process.argv.slice(2);
  if (word === 'pack') return runPublish(more);
  if (word === 'capabilities') return printCapabilities(more.includes('--json'));
  if (word === '--help' || word === '-h' || word === 'help') {
    process.stdout.write(help);
    return 0;
  }
  if (word !== undefined) {
    process.stderr.write(`muster-worker: there is no command ${word}; run muster-worker --help for a list\n`);
    return 2;
  }
  const settings = readSettings();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => worker?.stop(signal));
  for (;;) {
    worker = new Worker(settings, log);
    const outcome = await worker.runUntilStopped();
    if (outcome !== 'restart') return outcome.exitCode;
  }
}

async function printCapabilities(asJson: boolean): Promise<number> {
  const all = await detectCapabilities(readMachine());
  if (asJson) process.stdout.write(`${JSON.stringify(all)}\n`);
  else
    for (const { name, available, detail } of all) {
      const more = detail === null ? '' : available ? ` (${detail})` : `: ${detail}`;
      process.stdout.write(`${name.padEnd(9)}${available ? 'yes' : 'no'}${more}\n`);
    }
  return 0;
}

function runPublish(args: string[]): Promise<number> {
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stop.abort());
  const streams = {
    out: (text: string) => void process.stdout.write(text),
    err: (text: string) => void process.stderr.write(text),
  };
  return runPackCommandSafely(args, streams, stop.signal);
}

runWorker().then(
  (exitCode) => process.exit(exitCode),
  (error: unknown) => {
    log('error', getErrorMessage(error));
    process.exit(2);
  },
);
