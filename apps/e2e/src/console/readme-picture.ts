import sharp from 'sharp';
import { ConsoleTab, findChromiumPath, launchBrowser } from './console-browser';

// Takes the screenshot of the console for the README, of the home page of a running service:
//   node dist/apps/e2e/src/console/readme-picture.js <address> <email> <password>
async function takeReadmePicture([address, email, password]: string[]): Promise<void> {
  const executable = findChromiumPath();
  if (!address || !email || !password || !executable)
    throw new Error('usage: readme-picture.js <address> <email> <password>, with Chromium on PATH');
  const browser = await launchBrowser(executable);
  try {
    const tab = await ConsoleTab.open(browser, address, { theme: 'light', width: 1280 });
    await tab.goto('/app');
    await tab.signIn(email, password);
    await tab.page.getByRole('heading', { level: 1 }).waitFor();
    await tab.page.waitForLoadState('networkidle', { timeout: 4000 }).catch(() => undefined);
    await sharp(await tab.page.screenshot())
      .webp({ quality: 80 })
      .toFile('docs/console.webp');
    await tab.close();
  } finally {
    await browser.close();
  }
}

void takeReadmePicture(process.argv.slice(2));
