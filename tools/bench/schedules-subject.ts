import { AccessModule } from '@muster/access';
import { Database, DatabaseModule } from '@muster/database';
import { BaseConfig, createApp, loadConfig } from '@muster/platform';
import { runDueSchedules, scanDueSchedules } from '@muster/schedules';

// Runs the scan of a tick, and a whole tick, on the database that the environment specifies.

export interface SchedulesQuestion {
  scans: number;
}

export interface SchedulesAnswer {
  scansMs: number[];
  tickMs: number;
}

const now = new Date('2026-01-01T00:00:30.000Z');
const due = 100;

void (async () => {
  const { nest } = await createApp({
    name: 'gateway',
    configs: [loadConfig(BaseConfig, process.env)],
    modules: [DatabaseModule, AccessModule],
  });
  await nest.init();
  const database = nest.get(Database);
  process.on('message', ({ scans }: SchedulesQuestion) => {
    void measureScans(database, scans).then((answer) => process.send!(answer));
  });
  process.send!({});
})();

async function measureScans(database: Database, scans: number): Promise<SchedulesAnswer> {
  const scansMs: number[] = [];
  for (let at = 0; at < scans; at += 1) {
    const began = performance.now();
    const found = await scanDueSchedules(database, { now, whenScanned: 'leave' }, { limit: due });
    scansMs.push(performance.now() - began);
    if (found.length !== due) throw new Error(`the scan found ${found.length}`);
  }
  const began = performance.now();
  const { launched } = await runDueSchedules(database, { now, limit: 1000, whenScanned: 'leave' });
  const tickMs = performance.now() - began;
  if (launched.length !== due) throw new Error(`the tick launched ${launched.length} runs instead of ${due}`);
  await database.transaction('system', async (tx) => {
    await tx.execute('DELETE FROM schedule_run');
    await tx.execute(`UPDATE schedule SET next_run_at = '2026-01-01T00:00:00Z' WHERE last_run_at IS NOT NULL`);
  });
  return { scansMs, tickMs };
}
