import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { HttpClient } from '@muster/testing';
import { Client } from 'pg';
import type { Browser } from 'playwright-core';
import { findProcesses } from '../npm-start';
import { findChromiumPath, ConsoleTab, type Appearance } from './console-browser';
import {
  createExampleData,
  openPracticeOrganization,
  type Person,
  removeAllAgents,
  getSharedBrowser,
  startService,
} from '../shared-service';

/** The path of the browser, or undefined if none is installed. */
export const executable = findChromiumPath();
if (!executable)
  process.stdout.write('console: no Chromium on PATH or in CHROMIUM, so the tests of its pages are skipped\n');

/** `describe` for tests that need a browser; they are skipped if there is none. */
export const describeInBrowser = executable ? describe : describe.skip;

/**
 * A service that `npm start` has started, a browser, and an organization with the example. The spec files of one Jest
 * worker share the service and the browser; each file has its own organization.
 */
export class ConsoleFixture {
  private constructor(
    readonly address: string,
    readonly admin: Person,
    readonly superAdmin: Person,
    readonly browser: Browser,
    private readonly dataDir: string,
    private readonly whenEnded: () => Promise<void>,
  ) {}

  static async start(): Promise<ConsoleFixture> {
    const [practice, browser] = await Promise.all([openPracticeOrganization(), getSharedBrowser()]);
    const { address, superAdmin, admin, api, dataDir } = practice;
    await createExampleData(api);
    return new ConsoleFixture(address, admin, superAdmin, browser, dataDir, async () => {
      await Promise.all(browser.contexts().map((context) => context.close()));
      await removeAllAgents(api);
    });
  }

  /** Starts a separate service, for tests that need other settings or that kill the service. */
  static async startOwnService(env: NodeJS.ProcessEnv = {}): Promise<ConsoleFixture> {
    const [service, browser] = await Promise.all([startService(env), getSharedBrowser()]);
    const { address, admin, superAdmin, dataDir, start } = service;
    return new ConsoleFixture(address, admin, superAdmin, browser, dataDir, async () => {
      await Promise.all(browser.contexts().map((context) => context.close()));
      await start.endStart('SIGTERM');
      await rm(dataDir, { recursive: true, force: true });
    });
  }

  openTab(appearance?: Appearance): Promise<ConsoleTab> {
    return ConsoleTab.open(this.browser, this.address, appearance);
  }

  async openSignedInTab(path = '/app', appearance?: Appearance, person = this.admin): Promise<ConsoleTab> {
    const tab = await this.openTab(appearance);
    await tab.goto(path);
    await tab.signIn(...person);
    return tab;
  }

  createApiClient(person = this.admin): Promise<HttpClient> {
    return new HttpClient(this.address).signIn(...person);
  }

  /** Adds a user to the organization. */
  async inviteUser(role: string): Promise<Person> {
    const person: Person = [
      `${role.toLowerCase().replaceAll(' ', '-')}-${randomUUID().slice(0, 8)}@example.com`,
      'a good password',
    ];
    await (await this.createApiClient()).post('/api/users', { email: person[0], password: person[1], role });
    return person;
  }

  /** Runs a statement in the service's database, for states that the API cannot create. */
  async queryDatabase(text: string, values: unknown[]): Promise<void> {
    const client = new Client({ connectionString: this.getDatabaseUrl() });
    await client.connect();
    await client.query(text, values).finally(() => client.end());
  }

  /** URL of the service's database, for data that would take too long to create by the API. */
  getDatabaseUrl(): string {
    const { pid } = this.getStandalone();
    const settings = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
    return settings.find((each) => each.startsWith('DATABASE_URL='))!.slice('DATABASE_URL='.length);
  }

  /** Kills the service process, as in a crash; `npm start` restarts it. */
  killService(): void {
    process.kill(this.getStandalone().pid, 'SIGKILL');
  }

  end(): Promise<void> {
    return this.whenEnded();
  }

  private getStandalone() {
    return findProcesses(this.dataDir).find(({ command }) => command.includes('standalone'))!;
  }
}
