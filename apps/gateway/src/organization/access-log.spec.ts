import { closeAuditDays, purgeExpiredCredentials } from '@muster/access';
import { openApiDocument } from '@muster/contracts';
import { createOwnerDataSource } from '@muster/database';
import { newId, Round } from '@muster/platform';
import { type Harness, makeAgent, makeJob, startHarness, type Tenant, waitFor } from '@muster/testing';
import { gateway } from '../gateway.harness';

const minuteMs = 60_000;
/** Routes that the access log does not cover, grouped by the reason. */
const exempted = [
  // Routes whose responses contain only counts, costs and states.
  ...['/api/batches', '/api/batches/{id}', '/api/jobs/activity', '/api/jobs/{id}/cost', '/api/pilot/roi'],
  ...['/api/process-library', '/api/agents', '/api/agents/{id}', '/api/agents/{id}/savings', '/api/agents/{id}/status'],
  '/api/agents/{id}/machine-time',
  // Routes of lists. They are not logged, because a read of one of the listed resources is.
  ...['/api/jobs', '/api/jobs/failures', '/api/agents/{id}/runs', '/api/agents/{id}/recordings', '/api/artifacts'],
  ...['/api/questions', '/api/agents/{id}/command-history', '/api/autopilot-sessions'],
  ...['/api/pilot/batches', '/api/process-library/sessions'],
  // Routes that only the worker calls that runs the job.
  ...['/api/jobs/{id}/questions/{questionId}', '/api/agents/{id}/commands', '/api/jobs/{id}/screen/control'],
];

