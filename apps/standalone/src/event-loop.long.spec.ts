// This test is long because it sends every route each shape of large input, and measures processor time.
// A short test of the same code: libs/platform/src/http/bodies/json-body.spec.ts
import { setTimeout as sleep } from 'node:timers/promises';
import { openApiDocument } from '@muster/contracts';
import { newId } from '@muster/platform';
import {
  type Harness,
  type HttpClient,
  isLongRun,
  measureLongestTurn,
  makeAgent,
  makeJob,
  makeWorkflow,
  maxTurnMs,
  startHarness,
  type Tenant,
} from '@muster/testing';
import { standalone } from './standalone';
import { type Access, buildExampleBody, type Field, listFields, listOperations, type Operation } from './walk-openapi';

/**
 * No request can block the event loop and so delay other requests. The spec sends every route of the document each
 * shape of input that is cheap to send and could be expensive to process. It covers new routes automatically.
 */
const bodyBytes = 500_000;
const maxAnswerBytes = 64 * 1024;

/** Joins as many elements as fill a body of this size. */
const joinUpToSize = (each: (at: number) => string, bytes: number = bodyBytes) => {
  const parts: string[] = [];
  for (let left = bytes, at = 0; left > 0; at += 1) {
    const part = each(at);
    parts.push(part);
    left -= part.length + 1;
  }
  return parts.join(',');
};

const repeatUpToSize = (bytes: number, each: (at: number) => string, between: string) =>
  Array.from({ length: bytes / 6 }, (_, at) => each(at))
    .join(between)
    .slice(0, bytes);

/** Large values as JSON, by the name of their shape. */
const hugeValues: Record<string, (bytes: number) => string> = {
  'distinct texts': (bytes) => `[${joinUpToSize((at) => `"${at.toString(36)}"`, bytes)}]`,
  'empty objects': (bytes) => `[${joinUpToSize(() => '{}', bytes)}]`,
  'empty lists': (bytes) => `[${joinUpToSize(() => '[]', bytes)}]`,
  'objects of unknown fields': (bytes) => `[{${joinUpToSize((at) => `"${at.toString(36)}":0`, bytes)}}]`,
  'distinct names': (bytes) => `{${joinUpToSize((at) => `"${at.toString(36)}":""`, bytes)}}`,
  'one long text': (bytes) => `"${'a'.repeat(bytes)}"`,
  'dots and ats': (bytes) => `"${'a@a.'.repeat(bytes / 4)}"`,
  spaces: (bytes) => `" ${' '.repeat(bytes)}x"`,
  escapes: (bytes) => `"${'\\u00e9'.repeat(bytes / 6)}"`,
  'a long number': (bytes) => '9'.repeat(bytes),
  'deep lists': (bytes) => `${'['.repeat(60)}${joinUpToSize(() => '0', bytes)}${']'.repeat(60)}`,
};

const listShapes = ['distinct texts', 'empty objects', 'empty lists', 'objects of unknown fields', 'distinct names'];
const plainShapes = [
  'one long text',
  'dots and ats',
  'spaces',
  'escapes',
  'a long number',
  'deep lists',
  'distinct names',
];

jest.setTimeout(180_000);

/** In its short form, the spec sends each route a quarter of the shapes. Each shape still reaches many routes. */
const selectShapes = <T>(shapes: T[], { path }: Operation): T[] =>
  isLongRun() ? shapes : shapes.filter((_, at) => (at + path.length) % 4 === 0);

const isListShape = ({ kind }: Field) => kind === 'array' || kind === 'object';

