import { randomUUID } from 'node:crypto';
import { fastify } from 'fastify';
import { Pool } from 'pg';

// The baseline of a launch, a batch of logs and a heartbeat: it writes the same rows to the same tables with one
// statement each, without authentication or validation.

const pool = new Pool({
  connectionString: process.env['DATABASE_URL'],
  max: Number(process.env['DATABASE_POOL_SIZE']),
});
const app = fastify();

const facts = `
  SELECT o.suspended, s.monthly_run_limit, s.monthly_spend_limit_micros, c.runs, c.spend_micros, w.revision, r.variables, a.status
  FROM organization o
  JOIN organization_settings s ON s.organization_id = o.id
  LEFT JOIN usage_counter c ON c.organization_id = o.id AND c.month = date_trunc('month', now())::date
  LEFT JOIN workflow w ON w.id = $2 AND w.organization_id = o.id
  LEFT JOIN workflow_revision r ON r.workflow_id = w.id AND r.revision = w.revision
  LEFT JOIN agent a ON a.id = $3 AND a.organization_id = o.id
  WHERE o.id = $1`;
const insertJob = `
  WITH job AS (
    INSERT INTO job (id, organization_id, workflow_id, workflow_revision, agent_id, variables)
    VALUES ($1, $2, $3, $4, $5, $6) RETURNING id, organization_id)
  INSERT INTO job_log_seen (job_id, organization_id) SELECT id, organization_id FROM job`;
const insertEntry = `
  WITH head AS (
    INSERT INTO timeline_head AS h (agent_id, organization_id, last_seq) VALUES ($1, $2, 1)
    ON CONFLICT (agent_id) DO UPDATE SET last_seq = h.last_seq + 1 RETURNING last_seq)
  INSERT INTO timeline_entry (agent_id, seq, organization_id, kind, message, source, job_id, data)
  SELECT $1, last_seq, $2, 'job', 'queued', 'api', $3, $4 FROM head`;
const insertAudit = `
  INSERT INTO audit_entry (id, organization_id, actor_kind, actor_id, action, target_type, target_id, changes)
  VALUES ($1, $2, 'api_key', 'bench', 'job.launch', 'job', $3, $4)`;
const insertOutbox = `
  INSERT INTO outbox (id, organization_id, queue, name, payload, next_publish_at)
  VALUES ($1, $2, 'dispatch', 'dispatch-agent', $3, NULL)`;
const insertLogs = `
  INSERT INTO bench_log (agent_id, seq, organization_id, kind, level, message, source, job_id, log_seq, at)
  SELECT $1, nextval('bench_log_seq'), $2, 'execution', e.level, e.message, 'worker', $3, e.seq, to_timestamp(e.at)
  FROM unnest($4::bigint[], $5::text[], $6::text[], $7::float8[]) AS e (seq, level, message, at)`;

void (async () => {
  const { rows } = await pool.query<{ id: string }>('SELECT id FROM organization');
  const organizationId = rows[0]!.id;

  app.post('/api/jobs/launch', async (request, reply) => {
    const { workflowId, agentId, variables } = request.body as Record<string, string>;
    const client = await pool.connect();
    const id = randomUUID();
    try {
      await client.query('BEGIN');
      const found = await client.query<{ revision: number }>({
        name: 'facts',
        text: facts,
        values: [organizationId, workflowId, agentId],
      });
      const { revision } = found.rows[0]!;
      const job = [id, organizationId, workflowId, revision, agentId, JSON.stringify(variables)];
      await client.query({ name: 'job', text: insertJob, values: job });
      const entry = [agentId, organizationId, id, JSON.stringify({ status: 'queued' })];
      await client.query({ name: 'entry', text: insertEntry, values: entry });
      const changes = JSON.stringify({ workflowId, agentId });
      await client.query({ name: 'audit', text: insertAudit, values: [randomUUID(), organizationId, id, changes] });
      const message = [randomUUID(), organizationId, JSON.stringify({ agentId })];
      await client.query({ name: 'outbox', text: insertOutbox, values: message });
      await client.query('COMMIT');
    } finally {
      client.release();
    }
    return reply.status(202).send({ jobId: id, status: 'queued' });
  });

  app.post('/api/job-logs', async (request) => {
    const { logs } = request.body as {
      logs: { jobId: string; seq: number; level: string; message: string; timestamp: number }[];
    };
    const values = [
      organizationId,
      organizationId,
      logs[0]!.jobId,
      logs.map(({ seq }) => seq),
      logs.map(({ level }) => level),
      logs.map(({ message }) => message),
      logs.map(({ timestamp }) => timestamp),
    ];
    await pool.query({ name: 'logs', text: insertLogs, values });
    return { accepted: logs.length };
  });

  app.post('/api/agent/heartbeat', async (request) => {
    const { agentId } = request.body as { agentId: string };
    await pool.query({ name: 'beat', text: 'UPDATE agent SET last_seen = now() WHERE id = $1', values: [agentId] });
    return { status: 'online', serverTime: new Date().toISOString(), pendingCommands: 0, abandon: [] };
  });

  process.send!({ url: await app.listen({ port: 0, host: '127.0.0.1' }) });
})();

process.on('SIGTERM', () => process.exit(0));
process.on('disconnect', () => process.exit(0));
