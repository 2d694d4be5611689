import { type DynamicModule, type Type } from '@nestjs/common';
import { type AppName, type Role, roles } from '@muster/contracts';
import { Database } from '@muster/database';
import { type App, BaseConfig, type Clock, createApp, type Environment, loadConfigs } from '@muster/platform';
import { Writable } from 'node:stream';
import { type ClonedDatabase, cloneDatabase } from './database/cloned-database';
import { makeApiKey, makeOrganization, makeUser } from './factories';
import { HttpClient } from './http-client';
import { buildTestEnvironment } from './stack';
import { testPassword } from './test-password';

export interface HarnessOptions {
  name: AppName;
  configs: [new () => BaseConfig, ...(new () => BaseConfig)[]];
  modules: (Type | DynamicModule)[];
  env?: Environment;
  clock?: Clock;
  /** A database that the test already has; by default a clone is created. */
  database?: ClonedDatabase;
}

/** An app as in production, but in this process, on a free port and with its own database. */
export interface Harness {
  app: App;
  url: string;
  http: HttpClient;
  db: Database;
  databaseUrl: string;
  env: Environment;
  logs: string[];
  /** Creates an organization with a signed-in client for each role and a key of each scope. */
  makeTenant(name?: string): Promise<Tenant>;
  close(): Promise<void>;
}

export interface Tenant {
  organizationId: string;
  as: Record<Role, HttpClient>;
  userIds: Record<Role, string>;
  api: HttpClient;
  worker: HttpClient;
  /** Signs in again after the test moved the clock so far that all sessions have expired. */
  signInAgain(): Promise<void>;
}

export async function startHarness(options: HarnessOptions): Promise<Harness> {
  const database = options.database ?? (await cloneDatabase());
  const env = buildTestEnvironment(database.url, options.env);
  const logs: string[] = [];
  const logDestination = new Writable({
    write(chunk: Buffer, _encoding, done) {
      logs.push(chunk.toString());
      done();
    },
  });
  const { name, modules, clock } = options;
  const app = await createApp({ name, configs: loadConfigs(options.configs, env), modules, clock, logDestination });
  await app.nest.listen(0, '127.0.0.1');
  const url = (await app.nest.getUrl()).replace('[::1]', '127.0.0.1');
  const http = new HttpClient(url);
  const db = app.nest.get(Database);
  return {
    app,
    url,
    http,
    db,
    databaseUrl: database.url,
    env,
    logs,
    makeTenant: (tenantName) => makeTenant(db, http, tenantName),
    close: async () => {
      await app.close();
      if (!options.database) await database.drop();
    },
  };
}

async function makeTenant(db: Database, http: HttpClient, name?: string): Promise<Tenant> {
  const { id: organizationId } = await makeOrganization(db, name ? { name } : {});
  const userIds = {} as Record<Role, string>;
  const as = {} as Record<Role, HttpClient>;
  const emails = {} as Record<Role, string>;
  for (const role of roles) {
    const user = await makeUser(db, { organizationId, role });
    userIds[role] = user.id;
    emails[role] = user.email;
  }
  const signInAgain = async () => {
    for (const role of roles) as[role] = await http.signIn(emails[role], testPassword);
  };
  await signInAgain();
  const [api, worker] = await Promise.all(
    (['api', 'worker'] as const).map((scope) => makeApiKey(db, { organizationId, scope })),
  );
  const keys = { api: http.withKey(api!.secret), worker: http.withKey(worker!.secret) };
  return { organizationId, as, userIds, ...keys, signInAgain };
}
