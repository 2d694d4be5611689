import {
  concurrency,
  databaseUrl,
  awaitReport,
  receiveReport,
  requirePeer,
  poolSize,
  pushRun,
  serveProgram,
} from './program';

// A run is a job. Workers of pg-boss poll at most every half second, so each launch wakes one of this program's
// workers. It fetches up to eight jobs and completes them together.

interface Job {
  data: { id: string };
}

interface PgBoss {
  start(): Promise<unknown>;
  on(event: 'error', listener: (error: Error) => void): void;
  createQueue(name: string): Promise<void>;
  work(name: string, options: object, handler: (jobs: Job[]) => Promise<void>): Promise<string>;
  notifyWorker(id: string): void;
  send(name: string, data: Job['data'], options: { id: string }): Promise<string | null>;
  getJobById(name: string, id: string): Promise<{ state: string } | null>;
}

const Boss = requirePeer('pg-boss') as new (options: object) => PgBoss;
const boss = new Boss({ connectionString: databaseUrl, max: poolSize, schedule: false });
const batchSize = 8;

void (async () => {
  boss.on('error', (error) => console.error(error));
  await boss.start();
  await boss.createQueue('run');
  const workers: string[] = [];
  for (let count = 0; count < concurrency / 4; count += 1) {
    workers.push(await boss.work('run', { batchSize, pollingIntervalSeconds: 0.5 }, handleJobs));
  }
  let turn = 0;
  await serveProgram({
    launch: async (id) => {
      await boss.send('run', { id }, { id });
      boss.notifyWorker(workers[turn++ % workers.length]!);
    },
    report: receiveReport,
    read: async (id) => ((await boss.getJobById('run', id))?.state === 'completed' ? 'completed' : 'running'),
  });
})();

async function handleJobs(jobs: Job[]): Promise<void> {
  await Promise.all(
    jobs.map(async ({ data: { id } }) => {
      await pushRun(id);
      await awaitReport(id, 'running');
      await awaitReport(id, 'completed');
    }),
  );
}
