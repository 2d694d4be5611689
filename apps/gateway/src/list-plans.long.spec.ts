// This test is long because it reads the plan of each list in a large organization.
// A short test of the same code: libs/pilot/src/batches/list-plans.spec.ts
import {
  seedLargeOrganization,
  type Harness,
  type LargeOrganization,
  listRequests,
  type ReadPlan,
  readPlans,
  startHarness,
  type Tenant,
} from '@muster/testing';
import { sweepRoiRollups } from '@muster/pilot';
import { Round } from '@muster/platform';
import { refreshCostDays } from '@muster/pricing';
import { Client } from 'pg';
import { gateway } from './gateway.harness';

/**
 * Maximum number of rows that one page of a list may read from tables with 20,000 rows and more, including the rows of
 * related tables. It is more than one page because Postgres prefers to sort a range of rows if the range is short.
 */
const maxLooked = 12_000;
/** Maximum number of 8 KiB pages that a list may read. In the worst case, each row is in a separate page. */
const maxBuffers = 7000;
/**
 * Maximum number of 8 KiB pages that the list of batches may read. The list counts 20 runs of each of 50 batches, and
 * checks whether each run has a retry.
 */
const batchBuffers = 25_000;
/** Maximum number of scans of a log search. Each scan is bounded like a list; the search ends when its page is full. */
const maxScans = 10;

/** Lists of the rows of one resource. They are not tested here, because one resource has few rows. */
const ofOneThing = [
  '/api/agents/{id}/chat',
  '/api/admin/client-pricing/metrics/{id}/steps',
  '/api/workflow-pack-installations/{id}/history',
  '/api/workflow-packs/{id}/versions',
];

interface Parameter {
  in: string;
  name: string;
}

