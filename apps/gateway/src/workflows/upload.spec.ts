import { newId } from '@muster/platform';
import { ObjectStorage } from '@muster/storage';
import { type Harness, makeAgent, startHarness, type Tenant } from '@muster/testing';
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gateway } from '../gateway.harness';

const steps = [
  { type: 'navigate', url: 'https://example.com/', assertedEvents: [{ type: 'navigation', url: '', title: '' }] },
  { type: 'change', value: '{{CLAIM_ID}}', selectors: [['aria/Claim'], ['#claim']] },
  { type: 'change', value: '{{PATH}}', selectors: [['#path']] },
];
const flow = JSON.stringify({ title: 'Look up a claim', timeout: 8000, steps });
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

describe('uploaded recordings', () => {
  let harness: Harness;
  let tenant: Tenant;

  beforeAll(async () => {
    harness = await startHarness(gateway);
    tenant = await harness.makeTenant();
  });
  afterAll(() => harness.close());

  const uploadRecording = async (
    recording: string | Uint8Array | null,
    { fields = {}, client = tenant.api, headers = {} }: Record<string, any> = {},
  ) => {
    const form = new FormData();
    for (const [name, value] of Object.entries(fields as Record<string, string>)) form.set(name, value);
    if (recording !== null) form.set('recording', new Blob([recording as string]), 'recording');
    const answer = await fetch(`${harness.url}/api/workflows/upload`, {
      method: 'POST',
      headers: { ...(client as any).headers, ...headers },
      body: form,
    });
    const body: any = await answer.json();
    return { status: answer.status, headers: answer.headers, body };
  };
  const makeZipOf = async (files: Record<string, string | Buffer>) => {
    const folder = await mkdtemp(join(tmpdir(), 'muster-zip-'));
    try {
      for (const [name, bytes] of Object.entries(files)) await writeFile(join(folder, name), bytes);
      const zip =
        'import sys, zipfile\nwith zipfile.ZipFile("out.zip", "w", 8) as z:\n  [z.write(f) for f in sys.argv[1:]]';
      execFileSync('python3', ['-c', zip, ...Object.keys(files)], { cwd: folder });
      return execFileSync('cat', [join(folder, 'out.zip')]);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  };
  const countOf = async () => (await tenant.api.get('/api/workflows?limit=200')).body.workflows.length;

  it('the title of an uploaded recording is cut to the maximum length of a workflow’s name', async () => {
    const title = `x${'😀'.repeat(150)}`;
    const { status, body } = await uploadRecording(JSON.stringify({ title, steps }));
    expect([status, body.name]).toEqual([201, `x${'😀'.repeat(99)}…`]);
  });

  it('an uploaded recording creates a workflow with steps, variables and a script that Python parses', async () => {
    const created = await uploadRecording(flow);
    expect(created.status).toBe(201);
    expect(created.headers.get('location')).toBe(`/api/workflows/${created.body.id}`);
    expect(created.body).toMatchObject({
      name: 'Look up a claim',
      revision: 1,
      variables: ['CLAIM_ID'],
      steps: steps.map((step, at) => ({ id: `step-${at + 1}`, ...step })),
      warnings: [
        {
          stepId: expect.stringMatching(/^step-/),
          message: 'the steps use {{PATH}}, which is not a variable: each run must provide it as a vault key',
        },
      ],
    });
    expect(created.body.script).toContain(
      '    with step(browser, "step-2", "Fill in “Claim”", timeout=8) as page:\n' +
        '        page.change([["aria/Claim"], ["#claim"]], "{{CLAIM_ID}}", timeout=8)\n',
    );
    execFileSync('python3', ['-c', 'import ast, sys; ast.parse(sys.stdin.read())'], { input: created.body.script });
    const read = await tenant.api.get(`/api/workflows/${created.body.id}`);
    expect(read.body).toEqual(created.body);
    expect(read.headers.get('etag')).toBe(created.headers.get('etag'));
  });

  it('the workflow of an uploaded recording has the specified name, or a default name', async () => {
    expect((await uploadRecording(flow, { fields: { name: 'Mine' } })).body.name).toBe('Mine');
    expect((await uploadRecording('{"steps":[{"type":"close"}]}')).body.name).toBe('Recording');
  });

  it('the screenshots of an uploaded zip are stored under the keys that the steps contain', async () => {
    const zip = await makeZipOf({ 'flow.json': flow, 'step-2.png': png, 'step-3.png': png, 'other.png': png });
    const { status, body } = await uploadRecording(zip);
    expect(status).toBe(201);
    const keys = body.steps.flatMap((step: any) => step.metadata?.screenshots ?? []);
    const folder = `workflows/${tenant.organizationId}/${body.id}`;
    expect(body.steps.map((step: any) => step.metadata?.screenshots)).toEqual([
      [`${folder}/1.png`],
      [`${folder}/2.png`],
      [`${folder}/3.png`],
    ]);
    const storage = harness.app.nest.get(ObjectStorage);
    for (const key of keys) expect(await storage.get(key)).toEqual(png);
  });

  it('uploads with the same Idempotency-Key create one workflow and keep no repeated screenshots', async () => {
    const zip = await makeZipOf({ 'flow.json': flow, 'step-1.png': png });
    const headers = { 'idempotency-key': 'upload-1' };
    const first = await uploadRecording(zip, { headers });
    const putKeys: string[] = [];
    const deletedKeys: string[] = [];
    const storage = harness.app.nest.get(ObjectStorage);
    const [put, del] = [storage.put.bind(storage), storage.delete.bind(storage)];
    storage.put = (key, ...rest) => (putKeys.push(key), put(key, ...rest));
    storage.delete = (key) => (deletedKeys.push(key), del(key));
    try {
      const again = await uploadRecording(zip, { headers });
      expect([again.headers.get('idempotency-replayed'), again.body]).toEqual(['true', first.body]);
      expect(deletedKeys).toEqual(putKeys);
      expect((await uploadRecording(flow, { headers })).status).toBe(422);
    } finally {
      Object.assign(storage, { put, delete: del });
    }
    expect(await storage.get(first.body.steps[0].metadata.screenshots[0])).toEqual(png);
  });

  it.each<[string, string | Uint8Array | null, object, number, RegExp]>([
    ['no file', null, {}, 400, /recording/],
    ['a file that is not a recording', 'hello', {}, 400, /not valid JSON/],
    ['a recording without steps', '{"title":"x","steps":[]}', {}, 400, /no steps/],
    ['a broken zip', Buffer.from('PK\x03\x04 and so on'), {}, 400, /zip cannot be read/],
    ['an unknown field', flow, { surprise: '1' }, 400, /surprise/],
    ['an empty name', flow, { name: '' }, 400, /name/],
    ['a name of 201 characters', flow, { name: 'x'.repeat(201) }, 400, /name/],
    ['21 MiB', Buffer.alloc(21 * 1024 * 1024, 'x'), {}, 413, /more than 20971520 bytes/],
  ])('an upload with %s creates no workflow', async (_, recording, fields, status, detail) => {
    const before = await countOf();
    const answer = await uploadRecording(recording, { fields });
    expect([answer.status, answer.body.detail]).toEqual([status, expect.stringMatching(detail)]);
    expect(await countOf()).toBe(before);
  });

  it('only members can upload a recording, which must be a file in a form', async () => {
    const json = await tenant.api.post('/api/workflows/upload', JSON.parse(flow));
    expect([json.status, json.body.code]).toEqual([415, 'unsupported_media_type']);
    expect((await uploadRecording(flow, { client: tenant.as.viewer })).status).toBe(403);
    expect((await uploadRecording(flow, { client: harness.http })).status).toBe(401);
  });

  describe('recordings from the browser of an agent', () => {
    const insertRecording = async (events: string | null, status = 'kept') => {
      const { organizationId } = tenant;
      const [id, artifactId, key] = [newId(), newId(), `artifacts/${organizationId}/${newId()}.json`];
      const { id: agentId } = await makeAgent(harness.db, { organizationId, name: newId() });
      await harness.db.query(
        'system',
        `INSERT INTO artifact (id, organization_id, agent_id, kind, filename, content_type, size, storage_key)
         VALUES ($1, $2, $3, 'file', 'r.json', 'application/json', $4, $5)`,
        [artifactId, organizationId, agentId, events?.length ?? 0, key],
      );
      if (events !== null) await harness.app.nest.get(ObjectStorage).put(key, Buffer.from(events), 'application/json');
      await harness.db.query(
        'system',
        `INSERT INTO recording (id, organization_id, agent_id, name, kind, status, events_artifact_id)
         VALUES ($1, $2, $3, 'Monday', 'browser', $4, $5)`,
        [id, organizationId, agentId, status, events === null ? null : artifactId],
      );
      return id;
    };
    const secretly = { type: 'change', value: '{{PASSWORD}}', selectors: [['#p']], metadata: { secret: true } };
    const recorded = JSON.stringify({ title: 'In the browser', steps: [...steps.slice(0, 2), secretly] });
    const requestUploadOfRecording = (body: object, client = tenant.api) => client.post('/api/workflows/upload', body);

    it('a recording’s id in JSON or a form creates a workflow, with passwords as vault keys', async () => {
      const recordingId = await insertRecording(recorded);
      const created = await requestUploadOfRecording({ recordingId });
      expect(created).toMatchObject({
        status: 201,
        body: {
          name: 'Monday',
          variables: ['CLAIM_ID'],
          warnings: [
            {
              stepId: 'step-3',
              message: 'the steps use {{PASSWORD}}, which is not a variable: each run must provide it as a vault key',
            },
          ],
        },
      });
      expect(created.body.steps).toHaveLength(3);
      expect(created.body.script).toContain('page.change([["#p"]], "{{PASSWORD}}")');
      expect((await requestUploadOfRecording({ recordingId, name: 'Mine' })).body.name).toBe('Mine');
      const inForm = await uploadRecording(null, { fields: { recordingId } });
      expect([inForm.status, inForm.body.steps]).toEqual([201, created.body.steps]);
    });

    it('no workflow is created from an unfinished or video-only recording, or another organization’s', async () => {
      const recordingId = await insertRecording(recorded);
      const otherTenant = await harness.makeTenant();
      const before = await countOf();
      expect((await requestUploadOfRecording({ recordingId }, otherTenant.api)).status).toBe(404);
      expect((await requestUploadOfRecording({ recordingId: newId() })).status).toBe(404);
      expect((await requestUploadOfRecording({ recordingId }, tenant.as.viewer)).status).toBe(403);
      for (const status of ['starting', 'recording', 'stopping', 'failed'])
        expect(await requestUploadOfRecording({ recordingId: await insertRecording(recorded, status) })).toMatchObject({
          status: 409,
          body: { code: 'conflict', recordingStatus: status },
        });
      expect((await requestUploadOfRecording({ recordingId: await insertRecording(null) })).body.detail).toContain(
        'is a video and contains no steps',
      );
      for (const bad of [{}, { recordingId: 'x' }, { recordingId, script: 'print(1)' }, []]) {
        expect((await requestUploadOfRecording(bad)).status).toBe(400);
      }
      expect((await requestUploadOfRecording({ recordingId: await insertRecording('{"steps":[]}') })).status).toBe(400);
      expect((await uploadRecording(recorded, { fields: { recordingId } })).status).toBe(400);
      expect((await uploadRecording(null)).status).toBe(400);
      expect(await countOf()).toBe(before);
    });
  });
});
