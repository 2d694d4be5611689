import { type Answer, type Harness, makeAgent, makeJob, startHarness, type Tenant } from '@muster/testing';
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
describe('limits of requests', () => {
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
      name: 'the size of a video for an analysis',
      most: 500 * mebibyte,
      status: 413,
      send: (size) => tenant.as.member.post('/api/uploads', { contentType: 'video/mp4', size }),
    },
    {
      name: 'the size of a file of a worker',
      most: 100 * mebibyte,
      status: 413,
      send: (size) =>
        tenant.worker.post(`/api/agents/${agentId}/uploads`, { filename: 'a.txt', contentType: 'text/plain', size }),
    },
    {
      name: 'the size of an image of a worker',
      most: 100 * mebibyte,
      status: 413,
      send: async (size) =>
        tenant.worker.post(`/api/agents/${agentId}/commands/${await startImaging()}/uploads`, {
          objects: [{ name: 'composite', size }],
        }),
    },
    {
      name: 'the number of days of a list of ended runs per hour',
      most: 31,
      status: 400,
      send: (days) => tenant.api.get(`/api/jobs/activity?from=${dayAfter(0)}&to=${dayAfter(days)}`),
    },
    {
      name: 'the number of days of a machine’s time',
      most: 92,
      status: 400,
      send: (days) =>
        tenant.api.get(`/api/agents/${agentId}/machine-time?from=${dateAfter(0)}&to=${dateAfter(days - 1)}`),
    },
    {
      name: 'the characters of an account’s name',
      most: 100,
      status: 400,
      send: async (length) => {
        await tenant.as.admin.put('/api/vault/LIMIT_PASSWORD', { value: 'secret' });
        const body = { pool: 'limits', vaultKeys: { password: 'LIMIT_PASSWORD' } };
        return tenant.as.admin.put(`/api/accounts/${'x'.repeat(length)}`, body);
      },
    },
    {
      name: 'the secrets of a webhook endpoint',
      most: 5,
      status: 409,
      send: async (count) => {
        const body = { url: `https://93.184.215.14/${newId()}`, events: ['pack.promoted'] };
        const { id } = (await tenant.as.admin.post('/api/webhook-endpoints', body)).body;
        return repeat(count - 1, () => tenant.as.admin.post(`/api/webhook-endpoints/${id}/rotate-secret`, {}));
      },
    },
    {
      name: 'the open questions of a run',
      most: 50,
      status: 409,
      send: async (count) => {
        const { id } = await makeJob(harness.db, {
          ...{ organizationId: tenant.organizationId, status: 'running', commandId: newId() },
          startedAt: new Date(),
        });
        return repeat(count, (at) => {
          const body = { questionKey: `key ${at}`, question: 'Continue?', kind: 'confirm', timeoutSeconds: 60 };
          return tenant.worker.post(`/api/jobs/${id}/questions`, body);
        });
      },
    },
    {
      name: 'the output of a command',
      most: 4 * mebibyte,
      status: 413,
      send: async (size) =>
        tenant.worker.post(`/api/agents/${agentId}/commands/${await startImaging()}/result`, {
          status: 'success',
          output: 'x'.repeat(size),
        }),
    },
    {
      name: 'the roles of an organization',
      most: 100,
      status: 409,
      send: async (count) => {
        await harness.db.query('system', 'DELETE FROM own_role WHERE organization_id = $1', [tenant.organizationId]);
        await harness.db.query(
          'system',
          `INSERT INTO own_role (organization_id, name, permissions)
           SELECT $1, 'Role ' || n, '{runs.read}' FROM generate_series(2, $2::int) n`,
          [tenant.organizationId, count],
        );
        return tenant.as.admin.post('/api/roles', { name: 'Another', permissions: ['runs.read'] });
      },
    },
    {
      name: 'the number of days of costs, three years,',
      most: 365 + 365 + 366,
      status: 400,
      send: (days) => tenant.api.get(`/api/costs?from=${dateAfter(0)}&to=${dateAfter(days)}`),
    },
  ];

  /** Returns the last answer to this number of requests. */
  const repeat = async (count: number, send: (at: number) => Promise<Answer>): Promise<Answer> => {
    let last!: Answer;
    for (let at = 1; at <= count; at += 1) last = await send(at);
    return last;
  };

  it.each(limits.map((limit) => [limit.name, limit] as const))(
    '%s may reach its limit but not exceed it',
    async (_, limit) => {
      const { most, status, send } = limit;
      const accepted = await send(most);
      expect([accepted.status < 300, accepted.body]).toEqual([true, expect.anything()]);
      expect((await send(most + 1)).status).toBe(status);
    },
  );
});
