// This test is long because it operates one page in a browser.
// A short test of the same code: apps/standalone/src/questions.spec.ts
import { type HttpClient, waitFor } from '@muster/testing';
import type { Page } from 'playwright-core';
import { ConsoleFixture, describeInBrowser } from './console-fixture';

jest.setTimeout(240_000);

describeInBrowser('the inbox', () => {
  let fixture: ConsoleFixture;
  let api: HttpClient;
  let agentId: string;

  beforeAll(async () => {
    fixture = await ConsoleFixture.start();
    api = await fixture.createApiClient();
    agentId = (await api.get('/api/agents')).body.agents[0].id;
  });
  afterAll(() => fixture?.end());
  afterEach(async () => {
    const { jobs } = (await api.get('/api/jobs?status=running')).body;
    for (const { id } of jobs) await api.post(`/api/jobs/${id}/cancel`, {});
  });

  const launchScript = async (name: string, lines: string[]) => {
    const script = ['import muster', ...lines].join('\n');
    const workflow = await api.post('/api/workflows', { name, script });
    const launched = await api.post('/api/jobs/launch', { agentId, workflowId: workflow.body.id });
    expect(launched.status).toBe(202);
    return launched.body.jobId as string;
  };
  const waitForRunResult = (id: string) =>
    waitFor(
      'the end of the run',
      async () => {
        const { status, result, error } = (await api.get(`/api/jobs/${id}`)).body;
        return ['completed', 'failed', 'cancelled'].includes(status) && { status, result, error };
      },
      60_000,
    );
  const locateQuestionCard = (page: Page, text: string | RegExp) => page.getByRole('article', { name: text });
  const locateOpenQuestionCount = (page: Page) => page.getByTestId('open-questions');
  const measureHorizontalOverflow = (page: Page) =>
    page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth');

  it('the inbox shows a question, returns the first answer to the script, and shows who answered', async () => {
    const [admin, member] = [await fixture.openSignedInTab('/app/inbox'), await fixture.inviteUser('member')];
    const other = await fixture.openSignedInTab('/app/inbox', { width: 360, height: 740 }, member);
    await Promise.all([admin, other].map(({ page }) => page.getByText('No open questions.').waitFor()));
    expect(await locateOpenQuestionCount(admin.page).count()).toBe(0);
    const jobId = await launchScript('Eligibility', [
      'plan = muster.ask("Which plan?", kind="choice", choices=["Gold", "Silver"], context={"claimId": "C-1042"})',
      'sure = muster.ask("Send it?", kind="confirm", default=False)',
      'muster.result({"plan": plan, "sure": sure})',
    ]);
    await locateQuestionCard(other.page, 'Which plan?').getByText('C-1042').waitFor();
    expect(await locateOpenQuestionCount(other.page).innerText()).toMatch(/^1\b/);
    expect(await locateQuestionCard(other.page, 'Which plan?').innerText()).toMatch(/(9 min \d\d|10 min 00) s left/);
    await locateQuestionCard(other.page, 'Which plan?').click({ position: { x: 5, y: 5 } });
    await locateQuestionCard(admin.page, 'Which plan?').getByRole('button', { name: 'Gold' }).click();
    await locateQuestionCard(other.page, 'Which plan?').getByText(`Answered by ${fixture.admin[0]}`).waitFor();
    expect(await locateQuestionCard(other.page, 'Which plan?').getByRole('button').count()).toBe(0);
    await locateQuestionCard(other.page, 'Send it?').getByRole('button', { name: 'Decline' }).click();
    const dialog = other.page.getByRole('dialog', { name: 'Decline this question?' });
    await dialog.getByLabel('Reason').fill('not today');
    expect(await other.findBarriers()).toEqual([]);
    await dialog.getByRole('button', { name: 'Decline' }).click();
    await locateQuestionCard(admin.page, 'Send it?').waitFor({ state: 'detached' });
    expect(await waitForRunResult(jobId)).toMatchObject({ status: 'completed', result: { plan: 'Gold', sure: false } });
    expect(await locateOpenQuestionCount(other.page).count()).toBe(0);
    expect([...admin.complaints, ...other.complaints]).toEqual([]);
    await Promise.all([admin.close(), other.close()]);
  });

  it('a rule that is turned on in the settings opens an alert in the inbox, which a person acknowledges', async () => {
    const tab = await fixture.openSignedInTab('/app/settings?part=Alerts', { width: 360, height: 740 });
    const { page } = tab;
    const row = page.getByTestId('alert-rule').filter({ hasText: 'A run asks a question' });
    await row.getByText('off', { exact: true }).waitFor();
    await row.getByRole('button').click();
    const dialog = page.getByRole('dialog', { name: 'A run asks a question' });
    await dialog.getByText('No notification channels yet.').waitFor();
    expect(await tab.findBarriers()).toEqual([]);
    await dialog.getByLabel('On', { exact: true }).check();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await row.getByText('on', { exact: true }).waitFor();
    const jobId = await launchScript('Alerts', ['muster.ask("Which tooth?", kind="text")']);
    await page.getByRole('link', { name: 'Inbox' }).click();
    const alert = page.getByTestId('alert').filter({ hasText: 'Which tooth?' });
    await alert.getByText('A run asks a question').waitFor();
    expect([await measureHorizontalOverflow(page), await tab.findBarriers()]).toEqual([0, []]);
    await alert.getByRole('button', { name: 'Acknowledge' }).click();
    await alert.getByText(`Acknowledged by ${fixture.admin[0]}`).waitFor();
    await api.post(`/api/jobs/${jobId}/cancel`, {});
    await alert.waitFor({ state: 'detached' });
    // The count of the inbox includes alerts, so a rule that stays on would change it in the next tests.
    expect((await api.put('/api/alert-rules/question_asked', { enabled: false })).status).toBe(200);
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('the inbox is accessible, and usable by the keyboard and on a phone', async () => {
    const fields =
      '[{"name": "npi", "label": "NPI"}, {"name": "paid", "type": "number", "required": False}, {"name": "urgent", ' +
      '"type": "boolean"}, {"name": "payer", "type": "choice", "choices": ["Delta", "Cigna"]}]';
    const jobId = await launchScript('Remittance', [
      'code = muster.ask("Code from the phone", kind="code")',
      `form = muster.ask("Who is the payer?", kind="form", fields=${fields})`,
      'text = muster.ask("Anything else?")',
      'muster.result({"length": len(code), "form": form, "text": text})',
    ]);
    const tab = await fixture.openSignedInTab('/app/inbox', { width: 360, height: 740 });
    const { page } = tab;
    const code = locateQuestionCard(page, 'Code from the phone');
    await code.waitFor();
    expect(await tab.findBarriersInBothThemes()).toEqual([]);
    expect(await measureHorizontalOverflow(page)).toBeLessThanOrEqual(0);
    expect(await code.getByLabel('Code').getAttribute('autocomplete')).toBe('one-time-code');
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.keyboard.type('739182');
    await page.keyboard.press('Enter');
    await code.getByText('Answered by').waitFor();
    const form = locateQuestionCard(page, 'Who is the payer?');
    await form.getByLabel('NPI').waitFor();
    await page.keyboard.press('j');
    await code.waitFor({ state: 'detached' });
    expect(await form.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true);
    expect(await tab.findBarriersInBothThemes()).toEqual([]);
    await form.getByLabel('NPI').fill('1234567893');
    await form.getByLabel('paid').fill('12.5');
    await form.getByLabel('payer').selectOption('Cigna');
    await form.getByRole('button', { name: 'Answer' }).click();
    const text = locateQuestionCard(page, 'Anything else?');
    await text.getByLabel('Answer').fill('No, thank you');
    await text.getByRole('button', { name: 'Answer' }).click();
    expect(await waitForRunResult(jobId)).toMatchObject({
      status: 'completed',
      result: {
        ...{ length: 6, text: 'No, thank you' },
        form: { npi: '1234567893', paid: 12.5, urgent: false, payer: 'Cigna' },
      },
    });
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('the inbox and the page of a run let only the addressed users answer, and show each outcome', async () => {
    const [person, otherMember] = [await fixture.inviteUser('member'), await fixture.inviteUser('member')];
    const jobId = await launchScript('Approval', [
      `muster.ask("Approve?", kind="confirm", to=["${person[0]}", "role:admin"])`,
      'muster.ask("For a moment?", timeout="2s", default=None)',
    ]);
    const [addressee, other] = [
      await fixture.openSignedInTab(`/app/runs/${jobId}`, { width: 360 }, person),
      await fixture.openSignedInTab(`/app/runs/${jobId}`, undefined, otherMember),
    ];
    await locateQuestionCard(other.page, 'Approve?').getByText('every administrator').waitFor();
    expect(await locateQuestionCard(other.page, 'Approve?').innerText()).toContain(person[0]);
    expect(await locateQuestionCard(other.page, 'Approve?').getByRole('button').count()).toBe(0);
    expect(await locateOpenQuestionCount(other.page).count()).toBe(0);
    expect(await measureHorizontalOverflow(addressee.page)).toBeLessThanOrEqual(0);
    await locateQuestionCard(addressee.page, 'Approve?').getByRole('button', { name: 'Yes' }).click();
    await locateQuestionCard(other.page, 'Approve?').getByText(`Answered by ${person[0]}`).waitFor();
    await locateQuestionCard(other.page, 'For a moment?').getByText('No person answered in time.').waitFor();
    expect(await waitForRunResult(jobId)).toMatchObject({ status: 'completed' });
    expect([...addressee.complaints, ...other.complaints]).toEqual([]);
    await Promise.all([addressee.close(), other.close()]);
  });

  it('the inbox shows more questions than one API page holds, and removes those of a cancelled run', async () => {
    const jobId = await launchScript('Many', ['muster.ask("The first?")']);
    const tab = await fixture.openSignedInTab('/app/inbox');
    const { page } = tab;
    await locateQuestionCard(page, 'The first?').waitFor();
    await fixture.queryDatabase(
      `INSERT INTO question (id, organization_id, job_id, agent_id, workflow_id, question_key, question, kind, expires_at)
       SELECT gen_random_uuid(), organization_id, id, agent_id, workflow_id, n::text, 'Question ' || n, 'confirm',
              now() + interval '1 hour' FROM job, generate_series(1, 250) n WHERE id = $1`,
      [jobId],
    );
    await page.reload();
    await locateOpenQuestionCount(page).getByText('100+').waitFor();
    await page.getByRole('button', { name: 'More questions' }).click();
    await locateOpenQuestionCount(page).getByText('200+').waitFor();
    await page.getByRole('button', { name: 'More questions' }).click();
    await waitFor('all questions', async () => (await page.getByRole('article').count()) === 251);
    expect(await locateOpenQuestionCount(page).innerText()).toMatch(/^251\b/);
    await api.post(`/api/jobs/${jobId}/cancel`, {});
    await waitFor('all questions to disappear', async () => (await page.getByRole('article').count()) === 0, 15_000);
    await page.getByText('No open questions.').waitFor();
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });
});
