import { hash } from '@node-rs/argon2';
import { generateApiKey } from '@muster/access';
import type { ApiKeyScope } from '@muster/contracts';
import { migrateDatabase } from '@muster/database';
import { seedLargeOrganization, type LargeOrganization, type OrganizationSize, HttpClient } from '@muster/testing';
import { execFile } from 'node:child_process';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import type { BenchStack } from '../bench-stack';
import { startApp } from '../bench-tenant';
import type { Child } from '../child';

/** One of the two compared organizations, in a separate database, and the apps that serve it. */
export interface GrowthFixture {
  /** `shared` has the servers of both organizations; `stack` has the same servers with this organization's database. */
  shared: BenchStack;
  stack: BenchStack;
  house: LargeOrganization;
  client: Client;
  apps: Child[];
  gateway: string;
  ingest: string;
  /** HTTP clients with an admin's session, a super admin's session, an API key and a worker key. */
  as: Record<'admin' | 'super_admin' | 'api' | 'worker', HttpClient>;
}

export async function openGrowthFixture(
  shared: BenchStack,
  name: string,
  size: OrganizationSize,
): Promise<GrowthFixture> {
  const stack = await createDatabase(shared, `growth_${name}_${randomBytes(4).toString('hex')}`);
  const client = new Client({ connectionString: stack.databaseUrl });
  await client.connect();
  // Skips the foreign key checks of millions of generated rows.
  await client.query(`SET session_replication_role = 'replica'; SET synchronous_commit = 'off'`);
  const began = performance.now();
  const house = await seedLargeOrganization(client, size);
  // Retains the whole generated year, as if older rows had been deleted day by day.
  await client.query('UPDATE organization_settings SET log_retention_days = 365, timeline_retention_days = 365');
  await client.query(`SET session_replication_role = 'origin'`);
  await client.query('CHECKPOINT');
  await buildRollups(stack);
  console.log(
    `  the ${name} organization: ${describeSize(size)}, created in ${Math.round((performance.now() - began) / 1000)} s`,
  );
  const env = { REDIS_PREFIX: getRedisPrefix({ stack }), INTERNAL_PORT: '0' };
  const [gateway, ingest] = [await startApp('gateway', stack, env), await startApp('ingest', stack, env)];
  const http = new HttpClient(gateway.url);
  const makeKeyWithScope = async (scope: ApiKeyScope) => http.withKey(await makeKey(client, house, scope));
  const as = {
    admin: await signIn(client, house, http, 'admin'),
    super_admin: await signIn(client, house, http, 'super_admin'),
    api: await makeKeyWithScope('api'),
    worker: await makeKeyWithScope('worker'),
  };
  return { shared, stack, house, client, apps: [gateway, ingest], gateway: gateway.url, ingest: ingest.url, as };
}

/** Builds the rollups, which a running service would have kept up to date. */
async function buildRollups({ databaseUrl }: BenchStack): Promise<void> {
  const program = join(__dirname, '../../rollups/rollups.js');
  await promisify(execFile)(process.execPath, [program, 'rebuild'], {
    env: { ...process.env, DATABASE_URL: databaseUrl },
  });
}

export async function closeGrowthFixture({ shared, stack, client, apps }: GrowthFixture): Promise<void> {
  await Promise.all(apps.map((app) => app.stop()));
  await client.end();
  const owner = new Client({ connectionString: shared.databaseUrl });
  await owner.connect();
  await owner.query(`DROP DATABASE ${getRedisPrefix({ stack })} WITH (FORCE)`);
  await owner.end();
}

/** Name of the database, also used as the prefix of its Redis keys. */
export function getRedisPrefix({ stack }: Pick<GrowthFixture, 'stack'>): string {
  return new URL(stack.databaseUrl).pathname.slice(1);
}

async function createDatabase(stack: BenchStack, name: string): Promise<BenchStack> {
  const client = new Client({ connectionString: stack.databaseUrl });
  await client.connect();
  await client.query(`CREATE DATABASE ${name}`);
  await client.end();
  const url = new URL(stack.databaseUrl);
  url.pathname = `/${name}`;
  await migrateDatabase(url.toString());
  return { ...stack, databaseUrl: url.toString() };
}

async function makeKey(client: Client, { organizationId }: LargeOrganization, scope: ApiKeyScope): Promise<string> {
  const { id, secret } = generateApiKey();
  await client.query(
    'INSERT INTO api_key (id, organization_id, name, scope, secret_hash) VALUES ($1, $2, $3, $4, $5)',
    [id, organizationId, 'bench', scope, createHash('sha256').update(secret).digest('hex')],
  );
  return secret;
}

async function signIn(
  client: Client,
  { organizationId }: LargeOrganization,
  http: HttpClient,
  role: string,
): Promise<HttpClient> {
  const [email, password] = [`${role}@muster.bench`, randomBytes(12).toString('base64url')];
  await client.query(
    'INSERT INTO app_user (id, organization_id, email, password_hash, role) VALUES ($1, $2, $3, $4, $5)',
    [randomUUID(), organizationId, email, await hash(password), role],
  );
  return http.signIn(email, password);
}

function describeSize({ jobs, agents, entries }: OrganizationSize): string {
  const formatCount = (value: number) => value.toLocaleString('en');
  return `${formatCount(jobs)} jobs, ${formatCount(agents)} agents, ${formatCount(entries)} timeline entries`;
}
