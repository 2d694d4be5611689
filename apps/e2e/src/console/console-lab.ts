import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, HttpClient, waitFor } from '@muster/testing';
import { Client } from 'pg';
import type { Browser } from 'playwright-core';
import { processesOf, Start } from '../npm-start';
import { chromiumPath, ConsoleTab, launchBrowser, type Look } from './console-browser';

/** The browser that looks at the pages. */
export const executable = chromiumPath();
if (!executable)
  process.stdout.write('console: no Chromium on PATH or in CHROMIUM, so nobody looks at its pages here\n');

/** Tests that need a browser: skipped, with that word, where there is none. */
export const describeInBrowser = executable ? describe : describe.skip;

type Person = [email: string, password: string];

/** What `npm start` brings up, with its example, and a browser beside it. */
export class ConsoleLab {
  private constructor(
    readonly address: string,
    readonly admin: Person,
    readonly superAdmin: Person,
    readonly browser: Browser,
    private readonly service: Start,
    private readonly dataDir: string,
  ) {}

  static async start(env: NodeJS.ProcessEnv = {}): Promise<ConsoleLab> {
    const dataDir = await mkdtemp(join(tmpdir(), 'muster-console-'));
    const port = await freePort();
    const service = new Start(['--port', String(port), '--data-dir', dataDir], env);
    await service.ready();
    await waitFor('the example', () => /\/app\/runs\/\S+/.exec(service.said));
    const person = (role: string): Person => {
      const [, email, password] = new RegExp(`^ +${role} +(\\S+@\\S+) +(\\S+)`, 'm').exec(service.said)!;
      return [email!, password!];
    };
    const people = [person('admin'), person('super admin')] as const;
    const browser = await launchBrowser(executable!);
    return new ConsoleLab(`http://127.0.0.1:${port}`, ...people, browser, service, dataDir);
  }

  open(look?: Look): Promise<ConsoleTab> {
    return ConsoleTab.open(this.browser, this.address, look);
  }

  async signedIn(path = '/app', look?: Look, who = this.admin): Promise<ConsoleTab> {
    const tab = await this.open(look);
    await tab.goto(path);
    await tab.signIn(...who);
    return tab;
  }

  api(who = this.admin): Promise<HttpClient> {
    return new HttpClient(this.address).signIn(...who);
  }

  /** Somebody new in the example's organization. */
  async invite(role: 'viewer' | 'member' | 'admin'): Promise<Person> {
    const person: Person = [`${role}-${randomUUID().slice(0, 8)}@example.com`, 'a good password'];
    await (await this.api()).post('/api/users', { email: person[0], password: person[1], role });
    return person;
  }

  /** Asks its database, for what no caller of the service can bring about. */
  async query(text: string, values: unknown[]): Promise<void> {
    const client = new Client({ connectionString: this.databaseUrl() });
    await client.connect();
    await client.query(text, values).finally(() => client.end());
  }

  /** Where the service keeps everything, for what would take too long by its API. */
  databaseUrl(): string {
    const { pid } = this.standalone();
    const settings = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
    return settings.find((each) => each.startsWith('DATABASE_URL='))!.slice('DATABASE_URL='.length);
  }

  /** As a crash would end it; the start brings it back. */
  killService(): void {
    process.kill(this.standalone().pid, 'SIGKILL');
  }

  async end(): Promise<void> {
    await this.browser.close();
    await this.service.end('SIGTERM');
    await rm(this.dataDir, { recursive: true, force: true });
  }

  private standalone() {
    return processesOf(this.dataDir).find(({ command }) => command.includes('standalone'))!;
  }
}
