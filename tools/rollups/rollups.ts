import { listOrganizations } from '@muster/access';
import type { Database } from '@muster/database';
import { rebuildRoiRollups, verifyRoiRollups } from '@muster/pilot';
import { rebuildCostDays, verifyCostDays } from '@muster/pricing';
import { openStartDatabase } from './start-database';

// `npm run rollups -- verify|rebuild [organization id…]` compares the ROI rollups with the claims and the daily costs
// with the runs, or rebuilds both. Uses DATABASE_URL, or the database of `npm start` (MUSTER_DATA_DIR, .muster/data).

const [command, ...organizationIds] = process.argv.slice(2);
if (command !== 'verify' && command !== 'rebuild') {
  console.error('usage: npm run rollups -- verify|rebuild [organization id…]');
  process.exit(2);
}

void (async () => {
  const { database, close } = await openStartDatabase();
  const organizations = organizationIds.length > 0 ? organizationIds : await listAllOrganizationIds(database);
  let faults = 0;
  for (const id of organizations)
    faults += await (command === 'verify' ? verifyOrganization(database, id) : rebuildOrganization(database, id));
  await close();
  process.exit(faults > 0 ? 1 : 0);
})();

async function listAllOrganizationIds(database: Database): Promise<string[]> {
  const ids: string[] = [];
  for (let after: string[] | null = null; ; after = [ids.at(-1)!]) {
    const page = await listOrganizations(database, { page: { limit: 500, after } });
    ids.push(...page.slice(0, 500).map(({ id }) => id));
    if (page.length <= 500) return ids;
  }
}

async function verifyOrganization(database: Database, organizationId: string): Promise<number> {
  const faults = await verifyRoiRollups(database, organizationId);
  for (const { workflowId, differs } of faults) {
    const subject = workflowId ? `workflow ${workflowId}` : 'all workflows';
    console.log(
      `organization ${organizationId}: ${subject}: rollups differ from the claims: ${formatFirstDays(differs)}`,
    );
  }
  const days = await verifyCostDays(database, organizationId);
  if (days.length > 0)
    console.log(`organization ${organizationId}: daily costs differ from the runs: ${formatFirstDays(days)}`);
  const count = faults.length + days.length;
  if (count === 0) console.log(`organization ${organizationId}: equal`);
  return count;
}

function formatFirstDays(days: string[]): string {
  const shown = days.slice(0, 10).join(', ');
  return days.length > 10 ? `${shown} and ${days.length - 10} more` : shown;
}

async function rebuildOrganization(database: Database, organizationId: string): Promise<number> {
  const { days } = await rebuildRoiRollups(database, organizationId);
  const costs = await rebuildCostDays(database, organizationId);
  console.log(`organization ${organizationId}: rebuilt ${days} days of rollups and ${costs.days} days of costs`);
  return 0;
}
