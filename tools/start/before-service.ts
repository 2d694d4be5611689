import { migrations, createOwnerDataSource } from '@muster/database';
import { describeIfUnconfined } from './describe-if-unconfined';
import { upgradeData } from './upgrade-data';

// Work that is done once before the service starts, in a separate process: its modules would otherwise stay in memory
// while `npm start` runs. The process is started early, and loads its modules while Postgres starts.

export interface BeforeService {
  databaseUrl: string;
  dataDir: string;
  backup: boolean;
}

export type PreparationMessage =
  | { progress: string }
  | { startError: string }
  | { migrated: string[]; hasOrganization: boolean }
  | { warning: string | null }
  | { fault: string };

process.once('message', (options: BeforeService) => {
  prepareDatabase(options).then(
    () => process.disconnect(),
    (error: Error) =>
      sendMessage(
        error.name === 'StartError' ? { startError: error.message } : { fault: error.stack ?? error.message },
      ).then(() => process.exit(1)),
  );
});

async function prepareDatabase({ databaseUrl, dataDir, backup }: BeforeService): Promise<void> {
  const warning = describeIfUnconfined(dataDir, process.env);
  const migrated = await upgradeData({
    databaseUrl,
    dataDir,
    backup,
    pending: await countPendingMigrations(databaseUrl),
    say: (line) => void sendMessage({ progress: line }),
  });
  await sendMessage({ migrated, hasOrganization: await hasOrganization(databaseUrl) });
  await sendMessage({ warning: await warning });
}

async function countPendingMigrations(databaseUrl: string): Promise<number> {
  const source = await createOwnerDataSource(databaseUrl).initialize();
  try {
    const [table] = await source.query<{ found: string | null }[]>("SELECT to_regclass('schema_migration') AS found");
    if (!table!.found) return migrations.length;
    const rows = await source.query<{ name: string }[]>('SELECT name FROM schema_migration');
    const seen = new Set(rows.map(({ name }) => name));
    return migrations.filter(({ name }) => !seen.has(name)).length;
  } finally {
    await source.destroy();
  }
}

async function hasOrganization(databaseUrl: string): Promise<boolean> {
  const source = await createOwnerDataSource(databaseUrl).initialize();
  try {
    const rows: unknown[] = await source.query('SELECT 1 FROM organization LIMIT 1');
    return rows.length > 0;
  } finally {
    await source.destroy();
  }
}

function sendMessage(message: PreparationMessage): Promise<void> {
  return new Promise((resolve) => process.send!(message, () => resolve()));
}
