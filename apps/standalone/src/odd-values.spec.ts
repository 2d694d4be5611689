import { openApiDocument } from '@muster/contracts';
import { newId } from '@muster/platform';
import { type Harness, makeAgent, makeJob, makeWorkflow, startHarness, type Tenant } from '@muster/testing';
import { listCallers } from './callers.harness';
import { standalone } from './standalone';
import { type Access, listOperations, type Operation } from './walk-openapi';

const encodeCursor = (...values: unknown[]) => Buffer.from(JSON.stringify(values)).toString('base64url');

/** Cursors that the service did not issue. Several would reach a SQL statement as an invalid number or text. */
const forged = [
  'x',
  encodeCursor(),
  encodeCursor(7),
  encodeCursor('2026-W05-1T10:00:00Z', 'a'),
  encodeCursor('2026-01-01T00:00:00Z', 'a'),
  encodeCursor('\ud800'),
  encodeCursor('\0'),
  encodeCursor('a', 'b', 'c'),
  `${encodeCursor(newId())}=`,
];

/** Invalid times for cursors of job lists that are sorted by time. */
const forgedTimes = ['0000-01-01T00:00:00', '2026-02-30T00:00:00', '2026-01-01T24:00:00', '2026-01-01T12345678', ' '];

/** Valid cursors of lists that are sorted by name. In other lists, the numbers are outside the range of the column. */
const nameCursors = [encodeCursor('9'.repeat(16)), encodeCursor('-1')];

/** Times that are valid in ISO 8601, but that Postgres or JavaScript cannot parse. */
const unparsableTimes = [
  '2026-W05-1T10:00:00Z',
  '2026-200T10:00:00Z',
  '2026-01-31T10:00:00,5Z',
  '0000-01-01T00:00:00Z',
];

const mac = '0'.repeat(64);
/** Returns invalid signatures in each form that the routes accept, and null for a missing signature. */
const buildOddSignatures = () => {
  const now = Math.floor(Date.now() / 1000);
  return [null, '', 'nonsense', mac, `sha256=${mac}`, `t=${now},v1=${mac}`, `t=1,v1=${mac}`];
};

/** Bodies that would each be refused with a different error, and some that would be accepted. */
const bodies: [string | Uint8Array | undefined, Record<string, string>?][] = [
  [undefined],
  ['{}'],
  ['{"claimResults":[]}'],
  ['{"claimResults":[{"claimId":"C1","outcome":"no such outcome"}],"action":7,"event":{}}'],
  ['{"a":'],
  ['['.repeat(60_000)],
  ['['.repeat(200_000)],
  ['{"__proto__":{}}'],
  ['"\\ud83d"'],
  [new Uint8Array([0x22, 0xff, 0x22])],
  ['a=1', { 'content-type': 'application/x-www-form-urlencoded' }],
  ['--x--', { 'content-type': 'multipart/form-data; boundary=x' }],
  [
    'timestamp=1&token=x&signature=00&from=codes%40payer.test&body-plain=4711',
    { 'content-type': 'application/x-www-form-urlencoded' },
  ],
];
const trackerSecrets = {
  FEEDBACK_CODEHOST_WEBHOOK_SECRET: 'a secret of the codehost',
  FEEDBACK_TASKTRACKER_WEBHOOK_SECRET: 'a secret of the tasktracker',
};

