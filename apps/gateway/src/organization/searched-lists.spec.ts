import { type Harness, makeAgent, makeJob, makeWorkflow, startHarness, type Tenant } from '@muster/testing';
import { newId } from '@muster/platform';
import { bug, sendReport } from '../feedback/feedback.harness';
import { gateway } from '../gateway.harness';

interface Searched {
  path: string;
  items: string;
  /** Returns the name of a row. */
  named: (row: any) => string;
  /** The names of two rows. Only the second name contains the texts in `parts`. */
  names: [string, string];
  parts: string[];
}

const lists: Searched[] = [
  {
    path: '/api/users',
    items: 'users',
    named: ({ email }) => email,
    names: ['alba@searched.example', 'borea@searched.example'],
    parts: ['BOREA', 'rea@sea'],
  },
  {
    path: '/api/api-keys',
    items: 'apiKeys',
    named: ({ name }) => name,
    names: ['Nightly alba', '100% borea_key'],
    parts: ['BOREA', '0% b', '_key'],
  },
  {
    path: '/api/vault',
    items: 'secrets',
    named: ({ key }) => key,
    names: ['ALBA_PASSWORD', 'BOREA_PASSWORD'],
    parts: ['borea_p'],
  },
  {
    path: '/api/webhook-endpoints',
    items: 'webhookEndpoints',
    named: ({ description }) => description,
    names: ['To alba', 'To borea'],
    parts: ['o BOREA', '/to-borea'],
  },
  {
    path: '/api/workflow-packs',
    items: 'packs',
    named: ({ name }) => name,
    names: ['Alba claims', 'Borea claims'],
    parts: ['borea C', 'borea.process'],
  },
  {
    path: '/api/feedback-submissions',
    items: 'submissions',
    named: ({ title }) => title,
    names: ['Alba is slow', 'Borea is slow'],
    parts: ['BOREA is', 'seen at borea'],
  },
  {
    path: '/api/dead-letters',
    items: 'deadLetters',
    named: ({ name }) => name,
    names: ['alba-message', 'borea-message'],
    parts: ['Borea-', 'no route to borea'],
  },
  {
    path: '/api/admin/organizations',
    items: 'organizations',
    named: ({ name }) => name,
    names: ['Alba Searched Dental', 'Borea Searched Dental'],
    parts: ['borea searched'],
  },
];

