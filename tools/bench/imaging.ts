import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { findPillow } from '../dev-stack/src/pillow';
import { makeImages } from './imaging-files';
import { ImagingService } from './imaging-service';
import { readProcessTree } from './read-process-tree';
import { printReport } from './print-report';
import { runInTurns, type Round } from './rounds';
import { chooseSize } from './short';

// A worker converts an organization's images and uploads them to a store that accepts everything. Baseline: a Python
// loop that opens each of the same files with Pillow and saves the same two images.

const size = { count: chooseSize(500, 12), width: chooseSize(2000, 200), height: chooseSize(1500, 150) };
const rounds = chooseSize(5, 1);
const mebibyte = 1024 * 1024;

void runImagingBench().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});

async function runImagingBench(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'muster-bench-imaging-'));
  const pillow = await findPillow({ dataDir: folder, env: process.env, onProgress: () => undefined });
  if (Array.isArray(pillow)) {
    console.log(`imaging: skipped, Pillow is not available (${pillow.join('; ')})`);
    return rmSync(folder, { recursive: true, force: true });
  }
  const root = join(folder, 'images');
  const names = makeImages(root, size);
  const service = await ImagingService.start();
  const env = { PATH: process.env['PATH'], HOME: process.env['HOME'], IMAGING_ROOT: root, ...pillow };
  const worker = startWorker(service, folder, env);
  try {
    await service.waitForHandshake();
    const memory: number[][] = [];
    const compared = await runInTurns(
      rounds,
      () => measureBaseline(root, join(folder, 'baseline'), env),
      async () => {
        const { round, samples } = await measureConversion(service, worker, { root, names });
        memory.push(samples);
        return round;
      },
    );
    const quarters = [0, 1, 2, 3].map((quarter) =>
      Math.max(...memory.flatMap((each) => each.slice((each.length * quarter) / 4, (each.length * (quarter + 1)) / 4))),
    );
    const { count, width, height } = size;
    printReport({ name: 'imaging', target: 0.8, unit: 'images' }, compared, []);
    console.log(`  ${count} images of ${width} × ${height}: grey with 8 and 16 bits, and compressed RGB`);
    const shown = quarters.map((bytes) => Math.round(bytes / mebibyte));
    console.log(`  memory of the worker and its Python, by quarters: ${shown.join(', ')} MiB\n`);
  } finally {
    worker.kill();
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

function startWorker(service: ImagingService, folder: string, env: NodeJS.ProcessEnv): ChildProcess {
  return spawn(process.execPath, [join(__dirname, '../../apps/worker/src/main.js')], {
    env: {
      ...env,
      SERVICE_BASE_URL: service.url,
      SERVICE_API_KEY: 'msk_bench_0123456789abcdef',
      AGENT_ID: service.agentId,
      MUSTER_WORKER_DIR: join(folder, 'worker'),
      MUSTER_TUNNEL_HOSTNAME: 'off',
    },
    stdio: 'ignore',
  });
}

async function measureBaseline(
  root: string,
  out: string,
  { IMAGING_PYTHONPATH, IMAGING_LIBRARY_PATH, PATH }: NodeJS.ProcessEnv,
): Promise<Round> {
  mkdirSync(out, { recursive: true });
  const env = { PATH, PYTHONPATH: IMAGING_PYTHONPATH ?? '', LD_LIBRARY_PATH: IMAGING_LIBRARY_PATH ?? '' };
  const began = performance.now();
  await promisify(execFile)('python3', [join(__dirname, 'imaging-baseline.py'), root, out], { env });
  const seconds = (performance.now() - began) / 1000;
  if (readdirSync(out).length !== 2 * size.count) throw new Error('the baseline did not convert all images');
  rmSync(out, { recursive: true });
  return { perSecond: size.count / seconds };
}

async function measureConversion(
  service: ImagingService,
  worker: ChildProcess,
  { root, names }: { root: string; names: string[] },
): Promise<{ round: Round; samples: number[] }> {
  const images = names.map((filename, at) => ({ ordinal: at + 1, filename }));
  const began = performance.now();
  const ended = service.runImaging(randomUUID(), { imagingPath: root, patimageid: 1, images });
  const samples: number[] = [];
  let isOver = false;
  const measuring = (async () => {
    while (!isOver) {
      const tree = await readProcessTree(worker.pid!);
      samples.push(tree.reduce((sum, { pssBytes }) => sum + pssBytes, 0));
      await sleep(chooseSize(500, 50));
    }
  })();
  const result = await ended;
  const seconds = (performance.now() - began) / 1000;
  isOver = true;
  await measuring;
  const made = result.output?.images?.filter(({ width }) => width === size.width).length;
  if (made !== size.count || service.uploadCount !== 2 * size.count)
    throw new Error(`converted ${made}: ${JSON.stringify(result)}`);
  service.uploadCount = 0;
  return { round: { perSecond: size.count / seconds }, samples };
}
