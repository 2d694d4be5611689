// This test is long because it operates several pages in a browser.
// A short test of the same code: apps/console/src/pages/safeguards/parse-safeguards.spec.ts
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../service-process';
import { ConsoleFixture, describeInBrowser } from './console-fixture';

jest.setTimeout(180_000);

describeInBrowser('the page of safeguards', () => {
  let fixture: ConsoleFixture;

  beforeAll(async () => {
    fixture = await ConsoleFixture.start();
  });
  afterAll(() => fixture?.end());

  it('the settings lead to the page of safeguards, which shows every item of k8s/safeguards.md', async () => {
    const tab = await fixture.openSignedInTab('/app/settings');
    const { page } = tab;
    await page.getByRole('link', { name: 'Safeguards' }).click();
    await page.getByRole('heading', { level: 1, name: 'Safeguards' }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/app/safeguards');
    const markdown = readFileSync(join(root, 'k8s/safeguards.md'), 'utf8');
    const titles = [...markdown.matchAll(/^## (.+)$/gm)].map(([, title]) => title!);
    expect(titles.length).toBeGreaterThan(10);
    expect(await page.getByRole('heading', { level: 2 }).allInnerTexts()).toEqual(titles);
    const shown = (await page.getByRole('main').innerText()).replaceAll(/\s+/g, ' ');
    // Each case of a test replaces the placeholders in its name.
    const words = markdown
      .replaceAll(/%s|\$\{\w+\}/g, '…')
      .split(/[\s`*#]+|(?<=\n) *- /)
      .filter((word) => word && word !== '-');
    expect(words.filter((word) => !shown.includes(word.replace(/:$/, '')))).toEqual([]);
    expect(shown).not.toMatch(/%s|\$\{|\/app\/safeguards/);
    expect(await tab.findBarriersInBothThemes()).toEqual([]);
    // In a narrow window, the texts fill the whole width.
    await page.setViewportSize({ width: 390, height: 844 });
    const text = (await page.getByRole('definition').first().boundingBox())!;
    expect(text.width).toBeGreaterThan(300);
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('the page of safeguards needs no session', async () => {
    const tab = await fixture.openTab();
    await tab.goto('/app/safeguards');
    await tab.page.getByRole('heading', { level: 2, name: '164.312(b) Audit controls' }).waitFor();
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });
});
