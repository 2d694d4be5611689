import {
  type Harness,
  type LargeOrganization,
  listRequests,
  makeOrganization,
  seedLargeOrganization,
  startHarness,
  type Tenant,
} from '@muster/testing';
import { newId } from '@muster/platform';
import { Client } from 'pg';
import { gateway } from './gateway.harness';

/** Every list of the API with each of its filters and orders. */
describe('every list', () => {
  let harness: Harness;
  let tenant: Tenant;
  let house: LargeOrganization;

  beforeAll(async () => {
    harness = await startHarness({ ...gateway, env: { RATE_LIMIT_PER_MINUTE: '1000000' } });
    tenant = await harness.makeTenant();
    const client = new Client({ connectionString: harness.databaseUrl });
    await client.connect();
    const size = { jobs: 240, agents: 12, entries: 300 };
    house = await seedLargeOrganization(client, size, tenant.organizationId);
    await client.end();
    await addRowsOfShortLists();
    await tenant.signInAgain();
  }, 60_000);
  afterAll(() => harness.close());

  /** Adds rows to the lists of which the seeded organization has at most one row. */
  async function addRowsOfShortLists(): Promise<void> {
    const { organizationId, as, userIds } = tenant;
    const created: number[] = [];
    for (const n of [1, 2, 3]) {
      const url = `https://93.184.215.14/${n}`;
      const channel = { name: `Channel ${n}`, kind: 'slack', target: { url }, events: ['pack.promoted'] };
      const answers = [
        await as.admin.put(`/api/vault/KEY_${n}`, { value: 'secret' }),
        await as.admin.post('/api/webhook-endpoints', { url, events: ['pack.promoted'] }),
        await as.admin.post('/api/notification-channels', channel),
        await as.admin.post('/api/inbound-codes', { name: `Codes ${n}` }),
        await as.admin.put('/api/concurrency-keys', { key: `key-${n}`, limit: 2 }),
        await as.member.post('/api/functions', { name: `function_${n}`, code: 'pass' }),
      ];
      created.push(...answers.map(({ status }) => status));
      await makeOrganization(harness.db);
      for (const [statement, ...values] of [
        [
          `INSERT INTO passkey (id, user_id, organization_id, name, credential_id, public_key, counter)
           VALUES ($1::uuid, $2, $3, 'Telephone', $1::uuid::text, '', 0)`,
          ...[newId(), userIds.admin, organizationId],
        ],
        [
          `INSERT INTO alert (id, organization_id, rule, subject_type, subject_id, subject_name, resolved_at)
           VALUES ($1, $2, 'wake_failed', 'agent', $3, 'Agent', CASE WHEN $4 > 1 THEN muster_now() END)`,
          ...[newId(), organizationId, newId(), n],
        ],
        [
          `INSERT INTO outbox (id, queue, name, payload, organization_id, next_publish_at)
           VALUES ($1, 'dispatch', 'dispatch-agent', '{}', $2, NULL)`,
          ...[newId(), organizationId],
        ],
        [`INSERT INTO queue_probe (id, queue) VALUES ($1, 'dispatch')`, newId()],
        [
          `INSERT INTO workflow_revision (workflow_id, revision, organization_id, variables, script, saved_by)
           SELECT workflow_id, 1 + $2, organization_id, variables, script, saved_by FROM workflow_revision
           WHERE workflow_id = $1 AND revision = 1`,
          ...[house.workflowIds.usual, n],
        ],
      ] as [string, ...unknown[]][])
        await harness.db.query('system', statement, values);
    }
    expect(created.filter((status) => status >= 300)).toEqual([]);
  }

  /** Returns the rows of a page as texts, and its cursor. */
  async function readPage(path: string, query: string): Promise<{ rows: string[]; nextCursor: string | null }> {
    const client = path.startsWith('/api/admin') ? tenant.as.super_admin : tenant.as.admin;
    const { status, body } = await client.get(`${path}${path.includes('?') ? '&' : '?'}${query}`);
    if (status !== 200) throw new Error(`${path} ${query}: ${status} ${JSON.stringify(body)}`);
    const [items] = Object.values<unknown>(body).filter((value) => Array.isArray(value));
    return { rows: (items as unknown[]).map((item) => JSON.stringify(item)), nextCursor: body.nextCursor };
  }

  it('every list has each row on exactly one of its pages, in the order of the whole list', async () => {
    const faults: object[] = [];
    const shortLists: string[] = [];
    for (const path of listRequests(house)) {
      const whole = await readPage(path, 'limit=200');
      const total = whole.rows.length;
      if (total < 2) {
        if (!path.includes('?')) shortLists.push(path);
        continue;
      }
      const limit = Math.ceil(total / 2);
      const first = await readPage(path, `limit=${limit}`);
      const second =
        first.nextCursor === null ? null : await readPage(path, `limit=${limit}&cursor=${first.nextCursor}`);
      const isWhole =
        JSON.stringify([...first.rows, ...(second?.rows ?? [])].slice(0, total)) === JSON.stringify(whole.rows) &&
        // An even number of rows fills both pages, and no empty page follows the second one.
        (whole.nextCursor !== null || second!.nextCursor === null) &&
        first.rows.length === limit;
      if (!isWhole) faults.push({ path, whole, first, second });
    }
    expect(faults).toEqual([]);
    expect(shortLists).toEqual([]);
  });

  it('every list has fewer rows with a filter for a rare value, and only rows that it also has without the filter', async () => {
    const faults: string[] = [];
    for (const path of listRequests(house).filter((each) => each.includes('?'))) {
      const [list = '', query = ''] = path.split('?');
      if (/^sort=[^&]*$|^order=[^&]*$|^month=/.test(query)) continue;
      const [filtered, all] = [await readPage(path, 'limit=200'), await readPage(list, 'limit=200')];
      const isRare = /needle|rare|nobody|nothing|never/.test(query);
      if (isRare && filtered.rows.length >= all.rows.length) faults.push(path);
      if (all.nextCursor === null && filtered.rows.some((row) => !all.rows.includes(row))) faults.push(path);
    }
    expect(faults).toEqual([]);
  });
});
