import { migrate, ownerDataSource } from '@muster/database';
import { sayIfUnconfined } from './say-if-unconfined';

// What has to be done once before the service starts, in a process that is gone afterwards: what it loads would else stay
// in memory for as long as `npm start` runs. It is begun early, and loads while Postgres starts.

export interface BeforeService {
  databaseUrl: string;
  dataDir: string;
}

export type DoneBeforeService =
  { migrated: string[]; hasOrganization: boolean } | { warning: string | null } | { fault: string };

process.once('message', (given: BeforeService) => {
  prepare(given).then(
    () => process.disconnect(),
    (error: Error) => say({ fault: error.stack ?? error.message }).then(() => process.exit(1)),
  );
});

async function prepare({ databaseUrl, dataDir }: BeforeService): Promise<void> {
  const warning = sayIfUnconfined(dataDir, process.env);
  const migrated = await migrate(databaseUrl);
  await say({ migrated, hasOrganization: await hasOrganization(databaseUrl) });
  await say({ warning: await warning });
}

async function hasOrganization(databaseUrl: string): Promise<boolean> {
  const source = await ownerDataSource(databaseUrl).initialize();
  try {
    const rows: unknown[] = await source.query('SELECT 1 FROM organization LIMIT 1');
    return rows.length > 0;
  } finally {
    await source.destroy();
  }
}

function say(done: DoneBeforeService): Promise<void> {
  return new Promise((resolve) => process.send!(done, () => resolve()));
}
