import { listOrganizations, verifyAuditLogs } from '@muster/access';
import type { Database } from '@muster/database';
import { openStartDatabase } from '../rollups/start-database';

// `npm run audit -- verify [organization id…]` compares the audit trail and the access log with their hashes. Reads the
// database at DATABASE_URL, or that of `npm start` (MUSTER_DATA_DIR, .muster/data). Exits with 0 if every row is as it
// was written, with 1 if a row was changed, removed or added, and with 2 if the rows could not be compared.

const [command, ...organizationIds] = process.argv.slice(2);
if (command !== 'verify') {
  console.error('usage: npm run audit -- verify [organization id…]');
  process.exit(2);
}

void (async () => {
  const { database, close } = await openStartDatabase();
  const organizations = await listExistingOrganizations(database, organizationIds);
  let faults = 0;
  for (const id of organizations) faults += await verifyOrganizationLogs(database, id);
  console.log(
    faults === 0
      ? 'The audit trail and the access log are intact.'
      : `The audit trail or the access log was changed: ${faults} ${faults === 1 ? 'fault was' : 'faults were'} found.`,
  );
  await close();
  process.exit(faults > 0 ? 1 : 0);
})().catch((error: Error) => {
  console.error(`The audit trail could not be verified: ${error.message}`);
  process.exit(2);
});

/** Returns the ids of all organizations, or the named ones if all of them exist. */
async function listExistingOrganizations(database: Database, named: string[]): Promise<string[]> {
  const ids: string[] = [];
  for (let after: string[] | null = null; ; after = [ids.at(-1)!]) {
    const page = await listOrganizations(database, { page: { limit: 500, after } });
    ids.push(...page.slice(0, 500).map(({ id }) => id));
    if (page.length <= 500) break;
  }
  const unknown = named.find((id) => !ids.includes(id));
  if (unknown) throw new Error(`there is no organization ${unknown}`);
  return named.length > 0 ? named : ids;
}

async function verifyOrganizationLogs(database: Database, organizationId: string): Promise<number> {
  const { closedDays, rows, faults } = await verifyAuditLogs(database, organizationId);
  for (const fault of faults) console.log(`organization ${organizationId}: ${fault}`);
  if (faults.length === 0)
    console.log(`organization ${organizationId}: ${rows} rows and ${closedDays} closed days intact`);
  return faults.length;
}
