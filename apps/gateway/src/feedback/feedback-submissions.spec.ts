import { smallestIdAt, newId } from '@muster/platform';
import { type Harness, makeAgent, makeJob, makeOrganization, startHarness, type Tenant } from '@muster/testing';
import sharp from 'sharp';
import { gateway } from '../gateway.harness';
import { bug, sendReport, sendForm, wish } from './feedback.harness';

const path = '/api/feedback-submissions';

describe('feedback submissions', () => {
  let harness: Harness;
  let tenant: Tenant;
  let otherTenant: Tenant;
  let picture: Buffer;

  beforeAll(async () => {
    harness = await startHarness(gateway);
    [tenant, otherTenant] = [await harness.makeTenant(), await harness.makeTenant()];
    picture = await sharp({ create: { width: 8, height: 4, channels: 3, background: 'red' } })
      .png()
      .toBuffer();
  });
  afterAll(() => harness.close());

  const countRows = async (table = 'feedback_submission') =>
    (await harness.db.query<{ n: number }>('system', `SELECT count(*)::int AS n FROM ${table}`))[0]!.n;

  it('feedback can be submitted by every role and by an API key, but not by machines', async () => {
    for (const client of [...Object.values(tenant.as), tenant.api]) {
      const created = await sendReport(client, wish);
      expect(created.status).toBe(201);
      expect(created.body).toEqual({
        id: expect.any(String),
        type: 'feature_request',
        status: 'received',
        createdAt: expect.stringMatching(/Z$/),
      });
      expect(created.headers.get('location')).toBe(`${path}/${created.body.id}`);
    }
    expect((await sendReport(tenant.worker, wish)).status).toBe(403);
    expect((await sendReport(harness.http, wish)).status).toBe(401);
  });

  it('a feedback submission has a presigned screenshot URL, an audit row and a work item', async () => {
    const { organizationId } = tenant;
    const { id: jobId, agentId } = await makeJob(harness.db, { organizationId });
    const payload = {
      ...bug,
      severity: 'high',
      steps: '1. Look',
      url: 'https://portal.example/claims',
      agentId,
      jobId,
    };
    const created = await sendReport(tenant.as.member, payload, picture);
    const { body } = await tenant.as.member.get(`${path}/${created.body.id}`);
    expect(body).toEqual({
      ...payload,
      id: created.body.id,
      status: 'received',
      workflowId: null,
      reporter: { id: tenant.userIds.member, email: expect.stringContaining('@') },
      screenshotUrl: expect.stringMatching(/^http/),
      external: null,
      createdAt: created.body.createdAt,
      updatedAt: created.body.createdAt,
      history: [],
    });
    const screenshot = await fetch(body.screenshotUrl);
    expect(screenshot.headers.get('content-type')).toBe('image/png');
    expect((await sharp(Buffer.from(await screenshot.arrayBuffer())).metadata()).width).toBe(8);
    const { entries } = (await tenant.as.admin.get(`/api/audit?targetId=${body.id}`)).body;
    expect(entries).toEqual([expect.objectContaining({ action: 'feedback.create', changes: { type: 'bug_report' } })]);
    const items = await harness.db.query('system', 'SELECT due_at FROM feedback_work_item WHERE submission_id = $1', [
      body.id,
    ]);
    expect(items).toEqual([{ dueAt: expect.any(Date) }]);
  });

  it('a suspended organization can submit feedback', async () => {
    const suspendedTenant = await harness.makeTenant();
    await tenant.as.super_admin.patch(`/api/admin/organizations/${suspendedTenant.organizationId}`, {
      suspended: true,
    });
    expect((await sendReport(suspendedTenant.as.member, wish)).status).toBe(201);
  });

  it('a super_admin’s feedback belongs to the organization that they selected, or to their own', async () => {
    const client = otherTenant.as.super_admin;
    const submitAndReadOwner = async () => {
      const { id } = (await sendReport(client, wish)).body;
      const [row] = await harness.db.query<{ organizationId: string }>(
        'system',
        'SELECT organization_id FROM feedback_submission WHERE id = $1',
        [id],
      );
      return row!.organizationId;
    };
    const { id: elsewhere } = await makeOrganization(harness.db);
    expect((await client.post('/api/auth/organization', { organizationId: elsewhere })).status).toBe(200);
    expect(await submitAndReadOwner()).toBe(elsewhere);
    await client.post('/api/auth/organization', { organizationId: null });
    expect(await submitAndReadOwner()).toBe(otherTenant.organizationId);
  });

  const makeTextOfLength = (length: number) => 'x'.repeat(length);

  it.each<[string, object | string, number, string?]>([
    ['invalid JSON', '{"type":', 400],
    ['a list', '[]', 400],
    ['no type', { title: 't', description: 'd' }, 400],
    ['an unknown type', { ...wish, type: 'praise' }, 400],
    ['a type named like a prototype property', { ...wish, type: 'constructor' }, 400],
    ['no title', { ...wish, title: '' }, 400],
    ['a title of spaces', { ...wish, title: ' \u00a0\n' }, 400],
    ['a description of spaces', { ...wish, description: '  ' }, 400],
    ['a long title', { ...wish, title: makeTextOfLength(201) }, 400],
    ['no description', { type: 'bug_report', title: 't' }, 400],
    ['a long description', { ...wish, description: makeTextOfLength(10_001) }, 400],
    ['an unknown field', { ...wish, surprise: 1 }, 400],
    ['another type’s field', { ...wish, severity: 'low' }, 400],
    ['an unknown severity', { ...bug, severity: 'worst' }, 400],
    ['empty steps', { ...bug, steps: '' }, 400],
    ['a wrong url', { ...bug, url: 'javascript:alert(1)' }, 400],
    ['no workflow', { ...bug, type: 'workflow_issue_report' }, 400],
    ['U+0000', { ...wish, title: 'a\u0000b' }, 400],
    ['half a surrogate pair', JSON.stringify({ ...wish, title: 'a' }).replace('"a"', '"\\ud800"'), 400],
    ['a depth of 65', `${'['.repeat(65)}${']'.repeat(65)}`, 400],
    ['a field named __proto__', '{"__proto__":{"type":"bug_report"},"title":"t","description":"d"}', 400],
    ['a number for a text', { ...wish, title: 1 }, 400],
    ['null for an optional field', { ...wish, agentId: null }, 400],
    ['an unknown agent', { ...wish, agentId: newId() }, 404],
    ['an unknown job', { ...bug, jobId: newId() }, 404],
    ['an unknown workflow', { ...bug, type: 'workflow_issue_report', workflowId: newId() }, 404],
    ['more than 64 KiB', JSON.stringify({ ...wish, extra: makeTextOfLength(65_536) }), 413],
  ])('a feedback submission with %s is refused', async (_, payload, status) => {
    const before = await countRows();
    const answer = await sendReport(tenant.api, payload);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      status,
      expect.stringContaining('application/problem+json'),
    ]);
    expect(await countRows()).toBe(before);
  });

  it('feedback on an agent, workflow or job of another organization is refused like on an unknown one', async () => {
    const {
      id: jobId,
      agentId,
      workflowId,
    } = await makeJob(harness.db, { organizationId: otherTenant.organizationId });
    for (const payload of [
      { ...wish, agentId },
      { ...bug, jobId },
      { ...bug, type: 'workflow_issue_report', workflowId },
    ]) {
      expect((await sendReport(tenant.api, payload)).status).toBe(404);
    }
  });

  it('a feedback form must contain a payload, and may contain nothing else but a screenshot', async () => {
    expect((await tenant.api.post(path, wish)).status).toBe(415);
    expect((await sendForm(tenant.api, path, {})).status).toBe(400);
    expect((await sendForm(tenant.api, path, { payload: JSON.stringify(wish), more: '1' })).status).toBe(400);
    const film = new File(['x'], 'a.mp4');
    expect((await sendForm(tenant.api, path, { payload: JSON.stringify(wish), film })).status).toBe(400);
  });

  it('a feedback text may contain replacement characters, but no invalid UTF-8', async () => {
    const title = 'M\ufffdller shows as \ufffd\ufffd';
    const created = await sendReport(tenant.api, { ...bug, title }, picture);
    expect(created.status).toBe(201);
    expect((await tenant.api.get(`${path}/${created.body.id}`)).body.title).toBe(title);
    const before = await countRows();
    const { url, headers } = tenant.api;
    const [start, end] = ['--x\r\ncontent-disposition: form-data; name="payload"\r\n\r\n', '\r\n--x--\r\n'];
    const body = Buffer.from(`${start}${JSON.stringify({ ...bug, title: 'a\ufffdb?' })}${end}`);
    body[body.indexOf('?')] = 0xff;
    const as = { ...headers, 'content-type': 'multipart/form-data; boundary=x' };
    expect((await fetch(`${url}${path}`, { method: 'POST', headers: as, body })).status).toBe(400);
    expect(await countRows()).toBe(before);
  });

  it('a feedback form accepts the empty file that a browser sends if the user has chosen no file', async () => {
    const { id: workflowId } = (await tenant.api.post('/api/workflows', { name: 'unchosen' })).body;
    for (const payload of [bug, { ...bug, type: 'workflow_issue_report', workflowId }]) {
      const none = new File([], '', { type: 'application/octet-stream' });
      const created = await sendForm(tenant.api, path, { payload: JSON.stringify(payload), screenshot: none });
      expect(created.status).toBe(201);
      expect((await tenant.api.get(`${path}/${created.body.id}`)).body.screenshotUrl).toBeNull();
    }
    const empty = new File([], 'screen.png', { type: 'image/png' });
    expect((await sendForm(tenant.api, path, { payload: JSON.stringify(bug), screenshot: empty })).status).toBe(415);
  });

  it('a screenshot is refused if it is not an image, is too large, or belongs to a workflow report', async () => {
    const { id: workflowId } = (await tenant.api.post('/api/workflows', { name: 'w' })).body;
    const issue = { ...bug, type: 'workflow_issue_report', workflowId };
    expect((await sendReport(tenant.api, issue)).status).toBe(201);
    const before = await countRows();
    expect((await sendReport(tenant.api, issue, picture)).status).toBe(400);
    expect((await sendReport(tenant.api, bug, Buffer.from('<svg/>'))).status).toBe(415);
    expect((await sendReport(tenant.api, bug, Buffer.concat([picture.subarray(0, 40)]))).status).toBe(400);
    const large = Buffer.concat([picture, Buffer.alloc(5 * 1024 * 1024)]);
    expect((await sendReport(tenant.api, bug, large)).status).toBe(413);
    expect(await countRows()).toBe(before);
  });

  describe('lists of feedback submissions', () => {
    let listTenant: Tenant;
    const ids = { viewer: '', member: '', api: '' };

    beforeAll(async () => {
      listTenant = await harness.makeTenant();
      ids.viewer = (await sendReport(listTenant.as.viewer, wish)).body.id;
      ids.member = (await sendReport(listTenant.as.member, bug)).body.id;
      ids.api = (await sendReport(listTenant.api, bug)).body.id;
    });
    const listSubmissionIds = async (client: Tenant['api'], query = '') =>
      (await client.get(`${path}${query}`)).body.submissions.map(({ id }: { id: string }) => id);

    it('only admins see the feedback submissions of other users of their organization', async () => {
      const all = [ids.api, ids.member, ids.viewer];
      expect(await listSubmissionIds(listTenant.as.admin)).toEqual(all);
      expect(await listSubmissionIds(listTenant.as.super_admin)).toEqual(all);
      expect(await listSubmissionIds(listTenant.as.viewer)).toEqual([ids.viewer]);
      expect(await listSubmissionIds(listTenant.as.member)).toEqual([ids.member]);
      expect(await listSubmissionIds(listTenant.api)).toEqual([ids.api]);
      expect(await listSubmissionIds(tenant.as.admin)).not.toContain(ids.viewer);
      expect((await listTenant.as.viewer.get(`${path}/${ids.member}`)).status).toBe(404);
      expect((await listTenant.as.admin.get(`${path}/${ids.member}`)).status).toBe(200);
      expect((await tenant.as.super_admin.get(`${path}/${ids.member}`)).status).toBe(404);
    });

    it('feedback submissions are listed page by page, and by type, status and time', async () => {
      const { admin } = listTenant.as;
      expect(await listSubmissionIds(admin, '?type=feature_request')).toEqual([ids.viewer]);
      expect(await listSubmissionIds(admin, '?status=received')).toHaveLength(3);
      expect(await listSubmissionIds(admin, '?status=closed')).toEqual([]);
      const at = (await admin.get(`${path}/${ids.member}`)).body.createdAt as string;
      expect(await listSubmissionIds(admin, `?from=${at}`)).toContain(ids.member);
      expect(await listSubmissionIds(admin, `?to=${at}`)).toContain(ids.member);
      expect(await listSubmissionIds(admin, '?to=2020-01-01')).toEqual([]);
      const first = (await admin.get(`${path}?limit=2`)).body;
      expect(first.submissions).toHaveLength(2);
      expect(await listSubmissionIds(admin, `?limit=2&cursor=${first.nextCursor}`)).toEqual([ids.viewer]);
      for (const query of ['?type=praise', '?status=x', '?from=yesterday', '?cursor=x', '?limit=0']) {
        expect((await admin.get(`${path}${query}`)).status).toBe(400);
      }
    });

    it('feedback submissions are listed by days in the organization’s time zone, including the last day', async () => {
      await listTenant.as.admin.patch('/api/organization/settings', { timezone: 'Pacific/Auckland' });
      // In Auckland, 3 March starts at 11:00 UTC on 2 March.
      const at = new Date('2026-03-02T11:00Z');
      const id = smallestIdAt(at);
      await harness.db.query(
        'system',
        `INSERT INTO feedback_submission (id, organization_id, type, title, description, reporter_id, created_at)
         SELECT $1, organization_id, type, title, description, reporter_id, $2 FROM feedback_submission WHERE id = $3`,
        [id, at, ids.viewer],
      );
      const { admin } = listTenant.as;
      expect(await listSubmissionIds(admin, '?from=2026-03-03&to=2026-03-03')).toEqual([id]);
      expect(await listSubmissionIds(admin, '?to=2026-03-03')).toEqual([id]);
      expect(await listSubmissionIds(admin, '?from=2026-03-02&to=2026-03-02')).toEqual([]);
      // Times are stored in microseconds and shown in milliseconds. `to` includes its whole millisecond, not the next.
      expect(await listSubmissionIds(admin, '?to=2026-03-02T11:00:00.000Z')).toEqual([id]);
      expect(await listSubmissionIds(admin, '?to=2026-03-02T10:59:59.999Z')).toEqual([]);
    });
  });

  it('only an admin can change the status of feedback, and each change is recorded and requests a sync', async () => {
    const { id } = (await sendReport(tenant.as.member, bug)).body;
    const countSyncRequests = async () =>
      (
        await harness.db.query<{ armed: number }>(
          'system',
          'SELECT armed FROM feedback_work_item WHERE submission_id = $1',
          [id],
        )
      )[0]!.armed;
    for (const client of [tenant.as.viewer, tenant.as.member, tenant.api]) {
      expect((await client.patch(`${path}/${id}`, { status: 'closed' })).status).toBe(403);
    }
    expect((await otherTenant.as.admin.patch(`${path}/${id}`, { status: 'closed' })).status).toBe(404);
    expect((await tenant.as.admin.patch(`${path}/${id}`, { status: 'done' })).status).toBe(400);
    expect(await countSyncRequests()).toBe(1);
    const response = await tenant.as.admin.patch(`${path}/${id}`, { status: 'triaged' });
    expect([response.status, response.body.status, response.body.history]).toEqual([
      200,
      'triaged',
      [{ at: expect.any(String), from: 'received', to: 'triaged', source: 'user', reason: null }],
    ]);
    expect(await countSyncRequests()).toBe(2);
    expect((await tenant.as.admin.patch(`${path}/${id}`, { status: 'triaged' })).body.history).toHaveLength(1);
    expect(await countSyncRequests()).toBe(2);
  });

  it('feedback can be about every agent of the organization that is not terminated', async () => {
    const newTenant = await harness.makeTenant();
    const { organizationId } = newTenant;
    const agent = await makeAgent(harness.db, { organizationId, name: 'B', status: 'stopped' });
    await makeAgent(harness.db, { organizationId, name: 'A', status: 'terminated' });
    await makeAgent(harness.db, { organizationId: otherTenant.organizationId, name: 'C' });
    expect((await newTenant.as.viewer.get('/api/feedback/agents')).body).toEqual({
      agents: [{ id: agent.id, name: 'B', status: 'stopped' }],
    });
  });
});
