import { get, type IncomingMessage } from 'node:http';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { newId } from '@muster/platform';
import {
  type Harness,
  chooseSize,
  makeAgent,
  makeOrganization,
  startHarness,
  type Tenant,
  waitFor,
} from '@muster/testing';
import { gateway } from '../gateway.harness';
import { sendReport, wish } from '../feedback/feedback.harness';

/** Number of rows to export. The long form exports a million rows, which takes a minute. */
const manyRows = chooseSize('FEEDBACK_EXPORT_ROWS', { short: 4000, long: 1_000_000 });
const path = '/api/admin/feedback/export';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Returns the memory in use after a garbage collection, in bytes. */
function measureUsedMemory(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

describe('the feedback export', () => {
  let harness: Harness;
  let adminTenant: Tenant;

  beforeAll(async () => {
    harness = await startHarness(gateway);
    adminTenant = await harness.makeTenant();
  });
  afterAll(() => harness.close());

  const querySql = (text: string, values: unknown[] = []) => harness.db.query<any>('system', text, values);
  const requestExport = (query: string) => adminTenant.as.super_admin.get(`${path}${query}`);
  /** Returns the rows of a CSV response as objects by column name. */
  const parseCsvRows = (text: string) => {
    const records: string[][] = [];
    let cells: string[] = [];
    for (const [, quoted, plain, end] of text
      .replace(/^\ufeff/, '')
      .matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g)) {
      cells.push(quoted?.replaceAll('""', '"') ?? plain!);
      if (end === ',') continue;
      records.push(cells);
      cells = [];
    }
    const [head, ...rows] = records;
    return rows.map((row) => Object.fromEntries(row.map((cell, at) => [head![at], cell])));
  };

  it('only super_admins can export feedback', async () => {
    for (const client of [adminTenant.as.admin, adminTenant.as.member, adminTenant.as.viewer, adminTenant.api]) {
      expect((await client.get(path)).status).toBe(403);
    }
    expect((await harness.http.get(path)).status).toBe(401);
  });

  it('the feedback export is UTF-8 CSV with a byte order mark and a header, even without rows', async () => {
    const answer = await fetch(`${harness.url}${path}?status=rejected`, {
      headers: adminTenant.as.super_admin.headers,
    });
    expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(answer.headers.get('content-disposition')).toMatch(/^attachment; filename="feedback-\d{4}-\d\d-\d\d\.csv"$/);
    expect(Buffer.from(await answer.arrayBuffer()).toString('utf8')).toBe(
      '\ufeffid,type,status,organization,vm,title,description,reporter,createdAt,externalIssue,externalTask\r\n',
    );
  });

  it('the feedback export contains complete texts and escapes formulas for spreadsheets', async () => {
    const tenant = await harness.makeTenant('Cells');
    const texts = [
      ['=HYPERLINK("http://evil","x")', `'=HYPERLINK("http://evil","x")`],
      ['+1', `'+1`],
      ['-2+3', `'-2+3`],
      ['@SUM(A1)', `'@SUM(A1)`],
      ['\t=1', `'\t=1`],
      ['\r\n=1', `'\r\n=1`],
      ['  =1', `'  =1`],
      ['\u200e\u202e=1', `'\u200e\u202e=1`],
      ['＝1', `'＝1`],
      ['a "quote", a comma; and\r\na line', 'a "quote", a comma; and\r\na line'],
      ['שלום, עולם مرحبا', 'שלום, עולם مرحبا'],
      ["it's 1=1", "it's 1=1"],
    ] as const;
    for (const [text] of texts) {
      expect((await sendReport(tenant.api, { ...wish, title: text, description: text })).status).toBe(201);
    }
    const rows = parseCsvRows((await requestExport('?organization=Cells')).text);
    expect(rows.map(({ title }) => title)).toEqual(texts.map(([, escaped]) => escaped));
    expect(rows.map(({ description }) => description)).toEqual(texts.map(([, escaped]) => escaped));
  });

  it('the feedback export can be filtered by type, status, organization, machine and time', async () => {
    const name = `Practice ${newId()}`;
    const tenant = await harness.makeTenant(name);
    const { organizationId } = tenant;
    const vm = `Desk ${newId()}`;
    const { id: agentId } = await makeAgent(harness.db, { organizationId, name: vm });
    const first = (await sendReport(tenant.as.member, { ...wish, agentId })).body.id;
    const second = (await sendReport(tenant.api, { type: 'bug_report', title: 'b', description: 'b' })).body.id;
    await querySql(`UPDATE feedback_submission SET created_at = '2026-03-02T11:00Z' WHERE id = $1`, [second]);
    await querySql(`UPDATE feedback_link SET external_url = 'https://x/' || tracker WHERE submission_id = $1`, [first]);
    await tenant.as.admin.patch(`/api/feedback-submissions/${second}`, { status: 'closed' });
    await tenant.as.admin.patch('/api/organization/settings', { timezone: 'Pacific/Auckland' });
    const exportIds = async (query: string) =>
      parseCsvRows((await requestExport(`?${query}`)).text).map(({ id }) => id);
    const inOrganization = `organization=${encodeURIComponent(name)}`;
    expect(await exportIds(inOrganization)).toEqual([first, second]);
    expect(await exportIds(`organization=${organizationId.toUpperCase()}`)).toEqual([first, second]);
    expect(await exportIds(`${inOrganization}&type=bug_report`)).toEqual([second]);
    expect(await exportIds(`${inOrganization}&status=received`)).toEqual([first]);
    expect(await exportIds(`vm=${encodeURIComponent(vm)}`)).toEqual([first]);
    expect(await exportIds(`vm=${agentId}`)).toEqual([first]);
    expect(await exportIds(`${inOrganization}&from=2026-03-03&to=2026-03-03`)).toEqual([second]);
    expect(await exportIds(`${inOrganization}&to=2026-03-02T11:00:00.000Z`)).toEqual([second]);
    expect(await exportIds(`${inOrganization}&from=2026-03-04`)).toEqual([first]);
    expect(await exportIds('organization=nobody')).toEqual([]);
    expect(await exportIds('vm=nobody')).toEqual([]);
    expect((await requestExport('?from=never')).status).toBe(400);
    expect((await requestExport('?type=never')).status).toBe(400);
    const [row] = parseCsvRows((await requestExport(`?vm=${agentId}`)).text);
    expect(row).toMatchObject({
      organization: name,
      vm,
      reporter: expect.stringContaining('@'),
      externalIssue: 'https://x/codehost',
      externalTask: 'https://x/tasktracker',
    });
  });

  describe('a large feedback export', () => {
    const organization = newId();
    const openExport = (): Promise<IncomingMessage> =>
      new Promise((resolve, reject) => {
        const url = `${harness.url}${path}?organization=${organization}`;
        get(url, { headers: adminTenant.as.super_admin.headers, agent: false }, resolve).on('error', reject);
      });
    let read = 0;
    const countReadPages = () => read;

    beforeAll(async () => {
      await makeOrganization(harness.db, { id: organization, name: organization });
      const step = 10_000;
      for (let from = 0; from < manyRows; from += step) {
        await querySql(
          `INSERT INTO feedback_submission (id, organization_id, type, title, description, reporter_id)
           SELECT ('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, $1, 'bug_report', 'Number ' || n,
             repeat('=text with "quotes", ', 100), 'key'
           FROM generate_series($2::int, $3::int) n`,
          [organization, from + 1, Math.min(from + step, manyRows)],
        );
      }
      // Counts the queries without a jest spy, because a spy keeps every result in memory.
      const { db } = harness;
      const query = db.queryInOrder.bind(db);
      db.queryInOrder = (scope, text, ...more) => {
        if (text.includes('FROM feedback_submission s')) read += 1;
        return query(scope, text, ...more) as never;
      };
    }, 600_000);
    beforeEach(() => (read = 0));

    it('a large feedback export starts to send rows early and is not buffered in memory', async () => {
      const began = performance.now();
      const response = await openExport();
      let [bytes, lines, firstMs] = [0, 0, 0];
      const heapSizes: number[] = [];
      for await (const chunk of response as AsyncIterable<Buffer>) {
        firstMs ||= performance.now() - began;
        bytes += chunk.length;
        for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) lines += 1;
        if (lines > (manyRows / 20) * (heapSizes.length + 1)) heapSizes.push(measureUsedMemory());
      }
      expect(lines).toBe(manyRows + 1);
      expect(bytes).toBeGreaterThan(manyRows * 2000);
      const totalMs = performance.now() - began;
      const more = Math.max(...heapSizes) - heapSizes[0]!;
      process.stdout.write(
        `export: ${manyRows} rows, ${Math.round(bytes / 1e6)} MB in ${Math.round(totalMs)} ms, first byte after ` +
          `${Math.round(firstMs)} ms, ${Math.round(more / 1e6)} MB more memory at most than after the first twentieth\n`,
      );
      expect(firstMs).toBeLessThan(totalMs / 2);
      expect(heapSizes.length).toBeGreaterThan(15);
      expect(more).toBeLessThan(20e6);
    }, 600_000);

    it('a feedback export reads only as fast as its client until the client disconnects', async () => {
      const response = await openExport();
      response.pause();
      const readPagesIfPaused = async () => {
        const [before] = [countReadPages()];
        await new Promise((resolve) => setTimeout(resolve, 500));
        return countReadPages() > 0 && countReadPages() === before ? before : 0;
      };
      const before = await waitFor('the export to pause', readPagesIfPaused);
      expect(before).toBeLessThan(manyRows / 500);
      response.destroy();
      await waitFor('the export to stop', readPagesIfPaused);
      expect(countReadPages()).toBeLessThanOrEqual(before + 1);
    }, 60_000);
  });
});
