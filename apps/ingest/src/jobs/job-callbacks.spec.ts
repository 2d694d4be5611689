import { createHmac } from 'node:crypto';
import { type Harness, type HttpClient, makeApiKey, makeJob, makeOrganization, startHarness } from '@muster/testing';
import { deriveSigningSecrets } from '@muster/access';
import { newId } from '@muster/platform';
import { KeyRing } from '@muster/vault';
import { ingest } from '../ingest.harness';

describe('callbacks over HTTP', () => {
  let harness: Harness;
  let organizationId: string;
  let jobId: string;
  let agentId: string;
  let worker: HttpClient;
  let secret: string;

  beforeAll(async () => {
    harness = await startHarness(ingest);
    organizationId = (await makeOrganization(harness.db)).id;
  });
  beforeEach(async () => {
    ({ id: jobId, agentId } = await makeJob(harness.db, {
      organizationId,
      commandId: '0192f0c4-7b8e-7d3a-9c55-2f4a6b8c0d1e',
    }));
    worker = harness.http.withKey((await makeApiKey(harness.db, { organizationId, scope: 'worker', agentId })).secret);
    secret = deriveSigningSecrets(harness.app.nest.get(KeyRing, { strict: false }), organizationId)[0]!;
  });
  afterAll(() => harness.close());

  const postClaimResults = (body: string, signature?: string) =>
    worker
      .with(signature ? { 'x-service-signature': signature } : {})
      .send('POST', `/api/jobs/${jobId}/claim-results`, body);
  const signBody = (body: string, { signedJobId = jobId, at = Date.now(), key = secret } = {}) => {
    const t = Math.floor(at / 1000);
    return `t=${t},v1=${createHmac('sha256', key).update(`${t}.${signedJobId}.${body}`).digest('hex')}`;
  };

  it('job reports change the job’s status, and late ones are answered with 200 and a reason', async () => {
    expect((await worker.post('/api/job-webhook', { jobId, status: 'running' })).body).toEqual({
      accepted: true,
      status: 'running',
    });
    const end = { jobId, status: 'completed', result: { pages: 3 }, totalCostUsd: 1.5, newerField: true };
    expect((await worker.post('/api/job-webhook', end)).body).toEqual({ accepted: true, status: 'completed' });
    const late = await worker.post('/api/job-webhook', { jobId, status: 'failed' });
    expect([late.status, late.body]).toEqual([200, { accepted: false, reason: 'job_over', status: 'completed' }]);
    const step = await worker.post(`/api/agents/${agentId}/step-status`, { jobId, stepOrder: 1, status: 'passed' });
    expect([step.status, step.body]).toEqual([200, { accepted: false, reason: 'job_over' }]);
  });

  it('job reports need a key of the job’s agent or a key that is not bound to an agent', async () => {
    const unbound = await makeApiKey(harness.db, { organizationId, scope: 'worker' });
    const anyAgents = harness.http.withKey(unbound.secret);
    const other = await makeJob(harness.db, { organizationId });
    const key = await makeApiKey(harness.db, { organizationId, scope: 'worker', agentId: other.agentId });
    const otherWorker = harness.http.withKey(key.secret);
    const log = { jobId, level: 'info', message: 'x', timestamp: 1 };
    expect((await otherWorker.post('/api/job-webhook', { jobId })).status).toBe(404);
    expect((await otherWorker.post('/api/job-logs', { logs: [log] })).status).toBe(404);
    const step = { jobId, stepOrder: 1, status: 'running' };
    expect((await otherWorker.post(`/api/agents/${agentId}/step-status`, step)).status).toBe(403);
    expect((await anyAgents.post('/api/job-webhook', { jobId })).status).toBe(200);
  });

  it('the signature of claim results must match their time, job and body', async () => {
    const body = JSON.stringify({ claimResults: [{ claimId: 'A', outcome: 'eob_uploaded' }] });
    const good = await postClaimResults(body, signBody(body));
    expect([good.status, good.body]).toEqual([
      200,
      { accepted: 1, claims: { attempted: 1, eobUploaded: 1, noEobFound: 0, failed: 0 } },
    ]);
    const bad = [
      undefined,
      signBody(body, { key: 'mss_wrong' }),
      signBody(body, { signedJobId: agentId }),
      signBody(body, { at: Date.now() - 301_000 }),
      signBody(`${body} `),
    ];
    for (const signature of bad) {
      const refused = await postClaimResults(body, signature);
      expect([refused.status, refused.body.code]).toEqual([401, 'unauthenticated']);
    }
  });

  it('claim results need no key; a key that is sent too must be a worker key of the job’s organization', async () => {
    const body = JSON.stringify({ claimResults: [{ claimId: 'A', outcome: 'eob_uploaded' }] });
    const postClaimsOfJob = (client: HttpClient, targetId: string, signature?: string) =>
      client
        .with(signature ? { 'x-service-signature': signature } : {})
        .send('POST', `/api/jobs/${targetId}/claim-results`, body);
    const bare = harness.http;
    expect((await postClaimsOfJob(bare, jobId, signBody(body))).body.claims.attempted).toBe(1);

    const unknown = newId();
    const foreign = await makeJob(harness.db, { organizationId: (await makeOrganization(harness.db)).id });
    const refused = [
      await postClaimsOfJob(bare, jobId, signBody(body, { key: 'mss_wrong' })),
      await postClaimsOfJob(bare, unknown, signBody(body, { signedJobId: unknown })),
      await postClaimsOfJob(bare, foreign.id, signBody(body, { signedJobId: foreign.id })),
    ];
    const problems = refused.map(({ status, body: { code, detail } }) => [status, code, detail]);
    expect(new Set(problems.map((each) => JSON.stringify(each))).size).toBe(1);
    expect(problems[0]).toEqual([
      401,
      'unauthenticated',
      'The signature in x-service-signature is wrong. Sign the unchanged body again, with the current time and the ' +
        'signing secret.',
    ]);
    expect((await postClaimsOfJob(bare, jobId)).status).toBe(401);

    expect((await postClaimsOfJob(worker, foreign.id, signBody(body, { signedJobId: foreign.id }))).status).toBe(404);
    expect((await postClaimsOfJob(worker, unknown, signBody(body, { signedJobId: unknown }))).status).toBe(404);
    expect((await postClaimsOfJob(worker, jobId, signBody(body, { key: 'mss_wrong' }))).status).toBe(401);
    expect((await postClaimsOfJob(bare.withKey('msk_nosuchkey_0123456789abcdef'), jobId, signBody(body))).status).toBe(
      401,
    );
    const { secret: apiKey } = await makeApiKey(harness.db, { organizationId, scope: 'api' });
    expect((await postClaimsOfJob(bare.withKey(apiKey), jobId, signBody(body))).status).toBe(403);
  });

  it('claim results may be signed with the secret of the job’s agent, but of no other agent', async () => {
    const body = JSON.stringify({ claimResults: [{ claimId: 'A', outcome: 'eob_uploaded' }] });
    const other = await makeJob(harness.db, { organizationId });
    const deriveSecret = async (agent: string, keyAgentId?: string) => {
      const key = await makeApiKey(harness.db, { organizationId, scope: 'worker', agentId: keyAgentId });
      const answer = await harness.http
        .withKey(key.secret)
        .post('/api/agents/handshake', { agentId: agent, bootId: newId(), workerVersion: '1' });
      expect(answer.status).toBe(200);
      return answer.body.signingSecret as string;
    };
    const own = await deriveSecret(agentId, agentId);
    const another = await deriveSecret(other.agentId, other.agentId);
    expect(new Set([own, another, secret]).size).toBe(3);
    expect(await deriveSecret(agentId)).toBe(secret);

    const bare = harness.http;
    const postSignedClaims = (client: HttpClient, targetId: string, key: string) =>
      client
        .with({ 'x-service-signature': signBody(body, { signedJobId: targetId, key }) })
        .send('POST', `/api/jobs/${targetId}/claim-results`, body);
    for (const client of [bare, worker]) {
      expect((await postSignedClaims(client, jobId, own)).status).toBe(200);
      expect((await postSignedClaims(client, jobId, another)).body.code).toBe('unauthenticated');
      expect((await postSignedClaims(client, jobId, secret)).status).toBe(200);
    }
    expect((await postSignedClaims(bare, other.id, own)).status).toBe(401);
    expect((await postSignedClaims(bare, other.id, another)).status).toBe(200);
  });

  it('a request has at most 100 claim results or 1,000 log entries', async () => {
    const buildManyClaims = (count: number) =>
      JSON.stringify({
        claimResults: Array.from({ length: count }, (_, at) => ({ claimId: `C${at}`, outcome: 'failed' })),
      });
    expect((await postClaimResults(buildManyClaims(100), signBody(buildManyClaims(100)))).body.accepted).toBe(100);
    expect((await postClaimResults(buildManyClaims(101), signBody(buildManyClaims(101)))).status).toBe(400);
    const buildLogs = (count: number) => ({
      logs: Array.from({ length: count }, (_, seq) => ({ jobId, level: 'info', message: 'x', timestamp: 1, seq })),
    });
    expect((await worker.post('/api/job-logs', buildLogs(1000))).body).toEqual({ accepted: 1000 });
    expect((await worker.post('/api/job-logs', buildLogs(1000))).body).toEqual({ accepted: 0 });
    expect((await worker.post('/api/job-logs', buildLogs(1001))).status).toBe(400);
    const refused = await worker.post('/api/job-logs', {
      logs: [{ jobId, level: 'loud', message: 'x', timestamp: 1 }],
    });
    expect([refused.status, refused.body.errors[0].field]).toEqual([400, 'logs.0.level']);
    const fraction = await worker.post('/api/job-logs', {
      logs: [{ jobId, level: 'info', message: 'x', timestamp: 1.5 }],
    });
    expect([fraction.status, fraction.body.errors[0].field]).toEqual([400, 'logs.0.timestamp']);
  });

  it('a job report with the screenshot key of another organization is refused', async () => {
    const report = {
      jobId,
      status: 'completed',
      screenshotKey: 'artifacts/0192f0c4-7b8e-7d3a-9c55-2f4a6b8c0d1e/x.png',
    };
    expect((await worker.post('/api/job-webhook', report)).status).toBe(400);
    const [job] = await harness.db.query<{ status: string }>('system', 'SELECT status FROM job WHERE id = $1', [jobId]);
    expect(job!.status).toBe('queued');
  });
});
