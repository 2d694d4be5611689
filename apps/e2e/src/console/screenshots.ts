import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { ConsoleTab, findChromiumPath, launchBrowser } from './console-browser';
import { pagesOfOneResource } from './pages';

// Takes screenshots of every page in both themes and at two widths, and prints what axe and the browser report:
//   node dist/apps/e2e/src/console/screenshots.js <address> <email> <password> [folder]
const appearances = [
  { name: 'light', theme: 'light', width: 1440 },
  { name: 'dark', theme: 'dark', width: 1440 },
  { name: 'phone', theme: 'light', width: 360 },
] as const;

async function takeAllScreenshots([address, email, password, folder = 'dist/screenshots']: string[]): Promise<void> {
  const executable = findChromiumPath();
  if (!address || !email || !password || !executable) {
    throw new Error('usage: screenshots.js <address> <email> <password> [folder], with Chromium on PATH');
  }
  await mkdir(folder, { recursive: true });
  const browser = await launchBrowser(executable);
  try {
    for (const { name, theme, width } of appearances) {
      const tab = await ConsoleTab.open(browser, address, { theme, width });
      await tab.goto('/app/login');
      await tab.page.getByLabel('Email').waitFor();
      await takeScreenshot(tab, folder, `${name}-login`);
      await tab.signIn(email, password);
      for (const [page, path] of await listPaths(tab)) {
        await tab.goto(path);
        await tab.page.getByRole('heading', { level: 1 }).waitFor();
        // Waits for the remaining requests.
        await tab.page.waitForLoadState('networkidle', { timeout: 4000 }).catch(() => undefined);
        await takeScreenshot(tab, folder, `${name}-${page}`);
        for (const part of (await tab.page.getByRole('tab').all()).slice(1)) {
          await part.click();
          await tab.page.waitForLoadState('networkidle', { timeout: 4000 }).catch(() => undefined);
          const tabName = (await part.innerText()).toLowerCase().replaceAll(' ', '-');
          await takeScreenshot(tab, folder, `${name}-${page}-${tabName}`);
        }
      }
      for (const complaint of tab.complaints) process.stdout.write(`${name}: ${complaint}\n`);
      await tab.close();
    }
  } finally {
    await browser.close();
  }
  process.stdout.write(`The screenshots are in ${resolve(folder)}\n`);
}

async function takeScreenshot(tab: ConsoleTab, folder: string, name: string): Promise<void> {
  await tab.page.screenshot({ path: join(folder, `${name}.png`) });
  for (const barrier of await tab.findBarriers()) process.stdout.write(`${name}: ${barrier}\n`);
}

/** The pages of the navigation, and the page of the first resource of each list. */
async function listPaths({ page }: ConsoleTab): Promise<[string, string][]> {
  const links = await page.getByRole('navigation', { name: 'Main' }).getByRole('link').all();
  const paths = await Promise.all(
    links.map(async (link): Promise<[string, string]> => [
      (await link.innerText()).toLowerCase(),
      (await link.getAttribute('href'))!,
    ]),
  );
  const things = await Promise.all(
    pagesOfOneResource.map(async ({ name, path, list, field }): Promise<[string, string][]> => {
      const first = `fetch('${list}?limit=1').then((r) => r.json()).then((d) => d.${field}[0]?.id ?? d.${field}[0]?.sessionId)`;
      const id = await page.evaluate<string | undefined>(first);
      if (!id) return [];
      return [[name, `/app${path.replace('$id', id)}`]];
    }),
  );
  return [...paths, ['device', '/app/device'], ['safeguards', '/app/safeguards'], ...things.flat()];
}

takeAllScreenshots(process.argv.slice(2)).catch((error: Error) => {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
});
