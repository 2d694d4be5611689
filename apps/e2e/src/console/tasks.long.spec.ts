// This test is long because it performs the daily tasks of an operator in a browser, in three ways of use.
// A short test of the same code: apps/e2e/src/console/stories.spec.ts
import { createHash } from 'node:crypto';
import { type HttpClient, makeZip, waitFor } from '@muster/testing';
import type { Locator, Page } from 'playwright-core';
import { ConsoleFixture, describeInBrowser } from './console-fixture';
import { Hand, type WayOfUse } from './hand';

jest.setTimeout(300_000);

const script = `import os
for line in range(300):
    print(f"GET /claims?page={line} 200 OK")
print("GET /claims?page=300 503 Service Unavailable")
if os.environ["CLAIM"] == "C-0":
    raise RuntimeError("the portal answered 503")
`;

interface Task {
  name: string;
  /** Maximum number of clicks from Home, where each task starts. */
  goal: number;
  walk: (hand: Hand, page: Page) => Promise<void>;
}

describeInBrowser('the daily tasks', () => {
  let fixture: ConsoleFixture;
  let api: HttpClient;

  beforeAll(async () => {
    fixture = await ConsoleFixture.start();
    api = await fixture.createApiClient();
    await prepareRuns(api);
    for (const way of ['mouse', 'keyboard', 'phone'] as const) {
      await api.post('/api/agents', { name: `Machine ${way}`, provider: 'external' });
      await preparePack(api, way);
      await sendReport(api, `Report of ${way}`);
    }
  });
  afterAll(() => fixture?.end());

  it.each(['mouse', 'keyboard', 'phone'] as const)(
    'each task in the console takes at most its allowed number of clicks by %s',
    async (way) => {
      const tab = await fixture.openSignedInTab('/app', way === 'phone' ? { width: 390, height: 844 } : {});
      const { page } = tab;
      const over: string[] = [];
      const lines: string[] = [];
      for (const { name, goal, walk } of createTasks(way)) {
        await tab.goto('/app');
        await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
        const hand = new Hand(page, way);
        await walk(hand, page);
        const spilled = await tab.measureOverflow();
        lines.push(`  ${name.padEnd(44)}${hand.clicks}`);
        if (hand.clicks > goal) over.push(`${name}: ${hand.clicks} clicks`);
        if (spilled > 0) over.push(`${name}: the page is ${spilled} px too wide`);
      }
      process.stdout.write(`console: clicks by ${way}\n${lines.join('\n')}\n`);
      expect(over).toEqual([]);
      expect(tab.complaints).toEqual([]);
      await tab.close();
    },
  );
});