describe('a value that only looks valid', () => {
  let harness: Harness;
  let tenant: Tenant;
  const ids: Record<string, string> = {};

  beforeAll(async () => {
    harness = await startHarness({ ...standalone, env: trackerSecrets });
    tenant = await harness.makeTenant();
    const { organizationId } = tenant;
    ids['/api/agents'] = (await makeAgent(harness.db, { organizationId, name: newId() })).id;
    ids['/api/workflows'] = (await makeWorkflow(harness.db, { organizationId })).id;
    ids['/api/jobs'] = (await makeJob(harness.db, { organizationId })).id;
    ids['/api/inbound/'] = (await tenant.as.admin.post('/api/inbound-codes', { name: newId() })).body.id;
  });
  afterAll(() => harness.close());

  const listOperationsWithParameter = (name: string) =>
    listOperations(openApiDocument)
      .filter(({ queryNames }) => queryNames.includes(name))
      .map((operation) => [`${operation.method} ${operation.path}`, operation] as const);
  const requestWithQuery = (operation: Operation, query: Record<string, string>) => {
    const id = ids[Object.keys(ids).find((prefix) => operation.path.startsWith(prefix))!] ?? newId();
    const client = listCallers(tenant, operation.access as Access).admitted.at(-1)!;
    return client.get(`${operation.path.replace('{id}', id)}?${new URLSearchParams(query).toString()}`);
  };

  /** Returns the names of the operation's parameters with this format, such as `date`. */
  const listParametersWithFormat = (format: string, { method, path }: Operation): string[] => {
    const { parameters = [] } = (openApiDocument as any).paths[path][method.toLowerCase()];
    return parameters.filter(({ schema }: any) => schema.format === format).map(({ name }: any) => name);
  };

  it.each(listOperationsWithParameter('cursor'))('%s answers 400 to a forged cursor', async (_, operation) => {
    for (const cursor of forged)
      expect([cursor, (await requestWithQuery(operation, { cursor })).status]).toEqual([cursor, 400]);
    const sorted = /\/(functions|vault|process-library|concurrency-keys|accounts)$/.test(operation.path) ? 200 : 400;
    for (const cursor of nameCursors) expect((await requestWithQuery(operation, { cursor })).status).toBe(sorted);
  });

  it.each(forgedTimes)('a list of jobs returns 400 for a cursor whose time is %s', async (time) => {
    for (const sort of ['startedAt', '-finishedAt']) {
      const cursor = encodeCursor(`${time}.000000Z`, newId(), sort);
      expect((await tenant.api.get(`/api/jobs?sort=${sort}&cursor=${cursor}`)).status).toBe(400);
      const right = encodeCursor('2026-01-01T00:00:00.000000Z', newId(), sort);
      expect((await tenant.api.get(`/api/jobs?sort=${sort}&cursor=${right}`)).status).toBe(200);
    }
  });

  const operationsWithTimes = [...listOperationsWithParameter('from'), ...listOperationsWithParameter('to')].filter(
    ([, operation]) => !listParametersWithFormat('uuid', operation).includes('from'),
  );

  it.each(operationsWithTimes)('%s answers 400 to an invalid time', async (_, operation) => {
    for (const name of ['from', 'to']) {
      for (const time of unparsableTimes)
        expect([time, (await requestWithQuery(operation, { [name]: time })).status]).toEqual([time, 400]);
    }
    const [from, to] = listParametersWithFormat('date', operation).includes('from')
      ? ['2026-01-30', '2026-01-31']
      : ['2026-01-31T10:00:00Z', '2026-01-31T11:00:00Z'];
    expect((await requestWithQuery(operation, { from: from!, to: to! })).status).toBe(200);
  });

  const signed = listOperations(openApiDocument).filter(({ signatureHeader }) => signatureHeader);

  it('the API document has three signed routes: claim outcomes and the webhooks of two trackers', () => {
    expect(signed.map(({ path }) => path)).toEqual([
      '/api/jobs/{id}/claim-results',
      '/api/webhooks/codehost/feedback',
      '/api/webhooks/tasktracker/feedback',
    ]);
  });

  const inbound = listOperations(openApiDocument).filter(({ path }) => path.startsWith('/api/inbound/'));
  const inboundHeaders = ['x-service-signature', 'x-twilio-signature', 'x-twilio-email-event-webhook-signature'];

  it('the API document has one route for inbound messages, which requires no session and no API key', () => {
    expect(inbound.map(({ path, access }) => [path, access])).toEqual([['/api/inbound/{id}', 'anyone']]);
  });

  it.each([
    ...signed.map((operation) => [operation.path, operation.signatureHeader!, operation] as const),
    ...inbound.flatMap((each) => inboundHeaders.map((header) => [each.path, header, each] as const)),
  ])(
    '%s answers an invalid signature in the header %s with 401 and the same error for every body',
    async (_, signatureHeader, { method, path, bodyLimit }) => {
      const id = ids[path.startsWith('/api/inbound/') ? '/api/inbound/' : '/api/jobs']!;
      // Bodies that are too large get 413 and not 401, because the size of a body is checked before its signature.
      const sendable = bodies.filter(([body]) => (body?.length ?? 0) <= bodyLimit);
      for (const signature of buildOddSignatures()) {
        const answers = new Set<string>();
        for (const [body, headers] of sendable) {
          const sent = { ...headers, ...(signature === null ? {} : { [signatureHeader]: signature }) };
          const answer = await harness.http.with(sent).send(method, path.replace('{id}', id), body);
          expect([signature, answer.status]).toEqual([signature, 401]);
          answers.add(JSON.stringify({ ...answer.body, requestId: undefined }));
        }
        expect([signature, answers.size]).toEqual([signature, 1]);
      }
    },
  );
});
