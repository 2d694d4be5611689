import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { objectives, reportRoutes, ServiceLevels } from '@muster/platform';
import { type Harness, type HttpClient, startHarness, type Tenant, waitFor } from '@muster/testing';
import { gateway } from '../gateway.harness';

describe('the status page', () => {
  let harness: Harness;
  let tenant: Tenant;

  beforeAll(async () => {
    harness = await startHarness({ ...gateway, env: { STATUS_PAGE: 'signed-in' } });
    tenant = await harness.makeTenant();
  });
  afterAll(() => harness.close());

  const removeTags = (html: string) => html.replaceAll(/<style>[^]*<\/style>|<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');

  it('the status page shows anyone, in HTML without scripts, which parts work and how far the objectives are met', async () => {
    const shared = await startHarness(gateway);
    try {
      const { levels } = shared.app.metrics;
      for (let count = 0; count < 199; count += 1) levels.countEvent('starts', 1);
      levels.countEvent('starts', 2.1);
      levels.countEvent('callbacks', 0.1, true);
      await shared.app.nest.get(ServiceLevels).writeCounts();
      // The checks have a time limit, which a busy machine may exceed.
      await waitFor('all parts to answer', async () =>
        (await shared.http.get('/status')).text.includes('The service works'),
      );
      const { status, headers, text } = await shared.http.get('/status');
      expect(status).toBe(200);
      expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
      const policy = headers.get('content-security-policy');
      expect(policy).toContain("default-src 'none'");
      expect(policy).not.toContain('script-src');
      expect(text).not.toContain('<script');
      expect(removeTags(text)).toContain('The service works');
      for (const part of ['Database', 'Queue', 'Object storage', 'Background work'])
        expect(removeTags(text)).toContain(`${part} Works`);
      expect(removeTags(text)).toContain('reaches its machine within 2 s 99 % 99.5 % 99.5 %');
      expect(removeTags(text)).toContain('acknowledged within 250 ms 99.9 % 0 % 0 %');
      expect(removeTags(text)).toContain('within 30 s of its time 99.9 % no events no events');
      expect(removeTags(text)).toContain('No machine is on without a reason 0 0 now');
    } finally {
      await shared.close();
    }
  });

  it('the status page requires a credential with STATUS_PAGE=signed-in, and does not exist with STATUS_PAGE=off', async () => {
    const readStatusCode = async (client: HttpClient) => (await client.get('/status')).status;
    expect(await readStatusCode(harness.http)).toBe(401);
    expect(await readStatusCode(harness.http.withKey('msk_wrong'))).toBe(401);
    expect(await readStatusCode(tenant.api)).toBe(200);
    expect(await readStatusCode(tenant.as.viewer)).toBe(200);
    const closed = await startHarness({ ...gateway, env: { STATUS_PAGE: 'off' } });
    try {
      expect(await readStatusCode(closed.http)).toBe(404);
    } finally {
      await closed.close();
    }
  });

  it('the status page has status 503 while the database does not answer, and names the parts that do not work', async () => {
    const broken = await startHarness({
      ...gateway,
      env: { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none', DATABASE_CONNECT_TIMEOUT_MS: '100' },
    });
    try {
      // The connection to Redis may be opened a moment after the start.
      await waitFor('the queue to work', async () =>
        removeTags((await broken.http.get('/status')).text).includes('Queue Works'),
      );
      const { status, text } = await broken.http.get('/status');
      expect(status).toBe(503);
      expect(removeTags(text)).toContain('Parts of the service do not work');
      expect(removeTags(text)).toContain('Database Does not work');
      expect(removeTags(text)).toContain('Queue Works');
      // The page is public, so the reason contains no address and no user of the database.
      expect(removeTags(text)).not.toMatch(/127\.0\.0\.1|nobody|postgres/i);
    } finally {
      await broken.close();
    }
  });

  it('the status page measures the same objectives as the alerts', () => {
    const alerts = readFileSync(join(__dirname, '../../../../k8s/monitoring/alerts.yaml'), 'utf8');
    expect(alerts).toContain(`route=~"${reportRoutes}"`);
    for (const { name, maxSeconds, target } of objectives) {
      const rule = alerts.split('\n').find((_, at, lines) => lines[at - 1]?.includes(`muster:${name}_late:ratio5m`));
      expect(rule).toContain(`le="${maxSeconds}"`);
      expect(alerts).toContain(`muster:${name}_late:ratio3d > ${Number((1 - target).toFixed(3))}`);
    }
  });
});
