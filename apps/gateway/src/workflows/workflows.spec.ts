import { newId } from '@muster/platform';
import { runBehindLock, type Harness, makeAgent, startHarness, type Tenant } from '@muster/testing';
import { gateway } from '../gateway.harness';

const open = { id: 'open', type: 'navigate', url: 'https://example.com/{{CLAIM_ID}}' };
const send = { id: 'send', type: 'click', selectors: [['#send']], offsetX: 1, offsetY: 1 };

describe('workflows', () => {
  let harness: Harness;
  let tenant: Tenant;
  let other: Tenant;

  beforeAll(async () => {
    harness = await startHarness(gateway);
    tenant = await harness.makeTenant();
    other = await harness.makeTenant();
  });
  afterAll(() => harness.close());

  const createWorkflow = async (body: object = {}) => {
    const created = await tenant.api.post('/api/workflows', { name: 'EOBs', description: 'd', variables: [], ...body });
    expect(created.status).toBe(201);
    return created;
  };
  const saveWorkflow = (id: string, body: object, ifMatch?: string) =>
    tenant.api.with(ifMatch ? { 'if-match': ifMatch } : {}).post(`/api/workflows/${id}/save`, body);

  it('a created workflow is returned unchanged, with or without a script and steps', async () => {
    const bare = await createWorkflow({ variables: ['CLAIM_ID'] });
    expect(bare.headers.get('location')).toBe(`/api/workflows/${bare.body.id}`);
    expect(bare.body).toMatchObject({ name: 'EOBs', variables: ['CLAIM_ID'], script: '', steps: [], revision: 1 });
    const full = await createWorkflow({ script: 'print(1)\n', steps: [open], variables: ['CLAIM_ID'] });
    const read = await tenant.as.viewer.get(`/api/workflows/${full.body.id}`);
    expect(read.body).toEqual(full.body);
    expect(read.headers.get('etag')).toBe(full.headers.get('etag'));
  });

  it('concurrent saves and restores of a workflow are executed one after the other', async () => {
    const { id } = (await createWorkflow()).body;
    const answers = await runBehindLock(
      harness.db,
      (tx) => tx.query('SELECT FROM workflow WHERE id = $1 FOR UPDATE', [id]),
      () => [
        saveWorkflow(id, { script: 'print(1)' }),
        saveWorkflow(id, { script: 'print(2)' }),
        tenant.api.post(`/api/workflows/${id}/revisions/1/restore`, {}),
      ],
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(answers.map(({ body }) => body.revision).sort()).toEqual([2, 3, 4]);
  });

  it.each([
    ['no name', { name: undefined }],
    ['an empty name', { name: '' }],
    ['variables that are not texts', { variables: [1] }],
    ['an unknown field', { surprise: 1 }],
    ['steps that are not objects', { steps: ['a'] }],
  ])('a workflow with %s is refused', async (_, body) => {
    const answer = await tenant.api.post('/api/workflows', { name: 'n', description: '', variables: [], ...body });
    expect([answer.status, answer.body.code]).toEqual([400, 'invalid_payload']);
  });

  it.each(['PATH', 'PYTHONPATH', 'MUSTER_JOB_ID', 'AGENT_ID', 'LD_PRELOAD', '1ST', 'a-b', ''])(
    'a workflow with the variable %p, which a script’s environment cannot have, is refused',
    async (name) => {
      const answer = await tenant.api.post('/api/workflows', { name: 'n', variables: ['CLAIM_ID', name] });
      expect([answer.status, answer.body.errors[0].field]).toEqual([400, 'variables.1']);
      const { body } = await createWorkflow();
      expect((await saveWorkflow(body.id, { variables: [name] })).status).toBe(400);
      expect((await tenant.api.get(`/api/workflows/${body.id}`)).body.revision).toBe(1);
    },
  );

  it('a workflow with a repeated variable is refused', async () => {
    const answer = await tenant.api.post('/api/workflows', { name: 'n', variables: ['A', 'A'] });
    expect(answer.status).toBe(400);
  });

  it('a workflow warns about unused variables, and about names that only a vault key can fill', async () => {
    const steps = [open, { id: 'type', type: 'change', selectors: ['#p'], value: '{{ PORTAL_PASSWORD }}' }];
    const { body } = await createWorkflow({
      variables: ['CLAIM_ID', 'PAYER', 'NPI'],
      steps,
      script: "os.environ['NPI']",
    });
    expect(body.warnings).toEqual([
      { stepId: null, message: 'nothing uses the variable PAYER' },
      {
        stepId: 'type',
        message: 'the steps use {{PORTAL_PASSWORD}}, which is not a variable: each run must provide it as a vault key',
      },
    ]);
    expect((await createWorkflow({ variables: ['CLAIM_ID'] })).body.warnings).toEqual([]);
  });

  it('a save of a workflow, but not a rename, creates a revision that keeps omitted fields', async () => {
    const { body } = await createWorkflow({ script: 'a', steps: [open], variables: ['CLAIM_ID'] });
    const saved = await saveWorkflow(body.id, { script: 'b' });
    expect(saved.body).toMatchObject({ revision: 2, script: 'b', steps: [open], variables: ['CLAIM_ID'] });
    const renamed = await tenant.api.patch(`/api/workflows/${body.id}`, { name: 'Other' });
    expect(renamed.body).toMatchObject({ revision: 2, name: 'Other', script: 'b' });
    expect((await saveWorkflow(body.id, {})).status).toBe(400);
    expect((await tenant.api.patch(`/api/workflows/${body.id}`, { script: 'c' })).status).toBe(400);
    const { revisions } = (await tenant.api.get(`/api/workflows/${body.id}/revisions`)).body;
    expect(revisions.map((row: any) => [row.revision, row.script])).toEqual([
      [2, 'b'],
      [1, 'a'],
    ]);
  });

  it('restoring a workflow to an earlier revision creates a new revision', async () => {
    const { body } = await createWorkflow({ script: 'a', steps: [open], variables: ['CLAIM_ID'] });
    await saveWorkflow(body.id, { script: 'b', steps: [send], variables: [] });
    const restored = await tenant.api.post(`/api/workflows/${body.id}/revisions/1/restore`);
    expect(restored.body).toMatchObject({ revision: 3, script: 'a', steps: [open], variables: ['CLAIM_ID'] });
    const { revisions } = (await tenant.api.get(`/api/workflows/${body.id}/revisions?limit=1`)).body;
    expect(revisions).toMatchObject([{ revision: 3, restoredFrom: 1 }]);
    expect((await tenant.api.post(`/api/workflows/${body.id}/revisions/9/restore`)).status).toBe(404);
    expect((await tenant.api.post(`/api/workflows/${body.id}/revisions/x/restore`)).status).toBe(400);
  });

  it('a workflow is changed only at the revision that If-Match names', async () => {
    const created = await createWorkflow({ script: 'a' });
    const { id } = created.body;
    const old = created.headers.get('etag')!;
    const saved = await saveWorkflow(id, { script: 'b' }, old);
    expect(saved.status).toBe(200);
    const match = tenant.api.with({ 'if-match': old });
    for (const answer of [
      await saveWorkflow(id, { script: 'c' }, old),
      await match.patch(`/api/workflows/${id}`, { name: 'x' }),
      await match.post(`/api/workflows/${id}/revisions/1/restore`),
      await match.delete(`/api/workflows/${id}`),
    ]) {
      expect([answer.status, answer.body.code]).toEqual([412, 'precondition_failed']);
      expect(answer.headers.get('etag')).toBe(saved.headers.get('etag'));
    }
    expect((await tenant.api.get(`/api/workflows/${id}`)).body).toMatchObject({
      name: 'EOBs',
      script: 'b',
      revision: 2,
    });
    const current = tenant.api.with({ 'if-match': saved.headers.get('etag')! });
    expect((await current.delete(`/api/workflows/${id}`)).status).toBe(204);
  });

  it('the differences between two revisions of a workflow are shown', async () => {
    const { body } = await createWorkflow({
      script: 'one\ntwo\n',
      steps: [open, send],
      variables: ['CLAIM_ID', 'OLD'],
    });
    const moved = { ...send, offsetX: 9 };
    const close = { id: 'close', type: 'close' };
    await saveWorkflow(body.id, { script: 'one\n2\n', steps: [moved, close], variables: ['CLAIM_ID', 'NEW'] });
    await saveWorkflow(body.id, { steps: [close, moved] });
    const path = `/api/workflows/${body.id}/revisions`;
    expect((await tenant.as.viewer.get(`${path}/2/diff`)).body).toEqual({
      revision: 2,
      against: 1,
      script: '--- revision 1\n+++ revision 2\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n',
      steps: {
        added: [close],
        removed: [open],
        changed: [{ id: 'send', before: send, after: moved }],
        moved: [],
      },
      variables: { added: ['NEW'], removed: ['OLD'] },
    });
    const none = { added: [], removed: [], changed: [], moved: [] };
    expect((await tenant.api.get(`${path}/3/diff`)).body).toMatchObject({ script: '', steps: { moved: ['send'] } });
    expect((await tenant.api.get(`${path}/1/diff?against=1`)).body).toMatchObject({ script: '', steps: none });
    const back = (await tenant.api.get(`${path}/1/diff?against=3`)).body;
    expect(back).toMatchObject({ against: 3, variables: { added: ['OLD'], removed: ['NEW'] } });
    expect((await tenant.api.get(`${path}/4/diff`)).status).toBe(404);
    expect((await tenant.api.get(`${path}/2/diff?against=7`)).status).toBe(404);
    expect((await tenant.api.get(`${path}/0/diff`)).status).toBe(400);
    expect((await tenant.api.get(`${path}/2/diff?against=x`)).status).toBe(400);
    expect((await other.api.get(`${path}/2/diff`)).status).toBe(404);
  });

  it('workflows are found by part of their name, and listed without scripts and steps', async () => {
    await createWorkflow({ name: 'Needle one', script: 'x' });
    await createWorkflow({ name: 'needle two' });
    const first = (await tenant.api.get('/api/workflows?q=NEEDLE&limit=1')).body;
    const second = (await tenant.api.get(`/api/workflows?q=NEEDLE&limit=1&cursor=${first.nextCursor}`)).body;
    const found = [...first.workflows, ...second.workflows];
    expect(found.map(({ name }) => name)).toEqual(['Needle one', 'needle two']);
    expect(found[0]).not.toHaveProperty('script');
    expect(second.nextCursor).toBeNull();
  });

  it('a workflow has a budget that can be set and removed, and that other changes keep', async () => {
    const { body } = await createWorkflow({ name: 'With a budget', script: 'x', maxCostUsd: 1.25 });
    expect(body.maxCostUsd).toBe(1.25);
    const path = `/api/workflows/${body.id}`;
    expect((await tenant.api.patch(path, { name: 'Renamed' })).body.maxCostUsd).toBe(1.25);
    expect((await tenant.api.patch(path, { maxCostUsd: null })).body.maxCostUsd).toBeNull();
    expect((await tenant.api.get(path)).body.maxCostUsd).toBeNull();
    const { entries } = (await tenant.as.admin.get('/api/audit?action=workflow.update&limit=1')).body;
    expect(entries[0].changes).toEqual({ maxCostUsd: [1.25, null] });
    expect((await tenant.api.patch(path, { maxCostUsd: -1 })).status).toBe(400);
  });

  it('an archived workflow is hidden and can be neither launched nor changed', async () => {
    const { organizationId } = tenant;
    const agent = await makeAgent(harness.db, { organizationId, name: newId() });
    const { body } = await createWorkflow({ name: 'Archived one', script: 'x' });
    const launchWorkflow = () => tenant.api.post('/api/jobs/launch', { workflowId: body.id, agentId: agent.id });
    expect((await launchWorkflow()).status).toBe(202);
    expect((await tenant.api.delete(`/api/workflows/${body.id}`)).status).toBe(204);
    for (const answer of [
      await launchWorkflow(),
      await tenant.api.get(`/api/workflows/${body.id}`),
      await saveWorkflow(body.id, { script: 'y' }),
      await tenant.api.patch(`/api/workflows/${body.id}`, { name: 'y' }),
      await tenant.api.get(`/api/workflows/${body.id}/revisions`),
      await tenant.api.delete(`/api/workflows/${body.id}`),
    ]) {
      expect([answer.status, answer.body.code]).toEqual([404, 'not_found']);
    }
    expect((await tenant.api.get('/api/workflows?q=Archived')).body.workflows).toEqual([]);
    const jobs = (await tenant.api.get(`/api/jobs?workflowId=${body.id}`)).body.jobs;
    expect(jobs).toHaveLength(1);
  });

  it('a workflow can be read and changed only in its own organization, where viewers cannot change it', async () => {
    const { body } = await createWorkflow({ script: 'x' });
    const path = `/api/workflows/${body.id}`;
    for (const answer of [
      await other.api.get(path),
      await other.api.post(`${path}/save`, { script: 'y' }),
      await other.api.patch(path, { name: 'y' }),
      await other.api.delete(path),
      await other.api.get(`${path}/revisions`),
      await other.api.post(`${path}/revisions/1/restore`),
    ]) {
      expect([answer.status, answer.body.code]).toEqual([404, 'not_found']);
    }
    for (const answer of [
      await tenant.as.viewer.post('/api/workflows', { name: 'x' }),
      await tenant.as.viewer.post(`${path}/save`, { script: 'y' }),
      await tenant.as.viewer.patch(path, { name: 'y' }),
      await tenant.as.viewer.delete(path),
    ]) {
      expect(answer.status).toBe(403);
    }
    expect((await tenant.api.get(path)).body).toEqual(body);
  });

  it('each change of a workflow writes an audit row', async () => {
    const { body } = await createWorkflow({ script: 'a' });
    await saveWorkflow(body.id, { script: 'b' });
    await tenant.api.patch(`/api/workflows/${body.id}`, { name: 'Renamed' });
    await tenant.api.post(`/api/workflows/${body.id}/revisions/1/restore`);
    await tenant.api.delete(`/api/workflows/${body.id}`);
    const { entries } = (await tenant.as.admin.get('/api/audit?limit=5')).body;
    expect(entries.map(({ action, target }: any) => [action, target.id])).toEqual(
      ['archive', 'restore', 'update', 'save', 'create'].map((word) => [`workflow.${word}`, body.id]),
    );
  });
});