describe('searched lists', () => {
  let harness: Harness;
  let tenant: Tenant;

  beforeAll(async () => {
    harness = await startHarness(gateway);
    tenant = await harness.makeTenant('Alba Searched Dental');
    await harness.makeTenant('Borea Searched Dental');
    const { admin } = tenant.as;
    for (const name of ['alba', 'borea'] as const) {
      const titled = name === 'alba' ? 'Alba' : 'Borea';
      const responses = await Promise.all([
        admin.post('/api/users', { email: `${name}@searched.example`, password: 'a good password', role: 'viewer' }),
        admin.post('/api/api-keys', { name: name === 'alba' ? 'Nightly alba' : '100% borea_key', scope: 'api' }),
        admin.put(`/api/vault/${name.toUpperCase()}_PASSWORD`, { value: 'secret' }),
        admin.post('/api/webhook-endpoints', {
          url: `https://example.com/to-${name}`,
          description: `To ${name}`,
          events: ['*'],
        }),
        admin.put(`/api/process-library/${name}.process`, { name: `${name} process` }),
        sendReport(admin, { ...bug, title: `${titled} is slow`, description: `Seen at ${name}.` }),
      ]);
      expect(responses.map(({ status }) => status).filter((status) => status >= 300)).toEqual([]);
      await admin.post('/api/workflow-packs', { workerKey: `${name}.process`, name: `${titled} claims` });
      await harness.db.query(
        'system',
        `INSERT INTO outbox (id, queue, name, payload, organization_id, next_publish_at, last_error)
         VALUES ($1, 'dispatch', $2, '{}', $3, NULL, $4)`,
        [newId(), `${name}-message`, tenant.organizationId, `no route to ${name}`],
      );
    }
    const agent = await makeAgent(harness.db, { organizationId: tenant.organizationId });
    const workflow = await makeWorkflow(harness.db, { organizationId: tenant.organizationId });
    for (const [name, enabled] of [
      ['Alba nightly', true],
      ['Borea nightly', false],
    ] as const) {
      const body = { name, scriptId: workflow.id, agentId: agent.id, cronExpression: '0 3 * * *', enabled };
      expect((await tenant.as.member.post('/api/schedules', body)).status).toBe(201);
    }
  });
  afterAll(() => harness.close());

  const readNames = async ({ path, items, named }: Searched, query: string) => {
    const client = path.startsWith('/api/admin') ? tenant.as.super_admin : tenant.as.admin;
    const { status, body } = await client.get(`${path}?${query}`);
    if (status !== 200) throw new Error(`${path}?${query}: ${JSON.stringify(body)}`);
    return body[items].map(named) as string[];
  };

  it.each(lists)('a search in $path finds only names that contain the searched text in any case', async (list) => {
    expect(await readNames(list, 'limit=200')).toEqual(expect.arrayContaining(list.names));
    for (const part of list.parts) {
      expect([part, await readNames(list, `q=${encodeURIComponent(part)}`)]).toEqual([part, [list.names[1]]]);
    }
    expect(await readNames(list, 'q=nobody-is-called-so')).toEqual([]);
    // The characters % and _ are searched literally and are not wildcards.
    expect(await readNames(list, 'q=%25%25')).toEqual([]);
  });

  it('lists ignore case in every alphabet when they are searched and sorted by name', async () => {
    const { organizationId } = tenant;
    const { api } = tenant;
    for (const name of ['Zahn', 'ÉTÉ und Ärzte', 'Журнал', 'apple', 'Ähre']) {
      await makeAgent(harness.db, { organizationId, name: `Case ${name}` });
      await makeWorkflow(harness.db, { organizationId, name: `Case ${name}` });
    }
    const searchNames = async (list: 'agents' | 'workflows', query: string) =>
      (await api.get(`/api/${list}?${query}`)).body[list].map(({ name }: { name: string }) => name.slice(5));
    const searchJobs = async (q: string) => (await api.get(`/api/jobs?q=${encodeURIComponent(q)}`)).body.jobs;
    for (const [q, name] of [
      ['été UND ärzte', 'ÉTÉ und Ärzte'],
      ['ЖУРНАЛ', 'Журнал'],
      ['ASE äHRE', 'Ähre'],
    ] as const) {
      for (const list of ['agents', 'workflows'] as const) {
        expect([q, await searchNames(list, `q=${encodeURIComponent(q)}`)]).toEqual([q, [name]]);
      }
    }
    const sorted = ['Ähre', 'apple', 'ÉTÉ und Ärzte', 'Zahn', 'Журнал'];
    for (const list of ['agents', 'workflows'] as const) {
      expect(await searchNames(list, 'q=case&sort=name')).toEqual(sorted);
      expect(await searchNames(list, 'q=case&sort=-name')).toEqual(sorted.toReversed());
      // The cursor uses the same collation as the order.
      const { body } = await api.get(`/api/${list}?q=case&sort=name&limit=2`);
      expect(await searchNames(list, `q=case&sort=name&cursor=${body.nextCursor}`)).toEqual(sorted.slice(2));
    }
    const { id: agentId } = await makeAgent(harness.db, { organizationId, name: 'Speaks' });
    const { id: workflowId } = await makeWorkflow(harness.db, { organizationId, name: 'Übertrag' });
    const { id } = await makeJob(harness.db, { organizationId, workflowId, agentId, error: 'Größe FÄLLT' });
    for (const q of ['übertrag', 'größe fällt']) expect(await searchJobs(q)).toMatchObject([{ id }]);
    await harness.db.query(
      'system',
      `INSERT INTO timeline_entry (agent_id, seq, organization_id, kind, level, message)
       VALUES ($1, 1, $2, 'execution', 'info', 'ÖFFNET 100%_\\ Portal')`,
      [agentId, organizationId],
    );
    const searchLogEntries = async (q: string) =>
      (await api.get(`/api/agents/${agentId}/logs?q=${encodeURIComponent(q)}`)).body.entries;
    expect(await searchLogEntries('öffnet 100%_\\ p')).toHaveLength(1);
    expect(await searchLogEntries('öffnet%portal')).toEqual([]);
  });

  it('a search continues after the last row of its previous page', async () => {
    const [users] = lists;
    const first = await tenant.as.admin.get('/api/users?q=searched.example&limit=1');
    const second = await tenant.as.admin.get(`/api/users?q=searched.example&limit=1&cursor=${first.body.nextCursor}`);
    expect([...first.body.users, ...second.body.users].map(users!.named).sort()).toEqual(users!.names);
    expect(second.body.nextCursor).toBeNull();
  });

  it('audit entries are found by part of their action or target', async () => {
    const searchAuditActions = async (q: string) =>
      (await tenant.as.admin.get(`/api/audit?q=${encodeURIComponent(q)}`)).body.entries.map(
        (entry: any) => entry.action,
      );
    expect(await searchAuditActions('BOREA_PASSWORD')).toEqual(['secret.create']);
    expect(new Set(await searchAuditActions('webhook_endpoint.'))).toEqual(new Set(['webhook_endpoint.create']));
    expect(await searchAuditActions('nobody-is-called-so')).toEqual([]);
  });

  it('schedules can be listed by whether they are enabled', async () => {
    const listScheduleNames = async (query: string) =>
      (await tenant.as.viewer.get(`/api/schedules?${query}`)).body.schedules.map(({ name }: { name: string }) => name);
    expect(await listScheduleNames('enabled=false')).toEqual(['Borea nightly']);
    expect(await listScheduleNames('enabled=true')).toEqual(['Alba nightly']);
    expect(await listScheduleNames('enabled=true&q=borea')).toEqual([]);
    expect((await tenant.as.viewer.get('/api/schedules?enabled=yes')).status).toBe(400);
  });
});
