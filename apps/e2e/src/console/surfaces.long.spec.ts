// This test is long because it opens menus and dialogs in a browser while their scripts are delayed.
// A short test of the same code: apps/e2e/src/console/weight.spec.ts
import { waitFor } from '@muster/testing';
import type { Page } from 'playwright-core';
import { ConsoleFixture, describeInBrowser } from './console-fixture';

jest.setTimeout(180_000);

/** The script with the surfaces of menus and dialogs, which a page loads after its first screen. */
const script = /\/assets\/surfaces-[^/]*\.js$/;

describeInBrowser('menus and dialogs, which are loaded after the page', () => {
  let fixture: ConsoleFixture;

  beforeAll(async () => {
    fixture = await ConsoleFixture.start();
  });
  afterAll(() => fixture?.end());

  const getFocused = (page: Page) =>
    page.evaluate<string>(
      `(({ role, textContent, ariaLabel }) => ariaLabel ?? role ?? textContent)(document.activeElement)`,
    );

  /** Opens the list of agents, whose requests for the script wait until the returned function is called. */
  const openAgentsBeforeScript = async () => {
    const tab = await fixture.openTab();
    let releaseScript = () => {};
    const isReleased = new Promise<void>((done) => (releaseScript = done));
    await tab.page.route(script, async (route) => {
      await isReleased;
      await route.continue();
    });
    await tab.goto('/app/agents');
    await tab.signIn(...fixture.admin);
    await tab.page.getByRole('button', { name: 'Actions for Demo agent' }).waitFor();
    return { tab, page: tab.page, release: releaseScript };
  };

  it.each([
    { way: 'mouse', focused: 'menu' },
    { way: 'keyboard', focused: 'menuitem' },
  ])(
    'a menu that was requested by $way opens when its script arrives, with the focus in it',
    async ({ way, focused }) => {
      const { tab, page, release } = await openAgentsBeforeScript();
      const trigger = page.getByRole('button', { name: 'Actions for Demo agent' });
      if (way === 'mouse') await trigger.click();
      else await trigger.press('Enter');
      expect(await trigger.getAttribute('aria-expanded')).toBe('true');
      expect(await page.getByRole('menu').count()).toBe(0);
      release();
      const menu = page.getByRole('menu', { name: 'Actions for Demo agent' });
      await menu.waitFor();
      await waitFor('the focus in the menu', async () => (await getFocused(page)) === focused);
      expect(await trigger.getAttribute('aria-controls')).toBe(await menu.getAttribute('id'));
      const [box, button] = [(await menu.boundingBox())!, (await trigger.boundingBox())!];
      expect(Math.abs(box.x + box.width - button.x - button.width)).toBeLessThan(2);
      expect(await tab.findBarriersInBothThemes()).toEqual([]);

      await page.keyboard.press('Escape');
      await menu.waitFor({ state: 'detached' });
      await waitFor('the focus on the button', async () => (await getFocused(page)) === 'Actions for Demo agent');
      expect(await trigger.getAttribute('aria-expanded')).toBe('false');
      expect(await trigger.getAttribute('aria-controls')).toBeNull();
      // A menu that is opened with a key again has the focus on its first action, from which the arrows continue.
      await page.keyboard.press('ArrowDown');
      await page.getByRole('menuitem', { name: 'Rename' }).and(page.locator(':focus')).waitFor();
      await page.keyboard.press('ArrowDown');
      await page.getByRole('menuitem', { name: 'Pin' }).and(page.locator(':focus')).waitFor();
      await trigger.click();
      await menu.waitFor({ state: 'detached' });
      expect(tab.complaints).toEqual([]);
      await tab.close();
    },
  );

  it('the script is requested only after the data of the first screen has arrived', async () => {
    const tab = await fixture.openTab();
    const { page } = tab;
    let releaseData = () => {};
    const isReleased = new Promise<void>((done) => (releaseData = done));
    await page.route(/\/api\/agents\?/, async (route) => {
      await isReleased;
      await route.continue();
    });
    let isRequested = false;
    page.on('request', (request) => (isRequested ||= script.test(request.url())));
    await tab.goto('/app/agents');
    await tab.signIn(...fixture.admin);
    await page.getByRole('main').getByLabel('Loading').first().waitFor();
    // Idle callbacks run in the order in which they were requested, so those of the page have run before this one.
    await page.evaluate(`new Promise((done) => requestIdleCallback(() => done(), { timeout: 5000 }))`);
    expect(isRequested).toBe(false);
    releaseData();
    await waitFor('the request for the script', () => isRequested);
    await page.getByRole('button', { name: 'Actions for Demo agent' }).waitFor();
    await tab.close();
  });

  it('a dialog that was requested opens when its script arrives, with the focus in its first field', async () => {
    const { tab, page, release } = await openAgentsBeforeScript();
    await page.getByRole('button', { name: 'New agent' }).press('Enter');
    release();
    const dialog = page.getByRole('dialog', { name: 'New agent' });
    await dialog.getByLabel('Name').and(page.locator(':focus')).waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'New agent' }).and(page.locator(':focus')).waitFor();
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('a menu whose script cannot be loaded says so, and opens after a reload of the page', async () => {
    const tab = await fixture.openTab();
    const { page } = tab;
    await page.route(script, (route) => route.abort());
    await tab.goto('/app/agents');
    await tab.signIn(...fixture.admin);
    const trigger = page.getByRole('button', { name: 'Actions for Demo agent' });
    await trigger.click();
    await page.getByRole('status').filter({ hasText: 'A part of this page could not be loaded.' }).waitFor();
    expect(await trigger.getAttribute('aria-expanded')).toBe('false');
    await page.unroute(script);
    await page.reload();
    await trigger.click();
    await page.getByRole('menuitem', { name: 'Pin' }).waitFor();
    await tab.close();
  });
});
