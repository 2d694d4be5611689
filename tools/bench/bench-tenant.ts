import { generateApiKey } from '@muster/access';
import { createHash, randomBytes } from 'node:crypto';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { Client } from 'pg';
import type { BenchStack } from './bench-stack';
import { Child } from './child';

export interface BenchTenant {
  organizationId: string;
  workflowId: string;
  agentIds: string[];
  /** One running job for each agent. */
  jobIds: string[];
  apiKey: string;
  workerKey: string;
}

/** Creates an organization with agents and a workflow by SQL, because the API is not what is measured. */
export async function makeBenchTenant({ databaseUrl }: BenchStack, agents: number): Promise<BenchTenant> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  const [organizationId, workflowId] = [randomUUID(), randomUUID()];
  const agentIds = Array.from({ length: agents }, () => randomUUID());
  const jobIds = agentIds.map(() => randomUUID());
  await client.query('INSERT INTO organization (id, name) VALUES ($1, $2)', [organizationId, 'Bench']);
  await client.query('INSERT INTO organization_settings (organization_id) VALUES ($1)', [organizationId]);
  await client.query('INSERT INTO workflow (id, organization_id, name) VALUES ($1, $2, $3)', [
    workflowId,
    organizationId,
    'Bench',
  ]);
  await client.query(
    `INSERT INTO workflow_revision (workflow_id, revision, organization_id, variables, script, saved_by)
     VALUES ($1, 1, $2, '{CLAIM_ID}', 'print(1)', 'bench')`,
    [workflowId, organizationId],
  );
  await client.query(
    `INSERT INTO agent (id, organization_id, name, status, provider, boot_id, last_seen)
     SELECT id, $2, 'Agent ' || n, 'online', 'external', 'boot', now()
     FROM unnest($1::uuid[]) WITH ORDINALITY AS a (id, n)`,
    [agentIds, organizationId],
  );
  await client.query(
    `INSERT INTO job (id, organization_id, workflow_id, workflow_revision, agent_id, status, command_id, started_at)
     SELECT j, $3, $4, 1, a, 'running', gen_random_uuid(), now() FROM unnest($1::uuid[], $2::uuid[]) AS x (j, a)`,
    [jobIds, agentIds, organizationId, workflowId],
  );
  await client.query(
    'INSERT INTO job_log_seen (job_id, organization_id) SELECT id, organization_id FROM job WHERE organization_id = $1',
    [organizationId],
  );
  const keys = { api: generateApiKey(), worker: generateApiKey() };
  for (const [scope, { id, secret }] of Object.entries(keys)) {
    const hash = createHash('sha256').update(secret).digest('hex');
    await client.query(
      'INSERT INTO api_key (id, organization_id, name, scope, secret_hash) VALUES ($1, $2, $3, $4, $5)',
      [id, organizationId, 'bench', scope, hash],
    );
  }
  await client.end();
  return { organizationId, workflowId, agentIds, jobIds, apiKey: keys.api.secret, workerKey: keys.worker.secret };
}

/** Completes the jobs that the agents were created with, and sets the URL at which the agents receive commands. */
export async function cancelAllRuns(databaseUrl: string, url: string): Promise<void> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query(`UPDATE job SET status = 'completed', billed_at = now() WHERE billed_at IS NULL`);
  await client.end();
  await connectAgents(databaseUrl, url);
}

/** Sets the URL at which the agents receive commands. */
export async function connectAgents(databaseUrl: string, url: string): Promise<void> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  // An agent may only have a local URL if it was seen on this machine.
  await client.query(`UPDATE agent SET public_tunnel_url = $1, tunnel_url = $1, seen_from = '127.0.0.1'`, [url]);
  await client.end();
}

/** Starts an app as in production, except for limits that a benchmark would exceed. */
export function startApp(
  app: string,
  { databaseUrl, redisUrl }: BenchStack,
  env: Record<string, string> = {},
): Promise<Child> {
  return Child.start(join(__dirname, `../../apps/${app}/src/main.js`), {
    DATABASE_URL: databaseUrl,
    DATABASE_POOL_SIZE: '10',
    REDIS_URL: redisUrl,
    PUBLIC_APP_URL: 'http://muster.bench',
    MASTER_KEYS: `bench:${randomBytes(32).toString('base64')}`,
    OUTBOUND_ALLOW: '127.0.0.0/8',
    PORT: '0',
    RATE_LIMIT_PER_MINUTE: '100000000',
    LOG_LEVEL: 'error',
    ...env,
  });
}