function createTasks(way: WayOfUse): Task[] {
  const openFailedRun = async (hand: Hand, page: Page) => {
    await hand.pressElement(page.getByRole('link', { name: /the portal answered 503/ }).first());
    await page.getByTestId('run-why').getByText('the portal answered 503').first().waitFor();
  };
  const locateClaimsRow = (page: Page) => page.getByRole('row', { name: /^Claims of today/ });
  return [
    {
      name: 'why did the last run fail',
      goal: 1,
      walk: async (hand, page) => {
        await openFailedRun(hand, page);
        await expectOnFirstScreen(page, page.getByTestId('run-why'));
      },
    },
    {
      name: 'retry it with a changed variable',
      goal: 3,
      walk: async (hand, page) => {
        await openFailedRun(hand, page);
        await hand.pressElement(page.getByRole('button', { name: 'Change and run' }));
        const dialog = page.getByRole('dialog', { name: 'Run Claims of today' });
        await hand.typeText(dialog.getByLabel('CLAIM', { exact: true }), `C-${way}`);
        await hand.pressElement(dialog.getByRole('button', { name: 'Run now' }));
        await page.getByRole('heading', { level: 1, name: `Claims of today · C-${way}` }).waitFor();
      },
    },
    {
      name: 'find the line that says 503 in a day’s logs',
      goal: 3,
      walk: async (hand, page) => {
        await hand.openPage('Agents');
        await hand.pressElement(page.getByRole('link', { name: 'Demo agent' }));
        await hand.typeText(page.getByRole('searchbox', { name: 'Search the timeline' }), '503 Service');
        const entries = page.getByTestId('timeline-entry');
        await waitFor('only lines that match', async () => {
          const texts = await entries.allInnerTexts();
          return texts.length > 0 && texts.every((text) => text.includes('503 Service Unavailable'));
        });
      },
    },
    {
      name: 'launch for three claims',
      goal: 3,
      walk: async (hand, page) => {
        await hand.openPage('Workflows');
        await hand.pressElement(locateClaimsRow(page).getByRole('button', { name: 'Batch' }));
        const dialog = page.getByRole('dialog', { name: 'Batch Claims of today' });
        await hand.typeText(dialog.getByLabel('Rows', { exact: true }), 'C-1, first\nC-2\nC-3');
        await dialog.getByText('All 3 rows are valid.').waitFor();
        await dialog.getByRole('cell', { name: 'C-1, first' }).waitFor();
        await hand.pressElement(dialog.getByRole('button', { name: 'Queue batch' }));
        await dialog.getByText('3 runs are queued.').waitFor();
      },
    },
    {
      name: 'make a schedule',
      goal: 3,
      walk: async (hand, page) => {
        await hand.openPage('Workflows');
        await hand.pressElement(locateClaimsRow(page).getByRole('button', { name: 'Schedule' }));
        const dialog = page.getByRole('dialog', { name: 'New schedule' });
        await hand.typeText(dialog.getByLabel('Name', { exact: true }), `Every night by ${way}`);
        await hand.typeText(dialog.getByLabel('CLAIM', { exact: true }), 'C-9');
        await hand.typeText(dialog.getByLabel('Cron expression'), '30 2 * * *');
        await hand.pressElement(dialog.getByRole('button', { name: 'Create schedule' }));
        await expectToast(page, `Every night by ${way} was created.`);
      },
    },
    {
      name: 'pin a machine',
      goal: 3,
      walk: async (hand, page) => {
        await hand.openPage('Agents');
        await hand.pressElement(page.getByRole('button', { name: `Actions for Machine ${way}` }));
        await hand.pressElement(page.getByRole('menuitem', { name: 'Pin' }));
        await expectToast(page, `Machine ${way} is pinned`);
      },
    },
    {
      name: 'publish a pack',
      goal: 3,
      walk: async (hand, page) => {
        await hand.openPage('Packs');
        await hand.pressElement(page.getByRole('link', { name: `Pack of ${way}` }));
        await hand.typeText(page.getByLabel('Label'), 'third');
        await hand.pressElement(page.getByRole('button', { name: 'Publish', exact: true }));
        await page.getByTestId('version').filter({ hasText: 'Version 3 (third)' }).waitFor();
      },
    },
    {
      name: 'roll back a pack',
      goal: 3,
      walk: async (hand, page) => {
        await hand.openPage('Packs');
        await hand.pressElement(page.getByRole('link', { name: `Pack of ${way}` }));
        await hand.pressElement(page.getByRole('button', { name: 'Roll back to Version 1 (first)' }));
        await expectToast(page, `Front office ${way} was rolled back to Version 1 (first).`);
      },
    },
    {
      name: 'what did October cost and bring',
      goal: 3,
      walk: async (hand, page) => {
        await hand.openPage('Costs');
        await hand.chooseOption(page.getByLabel('Month', { exact: true }), /^October /);
        await waitFor('October', async () => /^\d{4}-10-01$/.test(await page.getByLabel('From').inputValue()));
        await page.getByRole('heading', { name: 'Spend' }).waitFor();
        await page.getByRole('heading', { name: 'Return on investment' }).waitFor();
      },
    },
    {
      name: 'answer a feedback',
      goal: 3,
      walk: async (hand, page) => {
        await hand.openPage('Feedback');
        await hand.pressElement(page.getByRole('link', { name: `Report of ${way}` }));
        const report = page.getByRole('dialog', { name: `Report of ${way}` });
        await hand.pressElement(report.getByRole('button', { name: 'resolved' }));
        await report.getByTestId('feedback-status').filter({ hasText: 'resolved' }).waitFor();
      },
    },
    {
      name: 'who changed this machine',
      goal: 3,
      walk: async (hand, page) => {
        await hand.openPage('Agents');
        await hand.pressElement(page.getByRole('link', { name: `Machine ${way}` }));
        await hand.pressElement(page.getByRole('link', { name: 'Who changed it' }));
        await page
          .getByRole('row', { name: /agent\S* .*admin@\S+\.example/ })
          .first()
          .waitFor();
      },
    },
    {
      name: 'who changed this workflow',
      goal: 3,
      walk: async (hand, page) => {
        await hand.openPage('Workflows');
        await hand.pressElement(page.getByRole('link', { name: 'Claims of today' }));
        await hand.pressElement(page.getByRole('button', { name: 'Revisions' }));
        await page
          .getByText(/admin@\S+\.example, /)
          .first()
          .waitFor();
      },
    },
  ];
}

