import { createHmac } from 'node:crypto';
import { openApiDocument, roles } from '@muster/contracts';
import { newId } from '@muster/platform';
import { type Answer, type Harness, type HttpClient, makeJob, startHarness, type Tenant } from '@muster/testing';
import { insertOwnSettings, listCallers } from './callers.harness';
import { foreignResources } from './foreign-resources.harness';
import { type Access, buildExampleBody, fillPath, listOperations, type Operation, addQuery } from './walk-openapi';
import { standalone } from './standalone';

/** Routes that belong to no organization. Only super_admins can call them, and they see everything. */
const systemPath = /^\/api\/admin\//;

const cronSecret = 'a secret for cron';

const ofAnyText = '/api/concurrency-keys/holders';

/**
 * Checks every route of the document, including routes that are added later. A route with an id in its path fails
 * here until foreign-resources.harness.ts has a function that creates its resource in another organization.
 */
const formType = 'application/x-www-form-urlencoded';

describe('every route', () => {
  let harness: Harness;
  let tenant: Tenant;
  let otherTenant: Tenant;
  let ownJobId: string;

  beforeAll(async () => {
    harness = await startHarness({ ...standalone, env: { CRON_SECRET: cronSecret } });
    tenant = await harness.makeTenant();
    ownJobId = (await makeJob(harness.db, { organizationId: tenant.organizationId })).id;
    await insertOwnSettings(harness.db, tenant.organizationId);
    otherTenant = await harness.makeTenant();
  });
  afterAll(() => harness.close());

  const documented = listOperations(openApiDocument);
  /** Routes with the error format of this service. SCIM defines another format. */
  const all = documented.filter(({ access }) => access !== 'scim');
  const forScim = documented.filter(({ access }) => access === 'scim');
  const nameOperations = (list: Operation[]) =>
    list.map((operation) => [`${operation.method} ${operation.path}`, operation] as const);
  const closed = all.filter(({ access }) => access !== 'anyone');
  const callOperation = async (client: HttpClient, operation: Operation, path = fillPath(operation.path)) => {
    const body = JSON.stringify(buildExampleBody(openApiDocument, operation));
    const caller = await signClaimResults(client, operation, path, body);
    return expectDocumentedStatus(operation, await caller.send(operation.method, addQuery(path, operation), body));
  };
  /** Path of a request with a body. A signature is verified before the body is parsed, and needs an existing job. */
  const getPathForBody = ({ path, signatureHeader }: Operation) =>
    fillPath(path, signatureHeader ? ownJobId : undefined);
  /** Adds a signature to claim outcomes; other requests need none. */
  const signClaimResults = async (client: HttpClient, operation: Operation, path: string, body: unknown) => {
    if (!operation.path.endsWith('/claim-results')) return client;
    const { signingSecret } = (await tenant.as.admin.get('/api/organization/signing-secret')).body;
    const jobId = path.split('/').at(-2)!;
    const bytes = Buffer.concat([Buffer.from(`${jobId}.`), Buffer.from((body ?? '') as string)]);
    const t = Math.floor(Date.now() / 1000);
    const mac = createHmac('sha256', signingSecret).update(`${t}.`).update(bytes).digest('hex');
    return client.with({ 'x-service-signature': `t=${t},v1=${mac}` });
  };

  it('every route documents who may call it', () => {
    expect(
      documented.filter(({ access }) => access === undefined).map(({ method, path }) => `${method} ${path}`),
    ).toEqual([]);
    expect(all.length).toBeGreaterThan(30);
  });

  it.each(nameOperations(closed))('%s answers 401 without credentials, and with wrong ones', async (_, operation) => {
    const wrong = ['msk_nosuchkey_0123456789abcdef', 'nonsense'].map((key) => harness.http.withKey(key));
    const cookie = harness.http.with({ cookie: `muster_session=mse_${newId()}_${'x'.repeat(43)}` });
    for (const client of [harness.http, ...wrong, cookie]) {
      expectProblem(await callOperation(client, operation), 401, 'unauthenticated');
    }
  });

  const forCron = closed.filter(({ access }) => access === 'cron');

  it.each(nameOperations(forCron))('%s accepts only the cron secret, in either header', async (_, each) => {
    const right: Record<string, string>[] = [{ 'x-cron-key': cronSecret }, { authorization: `Bearer ${cronSecret}` }];
    for (const headers of right) {
      expect((await harness.http.with(headers).send(each.method, each.path)).status).toBe(200);
    }
    const wrong: Record<string, string>[] = [
      { 'x-cron-key': '' },
      { 'x-cron-key': `${cronSecret}x` },
      { 'x-api-key': cronSecret },
      { authorization: cronSecret },
      { authorization: `Basic ${cronSecret}` },
      { authorization: 'Bearer wrong' },
    ];
    for (const headers of wrong) {
      expectProblem(await harness.http.with(headers).send(each.method, each.path), 401, 'unauthenticated');
    }
    for (const client of [tenant.api, tenant.worker, ...roles.map((role) => tenant.as[role])]) {
      expectProblem(await client.send(each.method, each.path), 401, 'unauthenticated');
    }
  });

  it.each(nameOperations(forScim))('%s accepts only the SCIM token of an organization', async (_, operation) => {
    const wrong = `Bearer mscim_${tenant.organizationId}_${'x'.repeat(43)}`;
    const clients = [wrong, 'Bearer nonsense', ''].map((authorization) => harness.http.with({ authorization }));
    for (const client of [...clients, tenant.api, tenant.worker, ...roles.map((role) => tenant.as[role])]) {
      const answer = await callOperation(client, operation);
      expect([answer.status, answer.headers.get('content-type'), answer.body.status]).toEqual([
        ...[401, 'application/scim+json; charset=utf-8', '401'],
      ]);
    }
  });

  const forCallers = closed.filter(({ access }) => access !== 'cron');

  it.each(nameOperations(forCallers))('%s answers 403 to every role and key without access', async (_, operation) => {
    const { refused } = listCallers(tenant, operation.access as Access);
    for (const client of refused) expectProblem(await callOperation(client, operation), 403, 'permission_denied');
  });

  // The response of an event stream does not end, so only the gateway's specs open the stream.
  const ended = forCallers.filter(({ path }) => path !== '/api/events');

  it.each(nameOperations(ended.filter((each) => each.method === 'GET' && !isPathOfOneResource(each))))(
    '%s admits every role and key with access',
    async (_, operation) => {
      const { admitted } = listCallers(tenant, operation.access as Access);
      for (const client of admitted) expect((await callOperation(client, operation)).status).toBe(200);
    },
  );

  const withIds = forCallers.filter((each) => isPathOfOneResource(each) && each.method !== 'PUT');

  it.each(nameOperations(withIds))('%s documents the status 404', (_, operation) => {
    expect(operation.statuses).toContain('404');
  });

  it.each(nameOperations(withIds))('%s answers 404 to an unknown id', async (_, operation) => {
    const [client] = listCallers(tenant, operation.access as Access).admitted.slice(-1);
    expectProblem(await callOperation(client!, operation), 404);
  });

  it.each(nameOperations(withIds.filter(({ path }) => path.includes('{') && !systemPath.test(path))))(
    '%s answers another organization’s id like an unknown id',
    async (_, operation) => {
      const resource = Object.keys(foreignResources).find((path) => operation.path.startsWith(path));
      if (!resource) throw new Error(`foreignResources has no function for the resource of ${operation.path}`);
      const foreignId = await foreignResources[resource]!(otherTenant, harness.db);
      const own = foreignId === 'THEIRS' ? 'UNKNOWN' : /-/.test(foreignId) ? newId() : 'nosuchkey123';
      const { admitted } = listCallers(tenant, operation.access as Access);
      for (const client of admitted) {
        const unknown = await callOperation(client, operation, fillPath(operation.path, own));
        const foreign = await callOperation(client, operation, fillPath(operation.path, foreignId));
        expectProblem(foreign, 404);
        expect(omitRequestId(foreign, foreignId)).toEqual(omitRequestId(unknown, own));
      }
    },
  );

  it.each(nameOperations(all.filter(({ body }) => body)))(
    '%s refuses bad bodies with a precise 4xx',
    async (_, operation) => {
      const client =
        operation.access === 'anyone' ? harness.http : listCallers(tenant, operation.access as Access).admitted.at(-1)!;
      const path = getPathForBody(operation);
      const example = buildExampleBody(openApiDocument, operation) as Record<string, unknown>;
      const bad: [string, unknown, number, Record<string, string>?][] = [
        ['broken JSON', '{"a":', 400],
        ['an array', '[]', 400],
        ['a string', '"text"', 400],
        ...(operation.ignoresUnknown
          ? []
          : [['an unknown field', { ...example, surprise: 1 }, 400] as [string, unknown, number]]),
        ['__proto__', '{"__proto__":{"admin":true}}', 400],
        ['constructor.prototype', '{"constructor":{"prototype":{"admin":true}}}', 400],
        ['deep nesting', `{"a":${'['.repeat(70)}${']'.repeat(70)}}`, 400],
        ['very deep nesting', '['.repeat(200_000), 400],
        ['half a surrogate pair', `{"surprise":"\\ud83d"}`, 400],
        ['U+0000', JSON.stringify({ ...example, name: 'a\u0000b', email: 'a\u0000@b.c', value: '\u0000' }), 400],
        ['invalid UTF-8', new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), 400],
        ['too large', `{"a":"${'x'.repeat(operation.bodyLimit + 50_000)}"}`, 413],
        ['another content type', 'a=1', operation.formEncoded ? 400 : 415, { 'content-type': formType }],
        ['no content type', 'a=1', 415, { 'content-type': 'text/plain' }],
        ...Object.keys(example)
          .filter((key) => !operation.anyType.includes(key))
          .map((key): [string, unknown, number] => [
            `a wrong type of ${key}`,
            { ...example, [key]: typeof example[key] === 'object' ? 7 : { wrong: true } },
            400,
          ]),
        ...Object.keys(example)
          .filter((key) => typeof example[key] === 'number')
          .map((key): [string, unknown, number] => [`${key} as text`, { ...example, [key]: '5' }, 400]),
        ...operation.required.map((key): [string, unknown, number] => [
          `without ${key}`,
          { ...example, [key]: undefined },
          400,
        ]),
      ];
      for (const [label, body, status, headers = {}] of bad) {
        const text = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body);
        const caller = await signClaimResults(client, operation, path, text);
        const answer = await caller.with(headers).send(operation.method, path, text);
        expect([label, answer.status, answer.text]).toEqual([
          label,
          status,
          expect.not.stringMatching(/node_modules|\.ts:|at \w+ \(/),
        ]);
        expectProblem(expectDocumentedStatus(operation, answer), status);
      }
    },
  );

  it.each(nameOperations(all.filter(({ form }) => form)))(
    '%s refuses bad forms with a precise 4xx',
    async (_, operation) => {
      const client = listCallers(tenant, operation.access as Access).admitted.at(-1)!;
      const buildFormPart = (head: string, body: string) =>
        `--x\r\ncontent-disposition: form-data; ${head}\r\n\r\n${body}\r\n`;
      const bad: [string, string, string, number][] = [
        ['no boundary', 'multipart/form-data', buildFormPart('name="a"', '1'), 400],
        ['an empty body', 'multipart/form-data; boundary=x', '', 400],
        ['a truncated form', 'multipart/form-data; boundary=x', buildFormPart('name="a"', '1'), 400],
        ['no file', 'multipart/form-data; boundary=x', `${buildFormPart('name="name"', '1')}--x--\r\n`, 400],
        [
          'another file',
          'multipart/form-data; boundary=x',
          `${buildFormPart('name="z"; filename="z"', '1')}--x--\r\n`,
          400,
        ],
        ['U+0000', 'multipart/form-data; boundary=x', `${buildFormPart('name="name"', 'a\u0000b')}--x--\r\n`, 400],
        ['a form of another kind', 'application/x-www-form-urlencoded', 'a=1', 415],
      ];
      for (const [label, type, body, status] of bad) {
        const answer = await client.with({ 'content-type': type }).send(operation.method, operation.path, body);
        expect([label, answer.status]).toEqual([label, status]);
        expectProblem(expectDocumentedStatus(operation, answer), status);
      }
    },
  );

  it.each(nameOperations(all.filter(({ body, form }) => body && !form)))('%s refuses a form', async (_, operation) => {
    const client =
      operation.access === 'anyone' ? harness.http : listCallers(tenant, operation.access as Access).admitted.at(-1)!;
    const path = getPathForBody(operation);
    const answer = await (
      await signClaimResults(client, operation, path, '--x--\r\n')
    )
      .with({ 'content-type': 'multipart/form-data; boundary=x' })
      .send(operation.method, path, '--x--\r\n');
    const ownCodes = operation.path === '/api/pilot/run-summary';
    expectProblem(answer, 415, ownCodes ? 'RUN_SUMMARY_REQUEST_FAILED' : 'unsupported_media_type');
  });

  it('audit entries contain the field names of the API, not column names', async () => {
    const apiFields = new Set(
      JSON.stringify(openApiDocument)
        .match(/"\w+"(?=:)/g)!
        .map((name) => name.slice(1, -1)),
    );
    // Names in audit entries that are not fields of the API.
    const own = ['fields', 'added', 'addedPrices', 'removed', 'removedPrices', 'passwordChanged'];
    for (const operation of all.filter(({ method, body }) => body && ['PATCH', 'PUT'].includes(method))) {
      const resource = Object.keys(foreignResources).find((path) => operation.path.startsWith(path));
      const id = resource ? await foreignResources[resource]!(otherTenant, harness.db) : otherTenant.organizationId;
      const { admitted } = listCallers(otherTenant, operation.access as Access);
      const answer = await callOperation(admitted.at(-1)!, operation, fillPath(operation.path, id));
      expect([operation.path, answer.status < 500]).toEqual([operation.path, true]);
    }
    const scheduleId = await foreignResources['/api/schedules/{id}']!(otherTenant, harness.db);
    expect((await otherTenant.api.put(`/api/schedules/${scheduleId}`, { maxCostUsd: 2 })).status).toBe(200);
    const rows = await harness.db.query<{ action: string; changes: object }>(
      'system',
      'SELECT action, changes FROM audit_entry',
    );
    const updates = ['organization.update_settings', 'client_pricing.update', 'schedule.update', 'workflow.update'];
    expect(updates.filter((update) => !rows.some(({ action }) => action === update))).toEqual([]);
    const strange = rows.flatMap(({ action, changes }) =>
      Object.keys(changes)
        .filter((name) => /micros|_/i.test(name) || !(apiFields.has(name) || own.includes(name)))
        .map((name) => `${action}: ${name}`),
    );
    expect([...new Set(strange)]).toEqual([]);
  });

  it('an API key anywhere in the query string is refused', async () => {
    for (const query of [
      'x-api-key=msk_abcdefgh_0123456789abcdef',
      'apiKey=1',
      'q=msk_abcdefgh_0123456789abcdef',
      'token=x',
    ]) {
      const answer = await tenant.api.get(`/api/organization/settings?${query}`);
      expectProblem(answer, 400, 'invalid_payload');
      expect(answer.text).not.toContain('0123456789abcdef');
    }
  });

  it('unknown paths and methods and malformed ids are answered with a problem document', async () => {
    expectProblem(await tenant.api.get('/api/no-such-thing'), 404, 'not_found');
    const methods = await tenant.api.delete('/api/organization/settings');
    expectProblem(methods, 405, 'method_not_allowed');
    expect(methods.headers.get('allow')).toBe('GET, HEAD, PATCH');
    expect((await harness.http.send('PUT', `/api/jobs/${newId()}/cancel`)).headers.get('allow')).toBe('POST');
    expectProblem(await tenant.as.admin.get('/api/users/not-a-uuid'), 400, 'invalid_payload');
    expectProblem(await tenant.as.admin.get('/api/users/%00'), 400, 'invalid_payload');
    expectProblem(await tenant.as.admin.get('/api/users/%E0%A4%A'), 400);
    expectProblem(await tenant.as.admin.get('/api/users?cursor=%ED%A0%80'), 400, 'invalid_payload');
    expectProblem(await tenant.as.admin.get('/api/users?limit=0'), 400, 'invalid_payload');
    expectProblem(await tenant.as.admin.get('/api/users?limit=201'), 400, 'invalid_payload');
    expectProblem(await tenant.as.admin.get('/api/users?limit=1&limit=2'), 400, 'invalid_payload');
    expectProblem(await tenant.as.admin.get('/api/users?cursor=nonsense'), 400, 'invalid_payload');
    expectProblem(
      await tenant.as.admin.get(`/api/users?cursor=${Buffer.from('["a"]').toString('base64url')}`),
      400,
      'invalid_payload',
    );
  });
});

/** Whether the operation is about one resource, which may not exist. */
function isPathOfOneResource({ path, query }: Operation): boolean {
  return path.includes('{') || (Object.keys(query).length > 0 && path !== ofAnyText);
}

/** Checks that the status of the answer is documented, and returns the answer. */
function expectDocumentedStatus(operation: Operation, answer: Answer): Answer {
  expect(operation.statuses).toContain(String(answer.status));
  return answer;
}

function expectProblem(answer: Answer, status: number, code?: string): void {
  expect([answer.status, answer.headers.get('content-type')]).toEqual([
    status,
    'application/problem+json; charset=utf-8',
  ]);
  expect(answer.body).toMatchObject({
    type: expect.stringContaining('/errors/'),
    title: expect.any(String),
    status,
    detail: expect.any(String),
    code: code ?? expect.any(String),
    instance: expect.any(String),
    requestId: answer.headers.get('x-request-id'),
  });
}

function omitRequestId(answer: Answer, id: string): unknown {
  const { requestId: _requestId, ...problem } = answer.body as Record<string, string>;
  return JSON.parse(JSON.stringify(problem).replaceAll(id, '<id>').replaceAll(id.toUpperCase(), '<id>'));
}
