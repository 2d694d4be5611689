import { type Answer, type Harness, makeAgent, startHarness, type Tenant } from '@muster/testing';
import { newId } from '@muster/platform';
import { standalone } from './standalone';

const mebibyte = 1024 * 1024;

interface Limit {
  name: string;
  /** The largest value that is accepted. A request with one more is refused. */
  most: number;
  status: number;
  send: (value: number) => Promise<Answer>;
}

/** Limits on sizes and periods that depend on more than the type of a field: the largest value is still accepted. */
describe('the limit of', () => {
  let harness: Harness;
  let tenant: Tenant;
  let agentId: string;

  beforeAll(async () => {
    harness = await startHarness(standalone);
    tenant = await harness.makeTenant();
    agentId = (await makeAgent(harness.db, { organizationId: tenant.organizationId, status: 'online' })).id;
  });
  afterAll(() => harness.close());

  const dayAfter = (days: number) => new Date(Date.UTC(2026, 0, 1 + days)).toISOString();
  const dateAfter = (days: number) => dayAfter(days).slice(0, 10);

  /** Returns the id of a pending command of the imaging. */
  const startImaging = async (): Promise<string> => {
    const id = newId();
    await harness.db.query(
      'system',
      `INSERT INTO agent_command (id, organization_id, agent_id, kind, payload, deadline, status)
       VALUES ($1, $2, $3, 'imaging_composite', '{"patimageid": "7"}', muster_now() + interval '1 hour', 'pending')`,
      [id, tenant.organizationId, agentId],
    );
    return id;
  };

  const limits: Limit[] = [
    {
      name: 'a video for an analysis',
      most: 500 * mebibyte,
      status: 413,
      send: (size) => tenant.as.member.post('/api/uploads', { contentType: 'video/mp4', size }),
    },
    {
      name: 'a file of a worker',
      most: 100 * mebibyte,
      status: 413,
      send: (size) =>
        tenant.worker.post(`/api/agents/${agentId}/uploads`, { filename: 'a.txt', contentType: 'text/plain', size }),
    },
    {
      name: 'an image of a worker',
      most: 100 * mebibyte,
      status: 413,
      send: async (size) =>
        tenant.worker.post(`/api/agents/${agentId}/commands/${await startImaging()}/uploads`, {
          objects: [{ name: 'composite', size }],
        }),
    },
    {
      name: 'the days of the ended runs of each hour',
      most: 31,
      status: 400,
      send: (days) => tenant.api.get(`/api/jobs/activity?from=${dayAfter(0)}&to=${dayAfter(days)}`),
    },
    {
      name: 'the days of a machine’s time',
      most: 92,
      status: 400,
      send: (days) =>
        tenant.api.get(`/api/agents/${agentId}/machine-time?from=${dateAfter(0)}&to=${dateAfter(days - 1)}`),
    },
    {
      name: 'the days of the costs, which are three years',
      most: 365 + 365 + 366,
      status: 400,
      send: (days) => tenant.api.get(`/api/costs?from=${dateAfter(0)}&to=${dateAfter(days)}`),
    },
  ];

  it.each(limits.map((limit) => [limit.name, limit] as const))('%s is the largest accepted value', async (_, limit) => {
    const { most, status, send } = limit;
    const accepted = await send(most);
    expect([accepted.status < 300, accepted.body]).toEqual([true, expect.anything()]);
    expect((await send(most + 1)).status).toBe(status);
  });
});
