import { localLog } from './host/local-log';
import { readSettings } from './settings';
import { messageOf } from './protocol/service';
import { Worker } from './worker';

let worker: Worker | undefined;
const log = localLog(
  (line) => process.stderr.write(line),
  () => worker?.secrets() ?? [],
);

async function main(): Promise<number> {
  const settings = readSettings();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => worker?.stop(signal));
  for (;;) {
    worker = new Worker(settings, log);
    const outcome = await worker.run();
    if (outcome !== 'restart') return outcome.exitCode;
  }
}

main().then(
  (exitCode) => process.exit(exitCode),
  (error: unknown) => {
    log('error', messageOf(error));
    process.exit(2);
  },
);
