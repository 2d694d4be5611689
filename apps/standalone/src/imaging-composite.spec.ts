import { FakeMachines, type Harness, type HttpClient, startHarness, waitFor } from '@muster/testing';
import { newId } from '@muster/platform';
import { standalone } from './standalone';

/** A name that occurs nowhere else, so that every stored copy of it can be found. */
const patient = 'Zyxwvut, Quillandra';

describe('a composite of a patient’s teeth', () => {
  let harness: Harness;
  let machines: FakeMachines;
  const requestComposite = (id: string, body: object = {}, client: HttpClient = machines.tenant.api) =>
    client.post(`/api/agents/${id}/imaging-composite`, { patientLookup: patient, teeth: [3, 14], ...body });
  const requestStatus = (id: string, commandId: string, client: HttpClient = machines.tenant.api) =>
    client.get(`/api/agents/${id}/imaging-composite/status?commandId=${commandId}`);
  const startComposite = async (online: { id: string }) => (await requestComposite(online.id)).body.commandId as string;

  beforeAll(async () => {
    const env = { OUTBOUND_ALLOW: '127.0.0.0/8', COMMAND_SWEEP_MS: '50', OUTBOX_SWEEP_MS: '100' };
    harness = await startHarness({ ...standalone, env });
    machines = await FakeMachines.create(harness);
  });
  afterAll(async () => {
    await harness.close();
    await machines.close();
  });

  it('a request for a composite image sends its lookup unchanged to the worker, and returns a URL of the image', async () => {
    const { id, client, worker } = await machines.makeOnlineAgent();
    const started = await requestComposite(id);
    expect([started.status, Object.keys(started.body)]).toEqual([202, ['commandId']]);
    const { commandId } = started.body;
    const location = `/api/agents/${id}/imaging-composite/status?commandId=${commandId}`;
    expect(started.headers.get('location')).toBe(location);
    const [command] = await waitFor('the push', () => worker.received.length > 0 && worker.received);
    expect(command).toMatchObject({
      commandId,
      kind: 'imaging_composite',
      payload: { patientLookup: patient, teeth: [3, 14], secretNames: [] },
    });
    const minutes = (Date.parse(command!.deadline) - harness.db.now().getTime()) / 60_000;
    expect(minutes).toBeGreaterThan(14);
    expect(minutes).toBeLessThanOrEqual(15);
    expect((await requestStatus(id, commandId)).body).toEqual({ status: 'pending' });

    const png = Buffer.from('an image');
    const response = await client.post(`/api/agents/${id}/commands/${commandId}/uploads`, {
      objects: [{ name: 'composite', size: png.length }],
    });
    const key = `imaging/comp/${machines.tenant.organizationId}/${commandId}.png`;
    const [ticket] = response.body.uploads;
    expect([response.status, ticket.key]).toEqual([201, key]);
    await fetch(ticket.uploadUrl, { method: ticket.method, headers: ticket.headers, body: png });
    const output = '__IMAGING_COMP_START__\n{"composite_key":"elsewhere/key.png"}\n__IMAGING_COMP_END__\n';
    await client.post(`/api/agents/${id}/commands/${commandId}/result`, { status: 'success', output });
    const { body } = await requestStatus(id, commandId, machines.tenant.as.viewer);
    expect(body).toEqual({ status: 'success', output, compositeUrl: expect.any(String) });
    // The URL has the key of the upload ticket, not the key that the worker reports.
    expect(new URL(body.compositeUrl).pathname).toContain(key);
    const picture = await fetch(body.compositeUrl);
    expect([picture.status, await picture.text()]).toEqual([200, 'an image']);
    expect(picture.headers.get('content-type')).toBe('image/png');
  });

  it.each([
    ['no teeth', { teeth: [] }],
    ['33 teeth', { teeth: Array.from({ length: 33 }, (_, at) => at + 1) }],
    ['a tooth twice', { teeth: [3, 3] }],
    ['tooth 0', { teeth: [0] }],
    ['tooth 33', { teeth: [33] }],
    ['half a tooth', { teeth: [1.5] }],
    ['a tooth as a text', { teeth: ['3'] }],
    ['a primary tooth', { teeth: ['A'] }],
    ['teeth that are not a list', { teeth: 3 }],
    ['no lookup', { patientLookup: undefined }],
    ['an empty lookup', { patientLookup: '' }],
    ['a lookup of spaces', { patientLookup: '   ' }],
    ['a lookup of 10,000 characters', { patientLookup: patient.repeat(10_000 / patient.length) }],
    ['a numeric lookup', { patientLookup: 1234 }],
    ['NUL in a lookup', { patientLookup: `${patient}\0` }],
    ['an unknown field', { more: patient }],
  ])(
    'a request for a composite image with %s is refused before a command is sent, and the error does not contain the patient’s data',
    async (_, body) => {
      const { id } = await machines.makeOnlineAgent();
      const answer = await requestComposite(id, body);
      expect([answer.status, answer.body.code]).toEqual([400, 'invalid_payload']);
      expect(answer.text).not.toContain('Zyxwvut');
      expect(await machines.querySql('SELECT FROM agent_command WHERE agent_id = $1', [id])).toHaveLength(0);
    },
  );

  it('a request for a composite image accepts all 32 teeth in any order', async () => {
    const { id, worker } = await machines.makeOnlineAgent();
    const teeth = Array.from({ length: 32 }, (_, at) => 32 - at);
    expect((await requestComposite(id, { teeth })).status).toBe(202);
    const [command] = await waitFor('the push', () => worker.received.length > 0 && worker.received);
    expect(command!.payload['teeth']).toEqual(teeth);
  });

  it('only members can request a composite image, which is hidden from other organizations', async () => {
    const { id, client } = await machines.makeOnlineAgent();
    const { tenant } = machines;
    expect((await requestComposite(id, {}, tenant.as.viewer)).status).toBe(403);
    expect((await requestComposite(id, {}, client)).status).toBe(403);
    expect((await requestComposite(id, {}, harness.http)).status).toBe(401);
    const commandId = await startComposite({ id });
    const other = await FakeMachines.create(harness);
    const otherAgent = await other.makeOnlineAgent();
    for (const answer of [
      await requestComposite(id, {}, other.tenant.api),
      await requestStatus(id, commandId, other.tenant.api),
      await requestStatus(otherAgent.id, commandId, other.tenant.api),
      await requestStatus(id, newId()),
      await requestComposite(newId()),
      await machines.tenant.api.get(`/api/agents/${id}/run-snippet/status?commandId=${commandId}`),
      await machines.tenant.api.get(`/api/agents/${id}/imaging-images/status?commandId=${commandId}`),
    ]) {
      expect(answer.status).toBe(404);
    }
    await other.close();
  });

  it('requests with the same Idempotency-Key start one command for a composite image', async () => {
    const { id } = await machines.makeOnlineAgent();
    const client = machines.tenant.api.with({ 'idempotency-key': newId() });
    const [first, second] = [await requestComposite(id, {}, client), await requestComposite(id, {}, client)];
    expect(second.body).toEqual(first.body);
    expect((await requestComposite(id, { teeth: [4] }, client)).status).toBe(422);
  });

  it('a composite image’s patient name is stored only in the output, and sealed in the payload until the command ends', async () => {
    const online = await machines.makeOnlineAgent();
    const keyed = machines.tenant.api.with({ 'idempotency-key': newId() });
    const { commandId } = (await requestComposite(online.id, {}, keyed)).body;
    await waitFor('the push', () => online.worker.received.length > 0);
    expect((await machines.readCommandRow(commandId)).payload).toEqual({ teeth: [3, 14], sealed: expect.any(Object) });
    expect(await findTablesContaining('Zyxwvut')).toEqual([]);
    const output = JSON.stringify({ patient: { name: patient } });
    await online.client.post(`/api/agents/${online.id}/commands/${commandId}/result`, { status: 'success', output });
    expect((await machines.readCommandRow(commandId)).payload).toEqual({ teeth: [3, 14] });
    expect(await findTablesContaining('Zyxwvut')).toEqual(['agent_command']);
    expect(harness.logs.join('')).not.toContain('Zyxwvut');
    const timeline = await machines.tenant.as.admin.get(`/api/agents/${online.id}/logs?limit=200`);
    const audited = await machines.tenant.as.admin.get('/api/audit?limit=200');
    expect(audited.text).toContain(commandId);
    for (const { status, text } of [timeline, audited]) {
      expect(status).toBe(200);
      expect(text).not.toContain('Zyxwvut');
    }
  });

  it('the sealed lookup of a composite image is deleted if its command times out or its agent is terminated', async () => {
    const [late, ended] = [await machines.makeOnlineAgent(), await machines.makeOnlineAgent()];
    const overdue = await startComposite(late);
    await machines.querySql(`UPDATE agent_command SET deadline = now() - interval '1 s' WHERE id = $1`, [overdue]);
    await waitFor('the command to fail', async () => (await machines.readCommandRow(overdue)).status === 'failed');
    const terminated = await startComposite(ended);
    await machines.tenant.as.admin.delete(`/api/agents/${ended.id}`);
    for (const commandId of [overdue, terminated]) {
      expect(await machines.readCommandRow(commandId)).toMatchObject({ status: 'failed', payload: { teeth: [3, 14] } });
      expect((await machines.readCommandRow(commandId)).payload).not.toHaveProperty('sealed');
    }
  });

  async function findTablesContaining(text: string): Promise<string[]> {
    const tables = await machines.querySql(
      `SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition AND relnamespace = 'public'::regnamespace`,
    );
    const found = await Promise.all(
      tables.map(async ({ relname }) => {
        const [row] = await machines.querySql(
          `SELECT EXISTS (SELECT FROM "${relname}" t WHERE t::text LIKE '%' || $1 || '%') AS found`,
          [text],
        );
        return row.found ? [relname as string] : [];
      }),
    );
    return [...new Set(found.flat())].sort();
  }
});
