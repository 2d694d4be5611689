import { accessSync, constants, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const axeSource = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

/** The path of the Chromium that CHROMIUM names or that is on PATH. */
export function findChromiumPath(): string | undefined {
  const { CHROMIUM, PATH = '' } = process.env;
  const candidates = PATH.split(delimiter).flatMap((folder) => names.map((name) => join(folder, name)));
  return (CHROMIUM ? [CHROMIUM] : candidates).find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

export interface Appearance {
  theme?: 'light' | 'dark';
  width?: number;
  height?: number;
}

/** A page that records script errors and violations of the content security policy. */
export class ConsoleTab {
  readonly complaints: string[] = [];
  /** The requests for event streams of all tabs of this browser context. */
  readonly streams = new Set<unknown>();

  private constructor(
    readonly page: Page,
    private readonly context: BrowserContext,
    private readonly address: string,
  ) {}

  static async open(
    browser: Browser,
    address: string,
    { theme = 'light', width = 1440, height = 900 }: Appearance = {},
  ) {
    const context = await browser.newContext({ colorScheme: theme, viewport: { width, height } });
    const tab = new ConsoleTab(await context.newPage(), context, address);
    context.setDefaultTimeout(40_000);
    context.on('request', (request) => request.url().includes('/events') && tab.streams.add(request));
    tab.page.on('console', (message) => {
      if (message.type() === 'error' && !isExpectedRefusal(message.text())) tab.complaints.push(message.text());
    });
    tab.page.on('pageerror', (error) => tab.complaints.push(error.message));
    return tab;
  }

  async goto(path: string): Promise<void> {
    await this.page.goto(`${this.address}${path}`);
  }

  /** Opens a second tab of the same browser. */
  async openAnotherTab(path: string): Promise<Page> {
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

  /** Returns the serious and critical accessibility violations that axe finds. */
  async findBarriers(): Promise<string[]> {
    // `evaluate` is not restricted by the content security policy of the page.
    await this.page.evaluate(axeSource);
    const found = await this.page.evaluate<
      { id: string; impact: string; nodes: { target: string[]; html: string }[] }[]
    >(`axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations)`);
    return found
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .flatMap(({ id, nodes }) => nodes.map(({ target, html }) => `${id}: ${target.join(' ')} ${html.slice(0, 160)}`));
  }

  /** Returns the violations in the light and in the dark theme. */
  async findBarriersInBothThemes(): Promise<string[]> {
    const found: string[] = [];
    for (const colorScheme of ['light', 'dark'] as const) {
      await this.page.emulateMedia({ colorScheme });
      found.push(...(await this.findBarriers()).map((barrier) => `${colorScheme}: ${barrier}`));
    }
    return found;
  }

  /** Returns by how many pixels the window or the content of the page can be scrolled sideways. */
  measureOverflow(): Promise<number> {
    return this.page.evaluate<number>(
      `Math.max(...[document.documentElement, document.getElementById('content')]
        .map(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth))`,
    );
  }

  close(): Promise<void> {
    return this.context.close();
  }
}

// The last argument accepts the page's request to capture its own tab.
const args = ['--no-sandbox', '--disable-dev-shm-usage', '--auto-accept-this-tab-capture'];

export async function launchBrowser(executablePath: string): Promise<Browser> {
  return chromium.launch({ executablePath, args });
}

/** Whether a console message only reports a 4xx response, such as 401 before the sign-in. */
function isExpectedRefusal(text: string): boolean {
  return /^Failed to load resource: the server responded with a status of 4\d\d/.test(text);
}