describe('lists of an organization with the data of a year', () => {
  let harness: Harness;
  let tenant: Tenant;
  let house: LargeOrganization;

  beforeAll(async () => {
    harness = await startHarness({ ...gateway, env: { RATE_LIMIT_PER_MINUTE: '1000000' } });
    tenant = await harness.makeTenant();
    const client = new Client({ connectionString: harness.databaseUrl });
    await client.connect();
    house = await seedLargeOrganization(client, { jobs: 20_000, agents: 500, entries: 100_000 }, tenant.organizationId);
    await client.end();
  }, 240_000);
  afterAll(() => harness.close());

  const readListPlans = async (path: string) => {
    const client = path.startsWith('/api/admin') ? tenant.as.super_admin : tenant.as.admin;
    let next: string | null = null;
    const plans = await readPlans(harness.databaseUrl, async () => {
      const { status, body } = await client.get(path);
      if (status !== 200) throw new Error(`${path}: ${JSON.stringify(body)}`);
      next = body.nextCursor ?? null;
    });
    return { plans, next: next as string | null };
  };
  const listPlansOverLimit = (path: string, plans: ReadPlan[]) => {
    const buffers = plans.reduce((sum, plan) => sum + plan.buffers, 0);
    const looked = plans.reduce((sum, plan) => sum + plan.looked, 0);
    const allowed = path.startsWith('/api/batches') ? batchBuffers : maxBuffers;
    if (/\/logs\b/.test(path)) {
      const scans = plans.filter(({ sql }) => sql.includes('scan_end'));
      const large = plans.some((plan) => plan.buffers > allowed || plan.looked > maxLooked);
      return large || scans.length > maxScans ? [{ path, buffers, looked, plans }] : [];
    }
    return buffers > allowed || looked > maxLooked ? [{ path, buffers, looked, plans }] : [];
  };

  it('the requests of this spec cover every list of the API with each of its filters', async () => {
    const { body } = await harness.http.get('/api/openapi.json');
    const requested = listRequests(house).map((path) => new URL(path, 'http://service'));
    const missing: string[] = [];
    for (const [path, { get }] of Object.entries<{ get?: { parameters?: Parameter[] } }>(body.paths)) {
      const names = (get?.parameters ?? []).filter((parameter) => parameter.in === 'query').map(({ name }) => name);
      if (!names.includes('cursor') || ofOneThing.includes(path)) continue;
      const pattern = new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
      const requests = requested.filter(({ pathname }) => pattern.test(pathname));
      if (requests.length === 0) missing.push(path);
      for (const name of names.filter((each) => each !== 'cursor' && each !== 'limit')) {
        if (!requests.some(({ searchParams }) => searchParams.has(name))) missing.push(`${path}?${name}`);
      }
    }
    expect(missing).toEqual([]);
  });

  it('a list reads a bounded number of rows, on its first page and after ten thousand rows', async () => {
    const slow: object[] = [];
    const deep = await findDeepCursors(harness.databaseUrl, house);
    for (const path of listRequests(house)) {
      const { plans, next } = await readListPlans(path);
      slow.push(...listPlansOverLimit(path, plans));
      if (next === null) continue;
      const values = JSON.parse(Buffer.from(next, 'base64url').toString()) as string[];
      // A cursor of a list that is sorted by a value contains the name of the order.
      const sort = values.length > 1 ? (new URL(path, 'http://service').searchParams.get('sort') ?? []) : [];
      const at = deep[(sort.length ? values.slice(0, -1) : values).map(getCursorKind).join()];
      if (!at) continue;
      const cursor = Buffer.from(JSON.stringify(at.concat(sort))).toString('base64url');
      const further = `${path}${path.includes('?') ? '&' : '?'}cursor=${cursor}`;
      slow.push(...listPlansOverLimit(further, (await readListPlans(further)).plans));
    }
    expect(slow).toEqual([]);
  }, 300_000);

  it('costs read no more rows than a list, because they are read from daily rollups', async () => {
    while ((await refreshCostDays(harness.db, house.organizationId)).hasMore);
    const year = ['day', 'workflow', 'schedule', 'model'].map((by) => `from=2025-12-01&to=2026-11-20&groupBy=${by}`);
    for (const query of ['', ...year]) {
      const path = `/api/costs?${query}`;
      expect(listPlansOverLimit(path, (await readListPlans(path)).plans)).toEqual([]);
    }
  });

  it('ROI reads no more rows than a list after the loop has rolled up all days, including empty ones', async () => {
    expect(await sweepRoiRollups(harness.db, new Round('test'))).toMatchObject({ settled: 1 });
    for (const query of ['', 'from=2025-12-01&to=2026-11-20']) {
      const path = `/api/pilot/roi?${query}`;
      expect((await tenant.as.admin.get(path)).body.source).toBe('rollup');
      expect(listPlansOverLimit(path, (await readListPlans(path)).plans)).toEqual([]);
    }
  });

  it('a search finds every match, however many empty pages precede it', async () => {
    const found: string[] = [];
    let cursor = '';
    do {
      const path = `/api/agents/${house.agentIds.busy}/logs?q=needle&limit=2${cursor}`;
      const { body } = await tenant.as.admin.get(path);
      found.push(...body.entries.map(({ id }: { id: string }) => id));
      cursor = body.nextCursor === null ? '' : `&cursor=${body.nextCursor}`;
    } while (cursor);
    expect(found).toEqual(['3', '2', '1']);
    const filter = `agentId=${house.agentIds.busy}&status=cancelled`;
    const { body } = await tenant.as.admin.get(`/api/jobs?${filter}`);
    expect(body.jobs).toHaveLength(1);
    expect(body.nextCursor).toBeNull();
  });
});

function getCursorKind(value: string): string {
  if (/^\d+$/.test(value)) return 'seq';
  if (!value.includes('T')) return 'id';
  return value.length === '2026-01-31T09:30:00.000000Z'.length ? 'instant' : 'time';
}

/** Returns the cursor after ten thousand rows of a list, by the kinds of values that the list is sorted by. */
async function findDeepCursors(databaseUrl: string, { organizationId, entries }: LargeOrganization) {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  const { rows } = await client.query<{ id: string; at: Date }>(
    'SELECT id, queued_at AS at FROM job WHERE organization_id = $1 ORDER BY id DESC OFFSET 10000 LIMIT 1',
    [organizationId],
  );
  await client.end();
  const [{ id, at }] = rows as [{ id: string; at: Date }];
  const cursors: Record<string, string[]> = {
    id: [id],
    seq: [String(entries / 5 - 10_000)],
    'time,id': [at.toISOString(), id],
    'instant,id': [at.toISOString().replace('Z', '000Z'), id],
    // The median duration in milliseconds. All costs are lower, so in a list by cost this cursor is before or after all
    // rows.
    'seq,id': ['64500', id],
  };
  return cursors;
}
