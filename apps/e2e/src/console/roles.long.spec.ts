// This test is long because it opens every page in a browser as each role.
// A short test of the same code: apps/standalone/src/routes.spec.ts
import { waitFor } from '@muster/testing';
import type { ConsoleTab } from './console-browser';
import { ConsoleFixture, describeInBrowser } from './console-fixture';

jest.setTimeout(240_000);

describeInBrowser('forbidden content and actions', () => {
  let fixture: ConsoleFixture;
  let run: { id: string; agentId: string; workflowId: string };

  beforeAll(async () => {
    fixture = await ConsoleFixture.start();
    const api = await fixture.createApiClient();
    [run] = (await api.get('/api/jobs?limit=1')).body.jobs;
    // The buttons on the page of a run depend on whether the run has ended.
    const hasEnded = async () => (await api.get(`/api/jobs/${run.id}`)).body.status === 'completed';
    await waitFor('the end of the example', hasEnded, 120_000);
  });
  afterAll(() => fixture?.end());

  const listMenuPaths = async ({ page }: ConsoleTab) => {
    const links = await page.getByRole('navigation', { name: 'Main' }).getByRole('link').all();
    const paths = await Promise.all(links.map((link) => link.getAttribute('href')));
    return [...paths, `/app/agents/${run.agentId}`, `/app/runs/${run.id}`, `/app/workflows/${run.workflowId}`];
  };

  it.each(['viewer', 'member', 'admin', 'Front desk'] as const)(
    'pages and tabs that a %s can open send no request that is forbidden for this role',
    async (role) => {
      const isOwn = role === 'Front desk';
      if (isOwn) {
        const permissions = ['runs.read', 'runs.write', 'schedules.read'];
        await (await fixture.createApiClient()).post('/api/roles', { name: role, permissions });
      }
      const tab = await fixture.openSignedInTab('/app', undefined, await fixture.inviteUser(role));
      const { page } = tab;
      const refused: string[] = [];
      page.on('response', (response) => {
        if (response.status() === 403) refused.push(`${response.request().method()} ${response.url()}`);
      });
      const paths = await listMenuPaths(tab);
      // A link to a page that the role may not see shows the error of the API.
      const hidden = isOwn ? [`/app/agents/${run.agentId}`, `/app/workflows/${run.workflowId}`] : [];
      for (const path of paths.filter((each) => !hidden.includes(each!))) {
        await tab.goto(path!);
        await waitUntilLoaded(tab);
        const parts = await page.getByRole('tab').all();
        for (const part of parts) {
          await part.click();
          await waitUntilLoaded(tab);
        }
        expect([path, refused]).toEqual([path, []]);
      }
      expect(tab.complaints).toEqual([]);
      await tab.close();
    },
  );

  const waitUntilLoaded = async ({ page }: ConsoleTab) => {
    await page.getByRole('heading', { level: 1 }).waitFor();
    await waitFor('the content to load', async () => (await page.getByLabel('Loading').count()) === 0);
  };

  const listVisibleButtons = async (tab: ConsoleTab, path: string) => {
    await tab.goto(path);
    await waitUntilLoaded(tab);
    return tab.page.getByRole('main').getByRole('button').allInnerTexts();
  };

  it('forbidden actions are not offered to a viewer', async () => {
    const tab = await fixture.openSignedInTab('/app', undefined, await fixture.inviteUser('viewer'));
    const { page } = tab;
    const navigation = await page.getByRole('navigation', { name: 'Main' }).innerText();
    expect(navigation).not.toContain('Admin');
    await page.keyboard.press('?');
    const keys = await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).innerText();
    expect(keys).toContain('Settings');
    expect(keys).not.toContain('Admin');
    await tab.goto('/app/agents');
    await page.getByRole('link', { name: 'Demo agent' }).waitFor();
    expect(await page.getByRole('button', { name: /^Actions for|New agent|^Select/ }).count()).toBe(0);
    for (const [path, actions] of [
      [`/app/runs/${run.id}`, ['Replay', 'Cancel run']],
      [`/app/workflows/${run.workflowId}`, ['Run', 'Batch', 'Save']],
      ['/app/schedules', ['New schedule']],
      ['/app/workflows', ['Upload recording', 'New workflow']],
      ['/app/settings', ['Save', 'Show signing secret']],
      ['/app/settings?part=Limits', ['Save']],
      ['/app/settings?part=Users', ['Invite user']],
      ['/app/settings?part=Prices', ['New price', 'Recompute costs']],
    ] as const) {
      const buttons = await listVisibleButtons(tab, path);
      expect([path, actions.filter((action) => buttons.includes(action))]).toEqual([path, []]);
    }
    await tab.goto('/app/settings');
    const parts = await page.getByRole('tab').allInnerTexts();
    for (const name of ['API keys', 'Vault', 'Model', 'Audit']) expect(parts).not.toContain(name);
    // A link to a forbidden tab shows the first tab instead.
    await tab.goto('/app/settings?part=Vault');
    await page.getByRole('tab', { name: 'Organization', selected: true }).waitFor();
    await tab.close();
  });

  it('a viewer who opens the administration by its URL gets an explanation', async () => {
    const tab = await fixture.openSignedInTab('/app/admin', undefined, await fixture.inviteUser('viewer'));
    await tab.page.getByText('This page is for admins.').waitFor();
    expect(await tab.findBarriersInBothThemes()).toEqual([]);
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('actions are offered to the roles that may use them: runs to a member, settings to an admin', async () => {
    const member = await fixture.openSignedInTab('/app', undefined, await fixture.inviteUser('member'));
    expect(await listVisibleButtons(member, `/app/runs/${run.id}`)).toContain('Replay');
    expect(await listVisibleButtons(member, `/app/workflows/${run.workflowId}`)).toContain('Run');
    expect(await listVisibleButtons(member, '/app/settings?part=Users')).not.toContain('Invite user');
    await member.close();
    const admin = await fixture.openSignedInTab('/app', undefined, await fixture.inviteUser('admin'));
    expect(await listVisibleButtons(admin, '/app/settings?part=Users')).toContain('Invite user');
    expect(await listVisibleButtons(admin, '/app/settings')).toContain('Save');
    await admin.goto('/app/agents');
    await admin.page.getByRole('button', { name: 'New agent' }).waitFor();
    await admin.close();
  });
});
