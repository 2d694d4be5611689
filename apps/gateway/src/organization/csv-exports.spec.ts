import { openApiDocument } from '@muster/contracts';
import { newId } from '@muster/platform';
import { type Harness, makeAgent, makeWorkflow, startHarness, type Tenant } from '@muster/testing';
import { sendReport, wish } from '../feedback/feedback.harness';
import { gateway } from '../gateway.harness';
import { endRun } from '../pricing/ended-runs.harness';

const formula = '\u200e ＝HYPERLINK(A1)';

describe('CSV exports', () => {
  let harness: Harness;
  let tenant: Tenant;
  let workflowId: string;

  beforeAll(async () => {
    harness = await startHarness(gateway);
    tenant = await harness.makeTenant();
    const { organizationId } = tenant;
    workflowId = (await makeWorkflow(harness.db, { organizationId, name: formula })).id;
    const { id: agentId } = await makeAgent(harness.db, { organizationId, name: formula });
    await endRun(harness.db, { organizationId, workflowId, agentId, finishedAt: '2026-03-10T12:00:00Z', ms: 60_000 });
    expect((await sendReport(tenant.api, { ...wish, title: `x${formula}`, description: 'x' })).status).toBe(201);
    await harness.db.query('system', 'UPDATE feedback_submission SET title = $2 WHERE organization_id = $1', [
      organizationId,
      formula,
    ]);
    await harness.db.query(
      'system',
      `INSERT INTO access_entry
         (id, organization_id, minute, at, actor_kind, actor_id, actor_email, address, route, subject_type, subject_id)
       VALUES ($1, $2, date_trunc('minute', muster_now()), muster_now(), 'user', $4, $3, '127.0.0.1', 'GET /api/jobs', 'run', $4)`,
      [newId(), organizationId, formula, workflowId],
    );
  });
  afterAll(() => harness.close());

  const exports: [string, () => Promise<{ status: number; text: string }>][] = [
    ['/api/jobs/export', () => tenant.api.get('/api/jobs/export')],
    ['/api/costs/export', () => tenant.api.get('/api/costs/export?from=2026-03-01&to=2026-03-31&groupBy=workflow')],
    ['/api/access-log/export', () => tenant.as.admin.get('/api/access-log/export')],
    ['/api/admin/feedback/export', () => tenant.as.super_admin.get('/api/admin/feedback/export')],
  ];

  it('the tests of this file cover every route that returns CSV', () => {
    const { paths } = openApiDocument as unknown as { paths: Record<string, Record<string, any>> };
    const routes = Object.entries(paths).filter(([, { get }]) => get?.responses?.['200']?.content?.['text/csv']);
    expect(routes.map(([path]) => path).sort()).toEqual(exports.map(([path]) => path).sort());
  });

  it.each(exports)('the CSV of %s contains a name that is a formula as plain text', async (_path, read) => {
    const { status, text } = await read();
    expect(status).toBe(200);
    const cells = text.split(/[,\r\n]+/).filter((cell) => cell.includes(formula));
    expect(cells.length).toBeGreaterThan(0);
    expect(cells).toEqual(cells.map(() => `'${formula}`));
  });
});