async function expectOnFirstScreen(page: Page, element: Locator): Promise<void> {
  expect(await page.evaluate<number>(`document.getElementById('content').scrollTop`)).toBe(0);
  const { y, height } = (await element.boundingBox())!;
  expect(y + height).toBeLessThanOrEqual(page.viewportSize()!.height);
}

function expectToast(page: Page, text: string): Promise<void> {
  return page.getByRole('status').filter({ hasText: text }).waitFor();
}

/** Runs a workflow that fails, so that Home shows its reason. */
async function prepareRuns(api: HttpClient): Promise<void> {
  const { agents } = (await api.get('/api/agents')).body;
  const workflow = await api.post('/api/workflows', { name: 'Claims of today', variables: ['CLAIM'], script });
  const body = { agentId: agents[0].id, workflowId: workflow.body.id, variables: { CLAIM: 'C-0' } };
  const { jobId } = (await api.post('/api/jobs/launch', body)).body;
  await waitFor('the failed run', async () => (await api.get(`/api/jobs/${jobId}`)).body.status === 'failed', 90_000);
}

/** Creates a pack with two pinned versions and a draft that is not published. */
async function preparePack(api: HttpClient, way: WayOfUse): Promise<void> {
  await api.put(`/api/process-library/claims-${way}`, { name: `Claims ${way}` });
  const pack = await api.post('/api/workflow-packs', { workerKey: `claims-${way}`, name: `Pack of ${way}` });
  const path = `/api/workflow-packs/${pack.body.id}`;
  const versionIds: string[] = [];
  for (const label of ['first', 'second']) {
    await putDraft(api, path, label);
    const { versionId } = (await api.post(`${path}/versions`, { label })).body;
    for (const stage of ['internal_verified', 'pilot'])
      await api.post(`${path}/versions/${versionId}/promote`, { stage });
    versionIds.push(versionId);
  }
  await putDraft(api, path, 'third');
  const [versionId, secondId] = versionIds;
  const installed = await api.post('/api/workflow-pack-installations', {
    packId: pack.body.id,
    name: `Front office ${way}`,
    versionId,
  });
  const pinned = await api.post(`/api/workflow-pack-installations/${installed.body.id}/pin`, { versionId: secondId });
  expect(pinned.status).toBe(200);
}

async function putDraft(api: HttpClient, path: string, label: string): Promise<void> {
  const content = `print("${label}")\n`;
  const sha256 = createHash('sha256').update(content).digest('hex');
  const files = [{ path: 'main.py', size: content.length, sha256 }];
  const zip = makeZip([{ name: 'main.py', content }]);
  const answer = await api.put(`${path}/draft`, { bundleBase64: zip.toString('base64'), files });
  expect([answer.status, answer.text]).toEqual([200, expect.any(String)]);
}

async function sendReport({ url, headers }: HttpClient, title: string): Promise<void> {
  const form = new FormData();
  form.set('payload', JSON.stringify({ type: 'bug_report', title, description: 'Nothing is shown.' }));
  const answer = await fetch(`${url}/api/feedback-submissions`, { method: 'POST', headers, body: form });
  expect(answer.status).toBe(201);
}
