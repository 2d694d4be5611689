import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { migrateDatabase } from '@muster/database';
import { computeAuthenticatorCode, HttpClient, buildTestEnvironment, testPassword } from '@muster/testing';
import { Client } from 'pg';
import { type DevStack, startDevStack } from '../../../tools/dev-stack/src/dev-stack';
import { root } from './service-process';

/** A separate Postgres and Redis that a test can pause, kill or empty, and the environment of their services. */
export interface FaultFixture {
  stack: DevStack;
  env: NodeJS.ProcessEnv;
  signIn(url: string): Promise<HttpClient>;
  emptyRedis(): Promise<void>;
  query<T>(sql: string, values?: unknown[]): Promise<T[]>;
  close(): Promise<void>;
}

/**
 * `release` is the folder of the release whose schema the database gets. `findAddress` returns the URL by which the
 * services and the test reach the database; by default that of the server.
 */
export async function openFaultFixture(
  release = root,
  findAddress = async (serverUrl: string) => serverUrl,
): Promise<FaultFixture> {
  const dataDir = await mkdtemp(join(tmpdir(), 'muster-faults-'));
  const stack = await startDevStack({
    dataDir,
    durability: 'durable',
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'] },
  });
  if (release === root) await migrateDatabase(stack.databaseUrl);
  else {
    await promisify(execFile)(process.execPath, [join(release, 'dist/tools/deploy/migrate.js')], {
      env: { PATH: process.env['PATH'], DATABASE_URL: stack.databaseUrl },
    });
  }
  const email = 'super@example.com';
  const superAdmin = new SuperAdmin(email);
  const databaseUrl = await findAddress(stack.databaseUrl);
  return {
    stack,
    env: buildTestEnvironment(databaseUrl, {
      REDIS_URL: stack.redisUrl,
      LOG_LEVEL: 'info',
      OUTBOX_REPUBLISH_MS: '2000',
      OUTBOX_SWEEP_MS: '200',
      MAINTENANCE_TICK_MS: '3600000',
      BOOTSTRAP_ORGANIZATION: 'Faults',
      BOOTSTRAP_SUPER_ADMIN_EMAIL: email,
      BOOTSTRAP_SUPER_ADMIN_PASSWORD: testPassword,
    }),
    signIn: (url) => superAdmin.signIn(url),
    emptyRedis: async () => {
      process.kill(stack.redis!.pid, 'SIGKILL');
      await stack.redis!.stop();
      for (const file of await readdir(join(dataDir, 'redis/data'))) {
        await rm(join(dataDir, 'redis/data', file), { recursive: true, force: true });
      }
      await stack.redis!.restart();
    },
    query: async <T>(sql: string, values: unknown[] = []) => {
      const client = new Client({ connectionString: databaseUrl });
      // Emitted if the server is killed; the query fails too, so the event needs no handling.
      client.on('error', () => undefined);
      await client.connect();
      try {
        return (await client.query(sql, values)).rows as T[];
      } finally {
        await client.end();
      }
    },
    close: async () => {
      await stack.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** Length of the window in which an authenticator app shows the same code. */
const windowMs = 30_000;

/**
 * The super_admin of the configuration, who must set up a second factor at the first sign-in, because the services of
 * these tests have a public address.
 */
export class SuperAdmin {
  private secret?: string;
  private recoveryCodes: string[] = [];
  /** Window of the last code, because a code is accepted only if neither it nor a later one was used before. */
  private lastWindow = 0;

  constructor(
    private readonly email: string,
    private readonly password = testPassword,
  ) {}

  /** Signs in with the password, and with the second factor if the service asks for it. */
  async signIn(url: string): Promise<HttpClient> {
    const http = new HttpClient(url);
    const send = async (path: string, body: object) => {
      const answer = await http.post(`/api/auth/${path}`, body);
      if (answer.status !== 200) throw new Error(`${path} of ${this.email} answered ${answer.status}: ${answer.text}`);
      return answer;
    };
    let answer = await send('login', { email: this.email, password: this.password });
    const { needs, ticket } = answer.body as { needs?: string; ticket: string };
    if (needs === 'enrolment') {
      this.secret = (await send('totp', { ticket })).body.secret as string;
      answer = await send('totp/confirm', { ticket, ...(await this.prove()) });
      this.recoveryCodes = answer.body.recoveryCodes as string[];
    } else if (needs) answer = await send('login/totp', { ticket, ...(await this.prove()) });
    return http.with({ cookie: answer.headers.get('set-cookie')!.split(';')[0]! });
  }

  /** Returns the next code of the authenticator app, or a recovery code if the app must show a later code first. */
  private async prove(): Promise<{ code: string } | { recoveryCode: string }> {
    const now = Math.floor(Date.now() / windowMs);
    const window = Math.max(this.lastWindow + 1, now);
    // The service accepts the code of the next window too, because clocks may differ.
    if (window > now + 1) {
      const recoveryCode = this.recoveryCodes.pop();
      if (recoveryCode) return { recoveryCode };
      await new Promise((resume) => setTimeout(resume, (now + 1) * windowMs - Date.now()));
      return this.prove();
    }
    this.lastWindow = window;
    return { code: computeAuthenticatorCode(this.secret!, new Date(window * windowMs)) };
  }
}

export interface ProbeCounts {
  accepted: number;
  handled: number;
  publishedAgain: number;
}

/** Counts the probe messages by their rows, which are complete even if a queue lost messages. */
export async function countProbeMessages(fixture: FaultFixture): Promise<ProbeCounts> {
  const [row] = await fixture.query<ProbeCounts>(`
    SELECT count(*)::int AS accepted, count(handled_at)::int AS handled,
           COALESCE(sum(GREATEST(deliveries - 1, 0)), 0)::int AS "publishedAgain"
    FROM queue_probe`);
  return row!;
}
