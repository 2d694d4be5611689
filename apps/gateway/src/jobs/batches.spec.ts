import { type Harness, makeAgent, makeWorkflow, startHarness, type Tenant } from '@muster/testing';
import { newId } from '@muster/platform';
import { cancelBatch } from '@muster/jobs';
import { gateway } from '../gateway.harness';

describe('batches', () => {
  let harness: Harness;
  let tenant: Tenant;
  let workflowId: string;
  let agentIds: string[];

  beforeAll(async () => {
    harness = await startHarness(gateway);
  });
  beforeEach(async () => {
    tenant = await harness.makeTenant();
    const { organizationId } = tenant;
    const workflow = await makeWorkflow(harness.db, { organizationId, variables: ['CLAIM_ID', 'PAYER'] });
    workflowId = workflow.id;
    agentIds = [];
    for (const name of ['One', 'Two', 'Three']) {
      agentIds.push((await makeAgent(harness.db, { organizationId, name })).id);
    }
  });
  afterAll(() => harness.close());

  const buildRow = (n: number) => ({ CLAIM_ID: `C-${n}`, PAYER: 'Delta' });
  const buildRows = (count: number) => Array.from({ length: count }, (_, at) => buildRow(at + 1));
  const postBatch = (body: object) => tenant.api.post('/api/jobs/batch', { workflowId, agentIds, ...body });
  const readBatchJobs = (batchId: string) =>
    harness.db.query<any>(
      'system',
      `SELECT id, agent_id, batch_row, variables, status, priority, max_retries FROM job
       WHERE batch_id = $1 ORDER BY batch_row`,
      [batchId],
    );

  describe('from JSON', () => {
    it('a batch queues a run for each row, spread evenly over the agents, in the order of the rows', async () => {
      const created = await postBatch({ rows: buildRows(7), priority: 8, maxRetries: 2 });
      expect(created.status).toBe(202);
      expect(created.headers.get('location')).toBe(`/api/batches/${created.body.batchId}`);
      expect(created.body).toMatchObject({ queued: 7, rejected: [] });
      const jobs = await readBatchJobs(created.body.batchId);
      expect(jobs.map(({ id }) => id)).toEqual(created.body.jobIds);
      expect(jobs.map(({ batchRow }) => batchRow)).toEqual([1, 2, 3, 4, 5, 6, 7]);
      expect(jobs.map(({ agentId }) => agentIds.indexOf(agentId))).toEqual([0, 1, 2, 0, 1, 2, 0]);
      expect(jobs[4]).toMatchObject({ variables: buildRow(5), priority: 8, maxRetries: 2, status: 'queued' });
      const listed = await tenant.api.get(`/api/jobs?batchId=${created.body.batchId}&limit=200`);
      expect(listed.body.jobs).toHaveLength(7);
    });

    it('a batch writes one audit row, and one timeline entry and one message for each agent', async () => {
      const readOutboxMessages = () =>
        harness.db.query<any>(
          'system',
          `SELECT payload->>'agentId' AS agent_id FROM outbox WHERE organization_id = $1`,
          [tenant.organizationId],
        );
      const { body } = await postBatch({ rows: buildRows(10) });
      expect((await readOutboxMessages()).map(({ agentId }) => agentId).sort()).toEqual([...agentIds].sort());
      for (const [at, queued] of [4, 3, 3].entries()) {
        const { entries } = (await tenant.api.get(`/api/agents/${agentIds[at]}/logs`)).body;
        expect(entries).toEqual([
          expect.objectContaining({ message: `queued ${queued} runs of a batch`, jobId: null, source: 'api' }),
        ]);
        expect(entries[0].data).toEqual({ batchId: body.batchId, queued });
      }
      const { entries } = (await tenant.as.admin.get('/api/audit')).body;
      const recorded = entries.filter(({ action }: { action: string }) => action !== 'session.create');
      expect(recorded).toEqual([
        expect.objectContaining({ action: 'batch.create', target: { type: 'batch', id: body.batchId } }),
      ]);
    });

    it('a batch rejects invalid rows with their reasons, and queues the others', async () => {
      const rows = [
        buildRow(1),
        { CLAIM_ID: 'C-2' },
        { ...buildRow(3), SURPLUS: 'x' },
        { CLAIM_ID: 4, PAYER: null },
        { CLAIM_ID: 'x'.repeat(65_537), PAYER: 'Delta' },
        buildRow(6),
      ];
      const { status, body } = await postBatch({ rows });
      expect(status).toBe(202);
      expect(body.queued).toBe(2);
      expect(body.rejected).toEqual([
        { row: 2, errors: ['the workflow needs the variable PAYER'] },
        { row: 3, errors: ['the workflow has no variable SURPLUS'] },
        { row: 4, errors: ['CLAIM_ID: must be a string', 'PAYER: must be a string'] },
        { row: 5, errors: ['CLAIM_ID: has 65,537 characters; at most 65,536 are allowed'] },
      ]);
      expect((await readBatchJobs(body.batchId)).map(({ batchRow }) => batchRow)).toEqual([1, 6]);
      const read = await tenant.api.get(`/api/batches/${body.batchId}`);
      expect(read.body).toMatchObject({ total: 6, rejected: 4, queued: 2, running: 0 });
    });

    it('a strict batch queues nothing if one row is invalid', async () => {
      const { status, body } = await postBatch({ rows: [buildRow(1), { CLAIM_ID: 'C-2' }], strict: true });
      expect(status).toBe(400);
      expect(body.code).toBe('invalid_payload');
      expect(body.errors).toEqual([{ field: 'rows.2', message: 'the workflow needs the variable PAYER' }]);
      expect(body.rejected).toEqual([{ row: 2, errors: ['the workflow needs the variable PAYER'] }]);
      expect((await tenant.api.get('/api/batches')).body.batches).toEqual([]);
      expect((await tenant.api.get('/api/jobs')).body.jobs).toEqual([]);
    });

    it('a batch reads variables from mapped columns of its rows, and missing variables from the batch’s defaults', async () => {
      const rows = [
        { Claim: 'C-1', Note: 'ignored' },
        { Claim: 'C-2', PAYER: 'Cigna' },
      ];
      const created = await postBatch({ rows, mapping: { CLAIM_ID: 'Claim' }, variables: { PAYER: 'Delta' } });
      expect(created.body).toMatchObject({ queued: 2, rejected: [] });
      expect((await readBatchJobs(created.body.batchId)).map(({ variables }) => variables)).toEqual([
        { CLAIM_ID: 'C-1', PAYER: 'Delta' },
        { CLAIM_ID: 'C-2', PAYER: 'Cigna' },
      ]);
      const lacking = await postBatch({ rows: [{ PAYER: 'x' }], mapping: { CLAIM_ID: 'Claim' } });
      expect(lacking.body.rejected[0].errors).toEqual([
        'the workflow needs the variable CLAIM_ID, and the row has no column Claim',
      ]);
    });

    it.each([
      ['no rows', { rows: [] }, 'rows'],
      ['a row that is a list', { rows: [[]] }, 'rows.0'],
      ['rows that are not a list', { rows: 7 }, 'rows'],
      ['10,001 rows', { rows: Array.from({ length: 10_001 }, () => ({})) }, 'rows'],
      ['no agents', { rows: [{}], agentIds: [] }, 'agentIds'],
      ['the same agent twice', { rows: [{}], agentIds: [newId(), newId()].fill('x') }, 'agentIds'],
      ['an agent id that is not a UUID', { rows: [{}], agentIds: ['x'] }, 'agentIds.0'],
      ['a mapping of an unknown variable', { rows: [{}], mapping: { NOPE: 'a' } }, 'mapping.NOPE'],
      ['a text for an unknown variable', { rows: [{}], variables: { NOPE: 'a' } }, 'variables.NOPE'],
    ])('a batch with %s is refused', async (_, body, field) => {
      const answer = await postBatch(body);
      expect([answer.status, answer.body.errors?.[0]?.field]).toEqual([400, field]);
    });

    it('a batch for a workflow or an agent of another organization gets 404 and queues nothing', async () => {
      const other = await harness.makeTenant();
      const otherWorkflow = await makeWorkflow(harness.db, { organizationId: other.organizationId });
      const agent = await makeAgent(harness.db, { organizationId: other.organizationId });
      const wrongWorkflow = await postBatch({ workflowId: otherWorkflow.id, rows: [{}] });
      expect([wrongWorkflow.status, wrongWorkflow.body.code]).toEqual([404, 'not_found']);
      const answer = await postBatch({ agentIds: [agentIds[0], agent.id], rows: buildRows(2) });
      expect([answer.status, answer.body.code]).toEqual([404, 'agent_not_found']);
      expect((await tenant.api.get('/api/jobs')).body.jobs).toEqual([]);
    });

    it('a batch passes the billing gate as a whole or not at all', async () => {
      await tenant.as.admin.patch('/api/organization/settings', { monthlyRunLimit: 5 });
      const refused = await postBatch({ rows: buildRows(6) });
      expect([refused.status, refused.body.code]).toEqual([402, 'billing_gate_closed']);
      expect(refused.body.detail).toBe(
        'The batch has 6 runs, but only 5 of the monthly limit of 5 runs are left. Launch fewer runs, or ask an ' +
          'admin to raise the limit.',
      );
      expect((await tenant.api.get('/api/jobs')).body.jobs).toEqual([]);
      expect((await postBatch({ rows: buildRows(5) })).status).toBe(202);
      expect((await postBatch({ rows: buildRows(1) })).status).toBe(402);
    });

    it('a batch request with a repeated Idempotency-Key gets the stored response', async () => {
      const client = tenant.api.with({ 'idempotency-key': 'nightly-1' });
      const body = { workflowId, agentIds, rows: buildRows(3) };
      const first = await client.post('/api/jobs/batch', body);
      const again = await client.post('/api/jobs/batch', body);
      expect(again.headers.get('idempotency-replayed')).toBe('true');
      expect([again.status, again.body]).toEqual([202, first.body]);
      const other = await client.post('/api/jobs/batch', { ...body, rows: buildRows(2) });
      expect([other.status, other.body.code]).toEqual([422, 'idempotency_key_reused']);
      expect(await readBatchJobs(first.body.batchId)).toHaveLength(3);
    });

    it('a batch can have 10,000 rows', async () => {
      const created = await postBatch({ rows: buildRows(10_000) });
      expect([created.status, created.body.queued, created.body.jobIds.length]).toEqual([202, 10_000, 10_000]);
      const [{ jobs, logs }] = await harness.db.query<any>(
        'system',
        `SELECT count(*)::int AS jobs, count(s.job_id)::int AS logs
         FROM job j LEFT JOIN job_log_seen s ON s.job_id = j.id WHERE j.batch_id = $1`,
        [created.body.batchId],
      );
      expect({ jobs, logs }).toEqual({ jobs: 10_000, logs: 10_000 });
    });
  });

  describe('existing batches', () => {
    it('the progress of a batch counts each row once by its latest attempt', async () => {
      const { batchId, jobIds } = (await postBatch({ rows: buildRows(4) })).body;
      const updateJob = (id: string, sql: string) =>
        harness.db.query('system', `UPDATE job SET ${sql} WHERE id = $1`, [id]);
      await updateJob(
        jobIds[0],
        `status = 'completed', claims_attempted = 3, claims_eob_uploaded = 2, total_cost_micros = 500000`,
      );
      await updateJob(
        jobIds[1],
        `status = 'failed', claims_attempted = 1, claims_failed = 1, total_cost_micros = 250000`,
      );
      await updateJob(jobIds[2], `status = 'cancelled'`);
      const retry = newId();
      await harness.db.query(
        'system',
        `INSERT INTO job (id, organization_id, workflow_id, workflow_revision, agent_id, batch_id, batch_row, retry_of, attempt)
         SELECT $1, organization_id, workflow_id, workflow_revision, agent_id, batch_id, batch_row, id, 2
         FROM job WHERE id = $2`,
        [retry, jobIds[1]],
      );
      const read = await tenant.as.viewer.get(`/api/batches/${batchId}`);
      expect(read.body).toEqual({
        id: batchId,
        workflowId,
        workflowRevision: 1,
        createdAt: expect.any(String),
        createdBy: expect.stringMatching(/^api_key /),
        cancelRequestedAt: null,
        total: 4,
        rejected: 0,
        queued: 2,
        running: 0,
        completed: 1,
        failed: 0,
        cancelled: 1,
        progress: { percent: 50 },
        claims: { attempted: 3, eobUploaded: 2, noEobFound: 0, failed: 0 },
        costUsd: 0.75,
      });
      const { batches, nextCursor } = (await tenant.api.get('/api/batches')).body;
      expect([batches, nextCursor]).toEqual([[read.body], null]);
    });

    it('the check of a batch returns each row that would be rejected, and queues nothing', async () => {
      const rows = [buildRow(1), { OTHER: 'x' }, { ...buildRow(3), CLAIM_ID: 7 }];
      const before = (await tenant.api.get('/api/batches')).body.batches.length;
      const checkBatch = (body: object, client = tenant.api) =>
        client.post('/api/jobs/batch/check', { workflowId, rows, ...body });
      const answer = await checkBatch({});
      expect(answer.status).toBe(200);
      const { rejected } = (await postBatch({ rows })).body;
      expect(answer.body).toEqual({ total: 3, wrong: rejected.length, rejected });
      expect(rejected.map(({ row }: { row: number }) => row)).toEqual([2, 3]);
      const form = new FormData();
      form.set('workflowId', workflowId);
      form.set('file', new Blob(['CLAIM_ID,PAYER\r\nC-1,Delta\r\nC-2,Delta,and more\r\n']), 'rows.csv');
      const ofTable = await fetch(`${harness.url}/api/jobs/batch/check`, {
        ...{ method: 'POST', headers: tenant.api.headers, body: form },
      });
      expect(await ofTable.json()).toMatchObject({ total: 2, wrong: 1, rejected: [{ row: 2 }] });
      expect((await checkBatch({ agentIds: [newId()] })).body.code).toBe('agent_not_found');
      expect((await checkBatch({ mapping: { NONE: 'CLAIM_ID' } })).status).toBe(400);
      expect((await checkBatch({ workflowId: newId() })).status).toBe(404);
      expect((await checkBatch({}, (await harness.makeTenant()).api)).status).toBe(404);
      expect((await checkBatch({}, tenant.as.viewer)).status).toBe(403);
      expect((await tenant.api.get('/api/batches')).body.batches.length).toBe(before + 1);
    });

    it('batches are listed newest first, page by page, and by workflow', async () => {
      const createdIds: string[] = [];
      for (let n = 0; n < 3; n += 1) createdIds.push((await postBatch({ rows: buildRows(1) })).body.batchId);
      const first = (await tenant.api.get('/api/batches?limit=2')).body;
      const second = (await tenant.api.get(`/api/batches?limit=2&cursor=${first.nextCursor}`)).body;
      expect([...first.batches, ...second.batches].map(({ id }: { id: string }) => id)).toEqual(createdIds.reverse());
      expect((await tenant.api.get(`/api/batches?workflowId=${newId()}`)).body.batches).toEqual([]);
    });

    it('the cancellation of a batch ends all its open runs, so a second cancellation changes nothing', async () => {
      const { batchId, jobIds } = (await postBatch({ rows: buildRows(1203) })).body;
      await harness.db.query('system', `UPDATE job SET status = 'completed', billed_at = now() WHERE id = $1`, [
        jobIds[0],
      ]);
      await harness.db.query('system', `UPDATE job SET status = 'running', command_id = $2 WHERE id = $1`, [
        jobIds[1],
        newId(),
      ]);
      const bystander = (await postBatch({ rows: buildRows(1) })).body.batchId;
      const answer = await tenant.api.post(`/api/batches/${batchId}/cancel`, { reason: 'the wrong file' });
      expect([answer.status, answer.headers.get('location')]).toEqual([202, `/api/batches/${batchId}`]);
      expect(answer.body.cancelRequestedAt).toEqual(expect.any(String));
      // The dispatcher calls this when it receives the message that the cancel request enqueued.
      expect(await cancelBatch(harness.db, batchId, () => new Date())).toEqual({ ended: 1202 });
      const read = await tenant.api.get(`/api/batches/${batchId}`);
      expect(read.body).toMatchObject({ queued: 0, running: 1, completed: 1, cancelled: 1201, failed: 0 });
      expect((await tenant.api.get(`/api/jobs/${jobIds[1]}`)).body).toMatchObject({
        status: 'running',
        cancelling: true,
      });
      expect((await tenant.api.get(`/api/batches/${bystander}`)).body).toMatchObject({ queued: 1, cancelled: 0 });
      const again = await tenant.api.post(`/api/batches/${batchId}/cancel`);
      expect(again.body).toEqual(read.body);
      expect(await cancelBatch(harness.db, batchId, () => new Date())).toEqual({ ended: 0 });
    });

    it('a batch can be read and cancelled only in its own organization, where viewers cannot create or cancel one', async () => {
      const { batchId } = (await postBatch({ rows: buildRows(1) })).body;
      const other = await harness.makeTenant();
      expect((await other.api.get(`/api/batches/${batchId}`)).status).toBe(404);
      expect((await other.api.post(`/api/batches/${batchId}/cancel`)).status).toBe(404);
      expect((await tenant.as.viewer.post(`/api/batches/${batchId}/cancel`)).status).toBe(403);
      expect((await tenant.as.viewer.post('/api/jobs/batch', { workflowId, agentIds, rows: [] })).status).toBe(403);
      expect((await tenant.api.get(`/api/batches/${batchId}`)).body).toMatchObject({ queued: 1, cancelled: 0 });
    });

    it('a batch cannot be created for an archived workflow', async () => {
      await tenant.api.delete(`/api/workflows/${workflowId}`);
      expect((await postBatch({ rows: buildRows(1) })).status).toBe(404);
    });
  });
});
