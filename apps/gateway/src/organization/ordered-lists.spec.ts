import { type Harness, makeAgent, makeWorkflow, startHarness, type Tenant } from '@muster/testing';
import { newId } from '@muster/platform';
import { gateway } from '../gateway.harness';

describe('sorted lists of an organization', () => {
  let harness: Harness;
  let tenant: Tenant;
  const agents: string[] = [];
  const workflows: string[] = [];

  beforeAll(async () => {
    harness = await startHarness(gateway);
    tenant = await harness.makeTenant();
    const { organizationId } = tenant;
    for (const [name, status, lastSeen] of [
      ['beta', 'online', new Date('2026-01-02T00:00:00.000Z')],
      ['Alpha', 'stopped', null],
      ['gamma', 'online', new Date('2026-01-03T00:00:00.000Z')],
      ['delta', 'offline', null],
    ] as const) {
      agents.push((await makeAgent(harness.db, { organizationId, name, status, lastSeen })).id);
    }
    for (const name of ['Zebra', 'apple', 'Mango'])
      workflows.push((await makeWorkflow(harness.db, { organizationId, name })).id);
    for (const [n, name] of ['c', 'A', 'b'].entries()) {
      await harness.db.query(
        'system',
        `INSERT INTO schedule (id, organization_id, name, workflow_id, agent_id, cron_expression, timezone, next_run_at, last_run_at)
         VALUES ($1, $2, $3, $4, $5, '0 3 * * *', 'UTC', now() + $6 * interval '1 hour', $7)`,
        [newId(), organizationId, `Schedule ${name}`, workflows[0], agents[0], 3 - n, n === 1 ? new Date() : null],
      );
      await harness.db.query(
        'system',
        `INSERT INTO batch (id, organization_id, workflow_id, workflow_revision, total, rejected, created_by)
         VALUES ($1, $2, $3, 1, $4, 0, 'test')`,
        [newId(), organizationId, workflows[n], [7, 3, 7][n]],
      );
    }
    const other = await harness.makeTenant();
    await makeAgent(harness.db, { organizationId: other.organizationId, name: 'aaa' });
  });
  afterAll(() => harness.close());

  /** Reads all rows of a list, two per page. */
  async function readAllPages<T>(path: string, items: string, select: (row: any) => T): Promise<T[]> {
    const found: T[] = [];
    for (let cursor = ''; ;) {
      const { status, body } = await tenant.api.get(`${path}${path.includes('?') ? '&' : '?'}limit=2${cursor}`);
      if (status !== 200) throw new Error(`${path}: ${JSON.stringify(body)} ${harness.logs.slice(-3).join()}`);
      found.push(...body[items].map(select));
      if (body.nextCursor === null) return found;
      cursor = `&cursor=${body.nextCursor}`;
    }
  }
  const listNames = (path: string, items: string) => readAllPages(path, items, ({ name }) => String(name));

  it.each([
    ['name', ['Alpha', 'beta', 'delta', 'gamma']],
    ['-name', ['gamma', 'delta', 'beta', 'Alpha']],
    ['lastSeen', ['beta', 'gamma', 'Alpha', 'delta']],
    ['-lastSeen', ['gamma', 'beta', 'delta', 'Alpha']],
    ['status', ['delta', 'beta', 'gamma', 'Alpha']],
    ['createdAt', ['beta', 'Alpha', 'gamma', 'delta']],
    ['-createdAt', ['delta', 'gamma', 'Alpha', 'beta']],
  ])(
    'a list of agents that is sorted by %s has empty values last and contains each agent once',
    async (sort, expected) => {
      expect(await listNames(`/api/agents?sort=${sort}`, 'agents')).toEqual(expected);
    },
  );

  it('a filtered list of agents can be sorted', async () => {
    expect(await listNames('/api/agents?sort=-name&status=online', 'agents')).toEqual(['gamma', 'beta']);
    expect(await listNames('/api/agents?sort=name&q=ta', 'agents')).toEqual(['beta', 'delta']);
  });

  it('workflows, schedules and batches can be sorted and searched', async () => {
    expect(await listNames('/api/workflows?sort=name', 'workflows')).toEqual(['apple', 'Mango', 'Zebra']);
    expect(await listNames('/api/workflows?sort=-createdAt', 'workflows')).toEqual(['Mango', 'apple', 'Zebra']);
    expect(await listNames('/api/workflows?sort=updatedAt&q=A', 'workflows')).toEqual(['Zebra', 'apple', 'Mango']);
    const listScheduleNames = (query: string) => listNames(`/api/schedules?${query}`, 'schedules');
    expect(await listScheduleNames('sort=name')).toEqual(['Schedule A', 'Schedule b', 'Schedule c']);
    expect(await listScheduleNames('sort=nextRunAt')).toEqual(['Schedule b', 'Schedule A', 'Schedule c']);
    expect(await listScheduleNames('sort=-lastRunAt')).toEqual(['Schedule A', 'Schedule b', 'Schedule c']);
    expect(await listScheduleNames('q=LE+b')).toEqual(['Schedule b']);
    const listBatchOrder = (query: string) =>
      readAllPages(`/api/batches?${query}`, 'batches', ({ workflowId }) => workflows.indexOf(workflowId));
    expect(await listBatchOrder('')).toEqual([2, 1, 0]);
    expect(await listBatchOrder('sort=createdAt')).toEqual([0, 1, 2]);
    expect(await listBatchOrder('sort=-total')).toEqual([2, 0, 1]);
    expect(await listBatchOrder('sort=total')).toEqual([1, 0, 2]);
    expect(await listBatchOrder('q=mango')).toEqual([2]);
  });

  it('a sorted list refuses an unknown order and a cursor of another order', async () => {
    const { body } = await tenant.api.get('/api/agents?sort=name&limit=1');
    for (const query of [
      'sort=boot',
      'sort=--name',
      `cursor=${body.nextCursor}`,
      `sort=lastSeen&cursor=${body.nextCursor}`,
      `sort=status&cursor=${body.nextCursor}`,
      `sort=-name&cursor=${body.nextCursor}`,
    ]) {
      expect((await tenant.api.get(`/api/agents?${query}`)).status).toBe(400);
    }
  });
});
