import { createHmac } from 'node:crypto';
import { newId } from '@muster/platform';
import { type Harness, makeOrganization, startHarness } from '@muster/testing';
import { ingest } from '../ingest.harness';

const path = { codehost: '/api/webhooks/codehost/feedback', tasktracker: '/api/webhooks/tasktracker/feedback' };
const secrets = { codehost: 'new secret', tasktracker: 'tasks' };

describe('tracker webhooks', () => {
  let harness: Harness;
  let submissionId: string;

  beforeAll(async () => {
    harness = await startHarness({
      ...ingest,
      env: {
        FEEDBACK_CODEHOST_WEBHOOK_SECRET: `${secrets.codehost}, old secret`,
        FEEDBACK_TASKTRACKER_WEBHOOK_SECRET: secrets.tasktracker,
      },
    });
    const { id: organizationId } = await makeOrganization(harness.db);
    submissionId = newId();
    await querySql(
      `INSERT INTO feedback_submission (id, organization_id, type, title, description, reporter_id)
       VALUES ($1, $2, 'bug_report', 't', 'd', 'key')`,
      [submissionId, organizationId],
    );
    await querySql('INSERT INTO feedback_work_item (submission_id, organization_id, due_at) VALUES ($1, $2, NULL)', [
      submissionId,
      organizationId,
    ]);
    for (const [tracker, scope, externalId, branch] of [
      ['codehost', 'acme/portal', '12', 'feedback/0123456789ab'],
      ['tasktracker', '901', '86c1', null],
    ]) {
      await querySql(
        `INSERT INTO feedback_link (id, submission_id, organization_id, tracker, scope, external_id, branch)
         VALUES ($1, $2, $3, $4, $5, $6, $7)`,
        [newId(), submissionId, organizationId, tracker, scope, externalId, branch],
      );
    }
  });
  afterAll(() => harness.close());

  const querySql = (text: string, values: unknown[] = []) => harness.db.query<any>('system', text, values);
  const countSyncRequests = async () =>
    (await querySql('SELECT armed FROM feedback_work_item WHERE submission_id = $1', [submissionId]))[0]
      .armed as number;
  const computeSignature = (secret: string, body: string) => createHmac('sha256', secret).update(body).digest('hex');
  const buildIssueEvent = (action = 'closed', number = 12) =>
    JSON.stringify({ action, issue: { number }, repository: { full_name: 'Acme/Portal' }, at: newId() });
  const buildPullRequestEvent = (body: string) =>
    JSON.stringify({
      ...{ action: 'opened', repository: { full_name: 'acme/portal' }, at: newId() },
      pull_request: { title: 'Repairs it', body, head: { ref: 'repair-it' } },
    });
  const buildTaskEvent = (event = 'taskStatusUpdated', id = '86c1') =>
    JSON.stringify({ event, task_id: id, at: newId() });
  const sendCodehostEvent = async (
    body: string,
    headers: Record<string, string> = {},
    { event = 'issues', delivery = newId(), signature = `sha256=${computeSignature(secrets.codehost, body)}` } = {},
  ) => {
    const own = { 'x-hub-signature-256': signature, 'x-github-event': event, 'x-github-delivery': delivery };
    const { status, body: answer } = await harness.http.with({ ...own, ...headers }).send('POST', path.codehost, body);
    return [status, status === 202 ? answer : answer.code];
  };
  const sendTask = async (body: string, signature = computeSignature(secrets.tasktracker, body)) => {
    const client = harness.http.with({ 'x-signature': signature });
    const { status, body: answer } = await client.send('POST', path.tasktracker, body);
    return [status, status === 202 ? answer : answer.code];
  };

  it('a pull request webhook requests a synchronization of the work item whose marker the pull request contains', async () => {
    const before = await countSyncRequests();
    expect(
      await sendCodehostEvent(buildPullRequestEvent(`For muster-feedback:${submissionId}`), {}, {
        event: 'pull_request',
      } as never),
    ).toEqual([202, { accepted: true }]);
    expect(await countSyncRequests()).toBe(before + 1);
    const unknown = { accepted: false, reason: 'unknown_reference' };
    const other = await sendCodehostEvent(buildPullRequestEvent(`muster-feedback:${newId()}`), {}, {
      event: 'pull_request',
    } as never);
    expect(other).toEqual([202, unknown]);
  });

  it('a webhook about an issue or a task requests one synchronization of its work item', async () => {
    const before = await countSyncRequests();
    expect(await sendCodehostEvent(buildIssueEvent())).toEqual([202, { accepted: true }]);
    expect(await sendTask(buildTaskEvent())).toEqual([202, { accepted: true }]);
    expect(await countSyncRequests()).toBe(before + 2);
    const [item] = await querySql('SELECT due_at FROM feedback_work_item WHERE submission_id = $1', [submissionId]);
    expect(item.dueAt).not.toBeNull();
    const messages = await querySql(`SELECT payload FROM outbox WHERE queue = 'feedback' AND name = 'sync-work-item'`);
    expect(messages).toContainEqual({ payload: { submissionId } });
  });

  it('a pull request webhook finds its work item by the branch, or by an issue that the text names', async () => {
    const buildPullRequestWith = (more: object) =>
      JSON.stringify({ action: 'opened', repository: { full_name: 'acme/portal' }, pull_request: more });
    const event = { event: 'pull_request' };
    expect(
      await sendCodehostEvent(buildPullRequestWith({ head: { ref: 'feedback/0123456789ab' } }), {}, event),
    ).toEqual([202, { accepted: true }]);
    expect(
      await sendCodehostEvent(buildPullRequestWith({ title: 'Repair it', body: 'Fixes #12.' }), {}, event),
    ).toEqual([202, { accepted: true }]);
    expect(await sendCodehostEvent(buildPullRequestWith({ title: 'Other', body: '#13' }), {}, event)).toEqual([
      202,
      { accepted: false, reason: 'unknown_reference' },
    ]);
  });

  it('a tracker webhook may be signed with either of two secrets during a rotation', async () => {
    const body = buildIssueEvent();
    expect(await sendCodehostEvent(body, {}, { signature: `sha256=${computeSignature('old secret', body)}` })).toEqual([
      202,
      { accepted: true },
    ]);
  });

  it.each<[string, (body: string) => string]>([
    ['missing', () => ''],
    ['made with another secret', (body) => `sha256=${computeSignature('other', body)}`],
    ['made with an empty secret', (body) => `sha256=${computeSignature('', body)}`],
    ['made with both secrets as one', (body) => `sha256=${computeSignature(`${secrets.codehost}, old secret`, body)}`],
    ['made for another body', (body) => `sha256=${computeSignature(secrets.codehost, `${body} `)}`],
    ['of another scheme', (body) => `sha1=${computeSignature(secrets.codehost, body)}`],
    ['without a scheme', (body) => computeSignature(secrets.codehost, body)],
    ['cut', (body) => `sha256=${computeSignature(secrets.codehost, body).slice(0, 62)}`],
    ['wrong in its last character', (body) => `sha256=${computeSignature(secrets.codehost, body).slice(0, 63)}x`],
  ])('a tracker webhook whose signature is %s is refused before anything else is checked', async (_, make) => {
    const before = await countSyncRequests();
    for (const body of [buildIssueEvent(), buildIssueEvent('starred'), '{"broken', '']) {
      expect(await sendCodehostEvent(body, {}, { signature: make(body) })).toEqual([401, 'unauthenticated']);
      expect((await sendTask(body, make(body)))[0]).toBe(401);
    }
    expect(await countSyncRequests()).toBe(before);
  });

  it('tracker webhooks are refused if no secret is configured', async () => {
    const closed = await startHarness(ingest);
    try {
      const body = buildIssueEvent();
      const client = closed.http.with({
        'x-hub-signature-256': `sha256=${computeSignature('', body)}`,
        'x-signature': computeSignature('', body),
      });
      expect((await client.send('POST', path.codehost, body)).status).toBe(401);
      expect((await client.send('POST', path.tasktracker, body)).status).toBe(401);
    } finally {
      await closed.close();
    }
  });

  it('the response to an ignored webhook states that its event is unsupported or its reference unknown', async () => {
    const unsupported = [202, { accepted: false, reason: 'unsupported_event' }];
    const unknown = [202, { accepted: false, reason: 'unknown_reference' }];
    const before = await countSyncRequests();
    expect(await sendCodehostEvent('{"zen":"Design for failure."}', {}, { event: 'ping' })).toEqual(unsupported);
    expect(await sendCodehostEvent(buildIssueEvent('pinned'))).toEqual(unsupported);
    expect(await sendCodehostEvent(buildIssueEvent('synchronize'), {}, { event: 'pull_request' })).toEqual(unsupported);
    expect(await sendTask(buildTaskEvent('goalCreated'))).toEqual(unsupported);
    expect(await sendCodehostEvent(buildIssueEvent('closed', 13))).toEqual(unknown);
    expect(
      await sendCodehostEvent(
        JSON.stringify({ action: 'closed', issue: { number: 12 }, repository: { full_name: 'a/b' } }),
      ),
    ).toEqual(unknown);
    expect(await sendTask(buildTaskEvent('taskUpdated', 'none'))).toEqual(unknown);
    expect(await sendCodehostEvent('[]')).toEqual(unsupported);
    expect(await sendCodehostEvent('{"broken')).toEqual([400, 'invalid_payload']);
    expect(await countSyncRequests()).toBe(before);
  });

  it('a tracker webhook is processed once per delivery id, or without an id once per body in 10 minutes', async () => {
    const before = await countSyncRequests();
    const delivery = newId();
    const duplicate = [202, { accepted: true, reason: 'duplicate' }];
    expect(await sendCodehostEvent(buildIssueEvent(), {}, { delivery })).toEqual([202, { accepted: true }]);
    expect(await sendCodehostEvent(buildIssueEvent(), {}, { delivery })).toEqual(duplicate);
    const body = buildTaskEvent();
    const both = await Promise.all([sendTask(body), sendTask(body)]);
    expect(both).toEqual(expect.arrayContaining([[202, { accepted: true }], duplicate]));
    expect(await countSyncRequests()).toBe(before + 2);
    await querySql(`UPDATE feedback_delivery SET received_at = now() - interval '11 minutes'`);
    expect(await sendTask(body)).toEqual([202, { accepted: true }]);
    expect(await sendCodehostEvent(buildIssueEvent(), {}, { delivery })).toEqual(duplicate);
  });

  it('a webhook only requests a synchronization, even if it is repeated with a new delivery id', async () => {
    const readSubmissionContents = () =>
      querySql(
        `SELECT to_jsonb(s) AS submission, to_jsonb(w) - '{armed,due_at,updated_at}'::text[] AS item,
                (SELECT jsonb_agg(to_jsonb(l) ORDER BY l.id) FROM feedback_link l WHERE l.submission_id = s.id) AS links
         FROM feedback_submission s JOIN feedback_work_item w ON w.submission_id = s.id WHERE s.id = $1`,
        [submissionId],
      );
    const [before, times] = [await readSubmissionContents(), await countSyncRequests()];
    const [opened, closed, deleted] = [
      buildIssueEvent('opened'),
      buildIssueEvent('closed'),
      buildIssueEvent('deleted'),
    ];
    for (const body of [deleted, closed, opened, closed, deleted, opened]) {
      expect(await sendCodehostEvent(body)).toEqual([202, { accepted: true }]);
    }
    // The signature covers the body but not the delivery id. A signature of another body or for another tracker is
    // refused.
    for (const signature of [
      `sha256=${computeSignature(secrets.codehost, opened)}`,
      `sha256=${computeSignature(secrets.tasktracker, closed)}`,
    ]) {
      expect(await sendCodehostEvent(closed, {}, { signature })).toEqual([401, 'unauthenticated']);
    }
    expect(await sendTask(closed, computeSignature(secrets.codehost, closed))).toEqual([401, 'unauthenticated']);
    expect(await readSubmissionContents()).toEqual(before);
    expect(await countSyncRequests()).toBe(times + 6);
  });

  it('a repeated webhook is recognized even if its issue has been unlinked since the first one', async () => {
    const delivery = newId();
    const event = { event: 'issues', delivery };
    expect(await sendCodehostEvent(buildIssueEvent('deleted'), {}, event)).toEqual([202, { accepted: true }]);
    const setUnlinked = (id: string | null) =>
      querySql(`UPDATE feedback_link SET unlinked_at = $1 WHERE tracker = 'codehost'`, [id && new Date()]);
    await setUnlinked('now');
    const before = await countSyncRequests();
    expect(await sendCodehostEvent(buildIssueEvent('deleted'), {}, event)).toEqual([
      202,
      { accepted: true, reason: 'duplicate' },
    ]);
    expect(await sendCodehostEvent(buildIssueEvent('deleted'))).toEqual([
      202,
      { accepted: false, reason: 'unknown_reference' },
    ]);
    expect(await countSyncRequests()).toBe(before);
    await setUnlinked(null);
  });

  it.each(['application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data; boundary=x', 'nonsense'])(
    'the signature of a tracker webhook is checked if its content type is %s',
    async (type) => {
      const body = buildIssueEvent();
      const as = { 'content-type': type };
      expect(await sendCodehostEvent(body, as, { signature: 'sha256=00' })).toEqual([401, 'unauthenticated']);
      expect(await sendCodehostEvent(body, as)).toEqual([202, { accepted: true }]);
    },
  );

  it('a codehost webhook may be a form that contains the JSON; its signature covers the form', async () => {
    const form = new URLSearchParams({ payload: buildIssueEvent() }).toString();
    const as = { 'content-type': 'application/x-www-form-urlencoded' };
    expect(await sendCodehostEvent(form, as)).toEqual([202, { accepted: true }]);
    expect(await sendCodehostEvent(form, as, { signature: `sha256=${computeSignature('other', form)}` })).toEqual([
      401,
      'unauthenticated',
    ]);
    expect(await sendCodehostEvent('payload=%7Bbroken', as)).toEqual([400, 'invalid_payload']);
  });

  it('a tracker webhook with a body of 600 kB is accepted', async () => {
    const large = JSON.stringify({ ...JSON.parse(buildIssueEvent()), padding: 'x'.repeat(600_000) });
    expect(await sendCodehostEvent(large)).toEqual([202, { accepted: true }]);
  });

  it('a tracker webhook larger than 1 MiB is refused', async () => {
    expect((await sendCodehostEvent(`"${'x'.repeat(1024 * 1024)}"`))[0]).toBe(413);
  });

  it.each([
    [200, [202, { accepted: true, reason: 'duplicate' }]],
    [201, [202, { accepted: true }]],
  ])('a delivery id of %d characters is compared only up to 200 characters', async (length, second) => {
    const delivery = newId().padEnd(length, 'x');
    expect(await sendCodehostEvent(buildIssueEvent(), {}, { delivery })).toEqual([202, { accepted: true }]);
    expect(await sendCodehostEvent(buildIssueEvent(), {}, { delivery })).toEqual(second);
  });
});