describe('a large request', () => {
  let harness: Harness;
  let tenant: Tenant;
  const ids: Record<string, string> = {};

  beforeAll(async () => {
    harness = await startHarness({
      ...standalone,
      env: { RATE_LIMIT_PER_MINUTE: '1000000', RATE_LIMIT_ANONYMOUS_PER_MINUTE: '1000000', LOG_LEVEL: 'warn' },
    });
    tenant = await harness.makeTenant();
    const { organizationId } = tenant;
    ids['/api/agent'] = (await makeAgent(harness.db, { organizationId, name: newId() })).id;
    ids['/api/workflows'] = (await makeWorkflow(harness.db, { organizationId })).id;
    ids['/api/jobs'] = (await makeJob(harness.db, { organizationId })).id;
  });
  afterAll(() => harness.close());

  const all = listOperations(openApiDocument);
  const nameOperations = (list: Operation[]) =>
    list.map((operation) => [`${operation.method} ${operation.path}`, operation] as const);
  const chooseClient = ({ access }: Operation): HttpClient => {
    if (typeof access !== 'object') return harness.http;
    if (access.keys.includes('worker')) return tenant.worker;
    return access.keys.includes('api') ? tenant.api : tenant.as[(access as Access).sessions as 'admin'];
  };
  const fillOperationPath = ({ path }: Operation) => {
    const knownPrefix = Object.keys(ids).find((prefix) => path.startsWith(prefix));
    return path
      .replace('{id}', knownPrefix ? ids[knownPrefix]! : newId())
      .replace('{key}', 'KEY')
      .replace('{revision}', '1')
      .replace(/\{\w+\}/g, () => newId());
  };

  async function expectQuickAnswer(
    label: string,
    operation: Operation,
    send: (client: HttpClient) => Promise<Response>,
  ) {
    const turn = await measureLongestTurn(async () => {
      const answer = await send(chooseClient(operation));
      const text = await answer.text();
      expect([label, answer.status < 500 && operation.statuses]).toEqual([
        label,
        expect.arrayContaining([String(answer.status)]),
      ]);
      if (answer.status >= 400) expect([label, text.length < maxAnswerBytes]).toEqual([label, true]);
    });
    expect([label, turn < maxTurnMs ? 'quick' : `a turn of ${Math.round(turn)} ms`]).toEqual([label, 'quick']);
  }

  const createPost =
    (operation: Operation, body: Uint8Array, headers: Record<string, string> = {}) =>
    (client: HttpClient) =>
      fetch(harness.url + fillOperationPath(operation), {
        method: operation.method,
        headers: { 'content-type': 'application/json', ...client.headers, ...headers },
        body,
      });

  const createQueryRequest = (operation: Operation, text: string) => (client: HttpClient) =>
    fetch(`${harness.url}${fillOperationPath(operation)}?${text}`, {
      method: operation.method,
      headers: client.headers,
    });

  it.each(nameOperations(all.filter(({ body }) => body)))(
    'a request to %s with a large body does not block the event loop',
    async (_, operation) => {
      const example = buildExampleBody(openApiDocument, operation) as Record<string, unknown>;
      const fields = listFields(openApiDocument, operation);
      const buildHugeBodies = (names: string[], shape: string) => {
        const huge = names.map((name) => `${JSON.stringify(name)}:${hugeValues[shape]!(bodyBytes / names.length)}`);
        const others = Object.entries(example).filter(([name]) => !names.includes(name));
        return `{${[...others.map(([name, value]) => `"${name}":${JSON.stringify(value)}`), ...huge].join(',')}}`;
      };
      const plain = fields.filter((field) => !isListShape(field)).map(({ name }) => name);
      const bodies: [string, string][] = [
        ['unknown fields', `{${joinUpToSize((at) => `"${at.toString(36)}":0`)}}`],
        // Each list is filled alone, because a list is checked element by element.
        ...fields
          .filter(isListShape)
          .flatMap(({ name }) =>
            listShapes.map((shape): [string, string] => [`${name}: ${shape}`, buildHugeBodies([name], shape)]),
          ),
        ...(plain.length ? plainShapes : []).map((shape): [string, string] => [shape, buildHugeBodies(plain, shape)]),
      ];
      for (const [label, body] of selectShapes(bodies, operation)) {
        await expectQuickAnswer(label, operation, createPost(operation, Buffer.from(body)));
      }
    },
  );

  it.each(nameOperations(all.filter(({ bodyLimit, body }) => body && bodyLimit > 1024 * 1024)))(
    'a request to %s with a body at the route’s raised size limit does not block the event loop',
    async (_, operation) => {
      const bytes = operation.bodyLimit - 1000;
      const fields = listFields(openApiDocument, operation);
      const bodies: [string, string][] = [
        ['unknown fields', `{${joinUpToSize((at) => `"${at.toString(36)}":0`, bytes)}}`],
        ...fields.filter(isListShape).flatMap(({ name }): [string, string][] => [
          [`${name}: empty objects`, `{"${name}":[${joinUpToSize(() => '{}', bytes)}]}`],
          [`${name}: distinct names`, `{"${name}":[{${joinUpToSize((at) => `"${at}":""`, bytes)}}]}`],
        ]),
        // One field that is not a list is enough, because all such fields are parsed in the same way.
        ...fields
          .filter((field) => !isListShape(field))
          .slice(0, 1)
          .map(({ name }): [string, string] => [`${name}: one text`, `{"${name}":"${'x'.repeat(bytes - 100)}"}`]),
      ];
      for (const [label, body] of bodies) {
        const headers: Record<string, string> = { 'idempotency-key': newId() };
        await expectQuickAnswer(label, operation, createPost(operation, Buffer.from(body), headers));
      }
    },
  );

  const buildList = <T>(count: number, each: (at: number) => T) => Array.from({ length: count }, (_, at) => each(at));
  const buildLogLine = (jobId: string, seq: number, message: string) => ({
    ...{ jobId, seq, message, level: 'info', timestamp: 1_767_225_600 },
  });
  const buildClaimRows = (count: number) => buildList(count, (at) => ({ CLAIM_ID: `C-${at}` }));

  it.each<[string, string, () => Promise<unknown>]>([
    [
      'log lines of escaped characters',
      '/api/job-logs',
      async () => ({ logs: buildList(1000, (at) => buildLogLine(ids['/api/jobs']!, at, '"\\'.repeat(250))) }),
    ],
    [
      'log lines of multi-byte characters',
      '/api/job-logs',
      async () => ({ logs: buildList(15, (at) => buildLogLine(ids['/api/jobs']!, at, 'é€😀"'.repeat(6_000))) }),
    ],
    [
      'log lines of 1,000 unknown jobs',
      '/api/job-logs',
      async () => ({ logs: buildList(1000, (at) => buildLogLine(newId(), at, 'x'.repeat(900))) }),
    ],
    [
      'log lines of 1,000 jobs',
      '/api/job-logs',
      async () => {
        const { organizationId } = tenant;
        const jobs = await Promise.all(buildList(1000, () => makeJob(harness.db, { organizationId })));
        return { logs: jobs.map(({ id }, at) => buildLogLine(id, at, 'x'.repeat(900))) };
      },
    ],
    ['a cancellation of 1,000 runs', '/api/jobs/cancel', async () => ({ ids: buildList(1000, () => newId()) })],
    [
      'a batch of 10,000 runs',
      '/api/jobs/batch',
      async () => ({ workflowId: ids['/api/workflows'], agentIds: [ids['/api/agent']], rows: buildClaimRows(10_000) }),
    ],
    [
      'a batch over 1,000 unknown agents',
      '/api/jobs/batch',
      async () => ({
        workflowId: ids['/api/workflows'],
        agentIds: buildList(1000, () => newId()),
        rows: buildClaimRows(10_000),
      }),
    ],
    [
      'a step with the maximum of metadata',
      '/api/agents/{id}/step-status',
      async () => ({
        ...{ jobId: ids['/api/jobs'], stepOrder: 1, status: 'running' },
        metadata: Object.fromEntries(buildClaimRows(19_000).map(({ CLAIM_ID }) => [CLAIM_ID, ['"', { npi: 1 }]])),
      }),
    ],
  ])('a request with %s does not block the event loop', async (label, path, make) => {
    const operation = all.find((each) => each.path === path && each.method === 'POST')!;
    const body = Buffer.from(JSON.stringify(await make()));
    await expectQuickAnswer(label, operation, createPost(operation, body));
  });

  it.each(nameOperations(all.filter(({ queryNames }) => queryNames.length > 0)))(
    'a request to %s with a long query does not block the event loop',
    async (_, operation) => {
      for (const name of operation.queryNames) {
        await expectQuickAnswer(name, operation, createQueryRequest(operation, `${name}=${'1'.repeat(12_000)}`));
        await expectQuickAnswer(
          name,
          operation,
          createQueryRequest(
            operation,
            repeatUpToSize(12_000, () => `${name}=1`, '&'),
          ),
        );
      }
    },
  );

  // Headers are checked before the route is known, so one route of each kind of caller represents all routes.
  const callers = [...new Map(all.map((operation) => [JSON.stringify(operation.access), operation])).values()];

  it.each(nameOperations(callers))(
    'a request to %s with long headers does not block the event loop',
    async (_, operation) => {
      const headers: [string, Record<string, string>][] = [
        ['many cookies', { cookie: repeatUpToSize(12_000, (at) => `${at.toString(36)}=1`, '; ') }],
        ['a long key', { 'x-api-key': `msk_${'a'.repeat(12_000)}` }],
        ['a long list of types', { 'content-type': repeatUpToSize(12_000, () => 'a/b', ';') }],
        ['a long Bearer', { authorization: `Bearer ${' '.repeat(12_000)}` }],
        ['many addresses', { 'x-forwarded-for': repeatUpToSize(12_000, () => '1.1.1.1', ',') }],
        ['many names', Object.fromEntries(Array.from({ length: 1000 }, (__, at) => [`x-${at}`, '1']))],
      ];
      for (const [label, each] of headers) {
        await expectQuickAnswer(label, operation, (client) =>
          fetch(harness.url + fillOperationPath(operation), {
            method: operation.method,
            headers: { ...client.headers, ...each },
          }),
        );
      }
    },
  );

  it.each(nameOperations(all.filter(({ form }) => form)))(
    'a request to %s with a large form does not block the event loop',
    async (_, operation) => {
      const buildPartHead = (name: string) => `--x\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n`;
      const file = `--x\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n`;
      const bodies: [string, string][] = [
        ['many fields', Array.from({ length: 20_000 }, (__, at) => `${buildPartHead(`f${at}`)}1\r\n`).join('')],
        ['one field many times', `${buildPartHead('agentIds')}1\r\n`.repeat(20_000)],
        ['many files', `${file}1\r\n`.repeat(20_000)],
        [
          'long fields',
          Array.from({ length: 20 }, (__, at) => `${buildPartHead(`f${at}`)}${'x'.repeat(1_000_000)}\r\n`).join(''),
        ],
        ['commas', `${buildPartHead('agentIds')}${','.repeat(1_000_000)}\r\n`],
        ['a JSON list', `${buildPartHead('agentIds')}[${joinUpToSize((at) => `"${at.toString(36)}"`)}]\r\n`],
        ['many headers', `--x\r\n${Array.from({ length: 20_000 }, (__, at) => `x-${at}: 1\r\n`).join('')}\r\n1\r\n`],
        ['invalid boundaries', `${buildPartHead('a')}${'\r\n--'.repeat(300_000)}\r\n`],
        ['no line ends', 'x'.repeat(5_000_000)],
      ];
      for (const [label, body] of bodies) {
        const sent = Buffer.from(`${body}--x--\r\n`);
        await expectQuickAnswer(
          label,
          operation,
          createPost(operation, sent, { 'content-type': 'multipart/form-data; boundary=x' }),
        );
      }
    },
  );

  it('the body of an unauthenticated request is not read', async () => {
    const body = Buffer.from(`{${joinUpToSize((at) => `"${at.toString(36)}":0`, 10 * 1024 * 1024)}}`);
    const before = process.memoryUsage().rss;
    const routes = all.filter(({ body: takes, access }) => takes && access !== 'anyone');
    const turn = await measureLongestTurn(async () => {
      for (const operation of routes.slice(0, 8)) {
        // This process copies each body that it sends, so each request starts in a separate turn of the event loop.
        const sent = Array.from({ length: 4 }, (_, at) =>
          sleep(10 * at).then(() => createPost(operation, body)(harness.http)),
        );
        const answers = await Promise.all(sent);
        expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401]);
      }
      const nowhere = await createPost({ ...routes[0]!, path: '/api/nowhere' }, body)(harness.http);
      expect(nowhere.status).toBe(404);
    });
    expect(turn).toBeLessThan(maxTurnMs);
    expect(process.memoryUsage().rss - before).toBeLessThan(300 * 1024 * 1024);
  });
});