describe('the access log', () => {
  let harness: Harness;
  let tenant: Tenant;
  let other: Tenant;
  let offset = 0;
  const emails = { viewer: '', member: '' };

  beforeAll(async () => {
    harness = await startHarness({ ...gateway, clock: { now: () => new Date(Date.now() + offset) } });
    [tenant, other] = await Promise.all([harness.makeTenant(), harness.makeTenant()]);
    for (const role of ['viewer', 'member'] as const) {
      emails[role] = (await tenant.as[role].get('/api/auth/me')).body.user.email;
    }
  });
  afterAll(() => harness.close());

  const makeJobId = async ({ organizationId } = tenant) => {
    const { id: agentId } = await makeAgent(harness.db, { organizationId, name: newId() });
    return (await makeJob(harness.db, { organizationId, agentId })).id;
  };
  const readEntries = async (query: string, by = tenant) => {
    const answer = await by.as.admin.get(`/api/access-log?${query}`);
    expect(answer.status).toBe(200);
    return answer.body.entries as any[];
  };
  const waitForEntries = (subject: string, count: number) =>
    waitFor(`${count} reads`, async () => {
      const found = await readEntries(`subject=${subject}`);
      return found.length >= count && found;
    });

  it('the access log records who read what, from where and by which route, at most once a minute', async () => {
    const id = await makeJobId();
    for (let n = 0; n < 3; n += 1) expect((await tenant.as.viewer.get(`/api/jobs/${id}`)).status).toBe(200);
    await tenant.api.get(`/api/jobs/${id}`);
    await tenant.as.viewer.get(`/api/jobs/${id}/logs`);
    const found = await waitForEntries(id, 3);
    expect(found.map(({ who, route, subject }) => [who.kind, who.email, route, subject.type])).toEqual([
      ['user', emails.viewer, 'GET /api/jobs/{id}/logs', 'log'],
      ['api_key', undefined, 'GET /api/jobs/{id}', 'run'],
      ['user', emails.viewer, 'GET /api/jobs/{id}', 'run'],
    ]);
    expect(found[0]).toMatchObject({ address: '127.0.0.1', subject: { id }, at: expect.stringMatching(/Z$/) });
    offset += minuteMs;
    await tenant.as.viewer.get(`/api/jobs/${id}`);
    expect(await waitForEntries(id, 4)).toHaveLength(4);
    const viewer = found[0].who.id;
    expect((await readEntries(`subject=${id}&userId=${viewer}`)).length).toBe(3);
    expect(await readEntries(`userId=${viewer}&to=${new Date(Date.now() - minuteMs).toISOString()}`)).toEqual([]);
    expect((await readEntries(`subject=${id}&limit=2`)).length).toBe(2);
  });

  it('the access log includes reads at both ends of the requested time range', async () => {
    const id = await makeJobId();
    await tenant.as.viewer.get(`/api/jobs/${id}`);
    const [{ at }] = await waitForEntries(id, 1);
    const shiftTime = (ms: number) => new Date(Date.parse(at) + ms).toISOString();
    const countEntries = async (from: string, to: string) =>
      (await readEntries(`subject=${id}&from=${from}&to=${to}`)).length;
    expect([
      await countEntries(at, at),
      await countEntries(shiftTime(1), shiftTime(9)),
      await countEntries(shiftTime(-9), shiftTime(-1)),
    ]).toEqual([1, 0, 0]);
  });

  it('only admins of the organization can read its access log', async () => {
    const id = await makeJobId();
    await tenant.as.member.get(`/api/jobs/${id}`);
    await waitForEntries(id, 1);
    expect(await readEntries(`subject=${id}`, other)).toEqual([]);
    for (const role of ['viewer', 'member'] as const) {
      expect((await tenant.as[role].get('/api/access-log')).status).toBe(403);
      expect((await tenant.as[role].get('/api/access-log/export')).status).toBe(403);
    }
    const csv = await tenant.as.admin.get(`/api/access-log/export?subject=${id}`);
    expect(csv.text.split('\r\n')).toEqual([
      expect.stringContaining('at,userOrKey,email,address,subjectType,subjectId,route'),
      expect.stringMatching(new RegExp(`,${emails.member},127.0.0.1,run,${id},GET /api/jobs/\\{id\\}$`)),
      '',
    ]);
  });

  it('the access log records no read that was refused or found nothing', async () => {
    const id = await makeJobId();
    expect((await other.as.member.get(`/api/jobs/${id}`)).status).toBe(404);
    expect((await harness.http.get(`/api/jobs/${id}`)).status).toBe(401);
    const later = await makeJobId(other);
    await other.as.member.get(`/api/jobs/${later}`);
    await waitFor('a later read', async () => (await readEntries(`subject=${later}`, other)).length > 0);
    expect(await readEntries(`subject=${id}`, other)).toEqual([]);
    expect(await readEntries(`subject=${id}`)).toEqual([]);
  });

  it('the access log records exports, but not requests for lists', async () => {
    // Uses a separate tenant, because other tests export too, and an export in another minute gets a separate row.
    const mine = await harness.makeTenant();
    const id = await makeJobId(mine);
    for (const path of ['/api/jobs', '/api/jobs/failures', '/api/artifacts', '/api/questions', '/api/access-log']) {
      expect((await mine.as.admin.get(path)).status).toBe(200);
    }
    for (const path of ['/api/jobs/export', '/api/access-log/export', '/api/costs/export']) {
      expect((await mine.as.admin.get(path)).status).toBe(200);
    }
    await mine.as.admin.get(`/api/jobs/${id}`);
    await waitFor('the read', async () => (await readEntries(`subject=${id}`, mine)).length > 0);
    const routes = (await readEntries(`userId=${mine.userIds.admin}`, mine)).map(({ route }) => route);
    expect(routes.filter((route) => !route.endsWith('/{id}')).sort()).toEqual([
      'GET /api/access-log/export',
      'GET /api/costs/export',
      'GET /api/jobs/export',
    ]);
  });

  it('a read that succeeds while the access log cannot be written is recorded in the log afterwards', async () => {
    const id = await makeJobId();
    const owner = await createOwnerDataSource(harness.databaseUrl).initialize();
    await owner.query('ALTER TABLE access_entry RENAME TO access_entry_away');
    expect((await tenant.as.member.get(`/api/jobs/${id}`)).status).toBe(200);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    await owner.query('ALTER TABLE access_entry_away RENAME TO access_entry');
    await owner.destroy();
    expect(await waitForEntries(id, 1)).toHaveLength(1);
  });

  it('entries of the access log are deleted after six years, but not before', async () => {
    const id = await makeJobId();
    await tenant.as.member.get(`/api/jobs/${id}`);
    await waitForEntries(id, 1);
    // Entries are deleted only if the audit chain has closed their day.
    await waitFor('the day to close', async () => {
      await closeAuditDays(harness.db, new Date(Date.now() + 2 * 24 * 60 * minuteMs), new Round('test'));
      const [chain] = await harness.db.query<{ isClosed: boolean }>(
        'system',
        `SELECT closed_before > muster_now() AS is_closed FROM audit_chain`,
      );
      return chain!.isClosed;
    });
    const addYears = (count: number) => new Date(Date.now() + count * 365.25 * 24 * 60 * minuteMs);
    expect((await purgeExpiredCredentials(harness.db, addYears(5.9))).accesses).toBe(0);
    expect((await purgeExpiredCredentials(harness.db, addYears(6.1))).accesses).toBeGreaterThan(0);
    expect(await readEntries(`subject=${id}`)).toEqual([]);
  });

  it('the access log covers every route that shows runs, files, conversations and questions', () => {
    const pattern =
      /^\/api\/(jobs|job-status|agents|artifacts|recordings|autopilot-sessions|batches|pilot|process-library|questions)\b/;
    const gets = Object.entries((openApiDocument as { paths: Record<string, Record<string, any>> }).paths)
      .filter(([path, { get }]) => get && pattern.test(path))
      .map(([path, { get }]) => [path, get['x-reads'] !== undefined] as const);
    expect(gets.length).toBeGreaterThan(25);
    expect(
      gets
        .filter(([, isLogged]) => !isLogged)
        .map(([path]) => path)
        .sort(),
    ).toEqual(exempted.sort());
  });
});
