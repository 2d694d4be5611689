import { type Harness, makeAgent, makeWorkflow, startHarness, type Tenant } from '@muster/testing';
import { gateway } from '../gateway.harness';

describe('batches from CSV', () => {
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

  const readBatchJobs = (batchId: string) =>
    harness.db.query<any>(
      'system',
      `SELECT id, agent_id, batch_row, variables, status, priority, max_retries FROM job
       WHERE batch_id = $1 ORDER BY batch_row`,
      [batchId],
    );
  const sendTable = (table: string | Uint8Array, fields: Record<string, string> = {}) => {
    const form = new FormData();
    for (const [name, value] of Object.entries({ workflowId, agentIds: JSON.stringify(agentIds), ...fields })) {
      form.set(name, value);
    }
    form.set('file', new Blob([table as string], { type: 'text/csv' }), 'claims.csv');
    return sendForm(form);
  };
  const sendForm = async (form: FormData, headers: Record<string, string> = {}) => {
    const response = await fetch(`${harness.url}/api/jobs/batch`, {
      method: 'POST',
      headers: { ...tenant.api.headers, ...headers },
      body: form,
    });
    const body: any = await response.json();
    return { status: response.status, headers: response.headers, body };
  };

  it('a CSV batch keeps quotes, newlines and formulas, with any line ending and a byte order mark', async () => {
    const table =
      '\ufeffCLAIM_ID,PAYER\r\n"C-1","Delta, ""West"""\r\nC-2,"two\r\nlines"\n\r\nC-3,=1+1\r\n C-4 ,@SUM(A1)\r\nC-5,';
    const created = await sendTable(table);
    expect([created.status, created.body.queued, created.body.rejected]).toEqual([202, 5, []]);
    expect((await readBatchJobs(created.body.batchId)).map(({ variables }) => variables)).toEqual([
      { CLAIM_ID: 'C-1', PAYER: 'Delta, "West"' },
      { CLAIM_ID: 'C-2', PAYER: 'two\r\nlines' },
      { CLAIM_ID: 'C-3', PAYER: '=1+1' },
      { CLAIM_ID: ' C-4 ', PAYER: '@SUM(A1)' },
      { CLAIM_ID: 'C-5', PAYER: '' },
    ]);
  });

  it('a CSV batch reports the errors of each invalid row', async () => {
    const bad = Buffer.concat([
      Buffer.from('CLAIM_ID,PAYER\nC-1,Delta\nC-2\nC-3,Delta,more\nC-4,'),
      Buffer.from([0x44, 0xff, 0x65]),
      Buffer.from(`\n${'9'.repeat(1_000_000)},Delta\nC-6,De"lta\nC-7,\u0000\nC-8,Delta\n`),
    ]);
    const created = await sendTable(bad);
    expect(created.status).toBe(202);
    expect(created.body.rejected).toEqual([
      { row: 2, errors: ['the row has 1 cell and the table 2 columns: PAYER is missing'] },
      { row: 3, errors: ['the row has 3 cells and the table 2 columns'] },
      { row: 4, errors: ['PAYER: is not valid UTF-8'] },
      { row: 5, errors: ['CLAIM_ID: has 1,000,000 characters; at most 65,536 are allowed'] },
      { row: 6, errors: ['line 7: a cell contains a quote but does not start with one'] },
      { row: 7, errors: ['PAYER: contains U+0000'] },
    ]);
    expect((await readBatchJobs(created.body.batchId)).map(({ batchRow }) => batchRow)).toEqual([1, 8]);
  });

  it('a CSV batch rejects rows with missing or unknown columns, unless a mapping selects the columns', async () => {
    const surplus = await sendTable('CLAIM_ID,PAYER,Note\nC-1,Delta,x\n');
    expect(surplus.body.rejected).toEqual([{ row: 1, errors: ['the workflow has no variable Note'] }]);
    const missing = await sendTable('CLAIM_ID\nC-1\n');
    expect(missing.body.rejected).toEqual([{ row: 1, errors: ['the workflow needs the variable PAYER'] }]);
    const mapped = await sendTable('Claim,PAYER,Note\nC-1,Delta,x\n', { mapping: '{"CLAIM_ID":"Claim"}' });
    expect(mapped.body).toMatchObject({ queued: 1, rejected: [] });
  });

  it('a CSV batch reads its run options and the strict option from the form', async () => {
    const created = await sendTable('CLAIM_ID,PAYER\nC-1,Delta\n', { priority: '9', maxRetries: '1', strict: 'true' });
    expect(created.status).toBe(202);
    expect(await readBatchJobs(created.body.batchId)).toMatchObject([{ priority: 9, maxRetries: 1 }]);
    const strict = await sendTable('CLAIM_ID,PAYER\nC-1\n', { strict: 'true' });
    expect([strict.status, strict.body.errors[0].field]).toEqual([400, 'rows.1']);
  });

  it.each([
    ['no content', '', /no row with column names/],
    ['only a header', 'CLAIM_ID,PAYER\n', /no rows after/],
    ['a repeated column name', 'CLAIM_ID,CLAIM_ID\na,b\n', /Two columns have the name CLAIM_ID/],
    ['UTF-16', Buffer.from('\ufeffCLAIM_ID,PAYER\nC-1,D\n', 'utf16le'), /UTF-16/],
    ['a quote that is not closed', 'CLAIM_ID,PAYER\nC-1,"Delta\nC-2,D\n', /not closed/],
    [
      'text after a closing quote',
      'CLAIM_ID,PAYER\nC-1,"Del"ta\nC-2,D\n',
      /Line 2: there is text after a closing quote/,
    ],
    ['10,001 rows', `CLAIM_ID,PAYER\n${'a,b\n'.repeat(10_001)}`, /more than 10,000 rows/],
  ])('a CSV file with %s is refused', async (_, table, message) => {
    const { status, body } = await sendTable(table);
    expect([status, body.code, body.errors]).toEqual([
      400,
      'invalid_payload',
      [{ field: 'file', message: expect.stringMatching(message) }],
    ]);
  });

  it.each([
    ['as JSON', (ids: string[]) => [JSON.stringify(ids)]],
    ['as repeated fields', (ids: string[]) => ids],
    ['as text separated by commas', (ids: string[]) => [ids.join(', ')]],
  ])('a list in a batch form can be sent %s', async (_, written) => {
    const form = new FormData();
    form.set('workflowId', workflowId);
    for (const value of written(agentIds)) form.append('agentIds', value);
    form.set('file', new Blob(['CLAIM_ID,PAYER\nC-1,D\nC-2,D\nC-3,D\n'], { type: 'text/csv' }), 'claims.csv');
    const { status, body } = await sendForm(form);
    expect([status, body.queued]).toEqual([202, 3]);
    const agents = await harness.db.query('system', 'SELECT DISTINCT agent_id FROM job WHERE batch_id = $1', [
      body.batchId,
    ]);
    expect(agents).toHaveLength(agentIds.length);
  });

  it('a batch form is refused if it is malformed, too large, or has unexpected fields', async () => {
    const buildFormWithFile = (name = 'file') => {
      const form = new FormData();
      form.set('workflowId', workflowId);
      form.set(name, new Blob(['CLAIM_ID,PAYER\nC-1,Delta\n']), 'a.csv');
      return form;
    };
    expect((await sendForm(buildFormWithFile())).body.errors[0].field).toBe('agentIds');
    expect((await sendForm(buildFormWithFile('recording'))).body.errors[0].field).toBe('recording');
    const twice = buildFormWithFile();
    twice.append('file', new Blob(['x']), 'b.csv');
    expect((await sendForm(twice)).body.detail).toBe('The form has two files. Send only one.');
    const text = new FormData();
    text.set('file', 'CLAIM_ID');
    expect((await sendForm(text)).body.detail).toMatch(/must be a file/);
    const none = new FormData();
    none.set('workflowId', workflowId);
    expect((await sendForm(none)).body.errors[0].field).toBe('file');
    expect((await sendTable('CLAIM_ID,PAYER\nC-1,D\n', { mapping: '{' })).body.errors[0]).toEqual({
      field: 'mapping',
      message: 'mapping must be JSON',
    });
    expect((await sendTable('CLAIM_ID,PAYER\nC-1,D\n', { surprise: '1' })).status).toBe(400);
    const large = await sendTable(`CLAIM_ID,PAYER\n${'x'.repeat(17 * 1024 * 1024)},b\n`);
    expect([large.status, large.body.code]).toEqual([413, 'payload_too_large']);
    const cut = await fetch(`${harness.url}/api/jobs/batch`, {
      method: 'POST',
      headers: { ...tenant.api.headers, 'content-type': 'multipart/form-data; boundary=x' },
      body: '--x\r\ncontent-disposition: form-data; name="workflowId"\r\n\r\nabc',
    });
    expect(cut.status).toBe(400);
    const without = await fetch(`${harness.url}/api/jobs/batch`, {
      method: 'POST',
      headers: { ...tenant.api.headers, 'content-type': 'multipart/form-data' },
      body: 'x',
    });
    expect(without.status).toBe(400);
    const elsewhere = await fetch(`${harness.url}/api/workflows`, {
      method: 'POST',
      headers: tenant.api.headers,
      body: buildFormWithFile(),
    });
    expect(elsewhere.status).toBe(415);
    expect((await tenant.api.get('/api/jobs')).body.jobs).toEqual([]);
  });

  it('a repeated request for a CSV batch is recognized by its fields and the bytes of its file', async () => {
    const buildTableForm = (table: string) => {
      const form = new FormData();
      form.set('workflowId', workflowId);
      form.set('agentIds', JSON.stringify(agentIds));
      form.set('file', new Blob([table]), 'a.csv');
      return form;
    };
    const key = { 'idempotency-key': 'csv-1' };
    const first = await sendForm(buildTableForm('CLAIM_ID,PAYER\nC-1,D\n'), key);
    const again = await sendForm(buildTableForm('CLAIM_ID,PAYER\nC-1,D\n'), key);
    expect([again.headers.get('idempotency-replayed'), again.body]).toEqual(['true', first.body]);
    expect((await sendForm(buildTableForm('CLAIM_ID,PAYER\nC-2,D\n'), key)).status).toBe(422);
  });
});
