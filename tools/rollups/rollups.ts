import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { listOrganizations } from '@muster/access';
import { Database, DatabaseModule } from '@muster/database';
import { rebuildRollups, verifyRollups } from '@muster/pilot';
import { rebuildCostDays, verifyCostDays } from '@muster/pricing';
import { BaseConfig, createApp, type Environment, loadConfig } from '@muster/platform';

// `npm run rollups -- verify|rebuild [organization id…]`: compares what returns on investment are read from with the
// claims, and what costs are with what runs used, or makes both anew. On DATABASE_URL, or on the database of `npm start` (MUSTER_DATA_DIR, .muster/data).

const [command, ...asked] = process.argv.slice(2);
if (command !== 'verify' && command !== 'rebuild') {
  console.error('usage: npm run rollups -- verify|rebuild [organization id…]');
  process.exit(2);
}

void (async () => {
  const { nest, close } = await createApp({
    // One that has no queue to answer.
    name: 'gateway',
    configs: [loadConfig(BaseConfig, environment())],
    modules: [DatabaseModule],
  });
  await nest.init();
  const database = nest.get(Database);
  const organizations = asked.length > 0 ? asked : await everyOrganization(database);
  let faults = 0;
  for (const id of organizations) faults += await (command === 'verify' ? verify(database, id) : rebuild(database, id));
  await close();
  process.exit(faults > 0 ? 1 : 0);
})();

async function everyOrganization(database: Database): Promise<string[]> {
  const ids: string[] = [];
  for (let after: string[] | null = null; ; after = [ids.at(-1)!]) {
    const page = await listOrganizations(database, { page: { limit: 500, after } });
    ids.push(...page.slice(0, 500).map(({ id }) => id));
    if (page.length <= 500) return ids;
  }
}

async function verify(database: Database, organizationId: string): Promise<number> {
  const faults = await verifyRollups(database, organizationId);
  for (const { workflowId, differs } of faults) {
    const of = workflowId ? `workflow ${workflowId}` : 'all workflows';
    console.log(`organization ${organizationId}: ${of}: not what the claims say: ${someOf(differs)}`);
  }
  const days = await verifyCostDays(database, organizationId);
  if (days.length > 0) console.log(`organization ${organizationId}: costs: not what the runs cost: ${someOf(days)}`);
  const count = faults.length + days.length;
  if (count === 0) console.log(`organization ${organizationId}: equal`);
  return count;
}

function someOf(days: string[]): string {
  const shown = days.slice(0, 10).join(', ');
  return days.length > 10 ? `${shown} and ${days.length - 10} more` : shown;
}

async function rebuild(database: Database, organizationId: string): Promise<number> {
  const { days } = await rebuildRollups(database, organizationId);
  const costs = await rebuildCostDays(database, organizationId);
  console.log(`organization ${organizationId}: ${days} days made anew, and ${costs.days} of costs`);
  return 0;
}

function environment(): Environment {
  const given = process.env;
  return {
    DATABASE_URL: given['DATABASE_URL'] ?? urlOfStart(resolve(given['MUSTER_DATA_DIR'] ?? '.muster/data')),
    // Nothing is queued here, and nothing is unlocked.
    REDIS_URL: given['REDIS_URL'] ?? 'redis://127.0.0.1:6379',
    MASTER_KEYS: given['MASTER_KEYS'] ?? `none:${randomBytes(32).toString('base64')}`,
    PUBLIC_APP_URL: 'http://127.0.0.1',
    LOG_LEVEL: 'error',
    DATABASE_POOL_SIZE: '2',
  };
}

function urlOfStart(dataDir: string): string {
  const read = (name: string) => readFileSync(join(dataDir, 'postgres', name), 'utf8').trim();
  try {
    return `postgres://muster:${read('password')}@127.0.0.1:${read('port')}/muster`;
  } catch {
    console.error(`There is no database below ${dataDir}: set DATABASE_URL, or MUSTER_DATA_DIR as npm start has it.`);
    process.exit(2);
  }
}
