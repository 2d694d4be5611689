import { accessSync, constants, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const axeSource = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

/** The Chromium of this machine, by CHROMIUM or on PATH. */
export function chromiumPath(): string | undefined {
  const { CHROMIUM, PATH = '' } = process.env;
  const places = PATH.split(delimiter).flatMap((folder) => names.map((name) => join(folder, name)));
  return (CHROMIUM ? [CHROMIUM] : places).find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

export interface Look {
  theme?: 'light' | 'dark';
  width?: number;
  height?: number;
}

/** A page that keeps what the browser complains about: errors of scripts, and what the policy forbids. */
export class ConsoleTab {
  readonly complaints: string[] = [];
  /** Every stream of events that was begun, by any tab of this browser's session. */
  readonly streams = new Set<unknown>();

  private constructor(
    readonly page: Page,
    private readonly context: BrowserContext,
    private readonly address: string,
  ) {}

  static async open(browser: Browser, address: string, { theme = 'light', width = 1440, height = 900 }: Look = {}) {
    const context = await browser.newContext({ colorScheme: theme, viewport: { width, height } });
    const tab = new ConsoleTab(await context.newPage(), context, address);
    context.setDefaultTimeout(40_000);
    context.on('request', (request) => request.url().includes('/events') && tab.streams.add(request));
    tab.page.on('console', (message) => {
      if (message.type() === 'error' && !isRefusal(message.text())) tab.complaints.push(message.text());
    });
    tab.page.on('pageerror', (error) => tab.complaints.push(error.message));
    return tab;
  }

  async goto(path: string): Promise<void> {
    await this.page.goto(`${this.address}${path}`);
  }

  /** A second tab of the same browser. */
  async another(path: string): Promise<Page> {
    const page = await this.context.newPage();
    await page.goto(`${this.address}${path}`);
    return page;
  }

  async signIn(email: string, password: string): Promise<void> {
    await this.page.getByLabel('Email').fill(email);
    await this.page.getByLabel('Password').fill(password);
    await this.page.getByRole('button', { name: 'Sign in' }).click();
    await this.page.getByRole('navigation', { name: 'Main' }).waitFor();
  }

  /** What axe finds that keeps people out. */
  async barriers(): Promise<string[]> {
    // As the browser's own tool does it, beside the page's policy.
    await this.page.evaluate(axeSource);
    const found = await this.page.evaluate<
      { id: string; impact: string; nodes: { target: string[]; html: string }[] }[]
    >(`axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations)`);
    return found
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .flatMap(({ id, nodes }) => nodes.map(({ target, html }) => `${id}: ${target.join(' ')} ${html.slice(0, 160)}`));
  }

  /** The same in the light and in the dark. */
  async barriersInBothThemes(): Promise<string[]> {
    const found: string[] = [];
    for (const colorScheme of ['light', 'dark'] as const) {
      await this.page.emulateMedia({ colorScheme });
      found.push(...(await this.barriers()).map((barrier) => `${colorScheme}: ${barrier}`));
    }
    return found;
  }

  close(): Promise<void> {
    return this.context.close();
  }
}

// The last one says yes to a page that asks for a picture of itself.
const args = ['--no-sandbox', '--disable-dev-shm-usage', '--auto-accept-this-tab-capture'];

export async function launchBrowser(executablePath: string): Promise<Browser> {
  return chromium.launch({ executablePath, args });
}

/** An answer like 401 before anybody has signed in is no fault of a page. */
function isRefusal(text: string): boolean {
  return /^Failed to load resource: the server responded with a status of 4\d\d/.test(text);
}
