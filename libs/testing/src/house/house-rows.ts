import { feedbackAndPacksSql } from './feedback-rows';

// Statements for the rows of a large organization. Each column that lists are filtered by has a usual value, and a rare
// value that only three old rows have. {names} are replaced with values of the organization.

/** SQL for the creation time of row `n` of `total`, in the year that ends now. */
const creationTimeSql = (n: string, total: string) =>
  `(to_timestamp({until} / 1000.0) - make_interval(secs => {days} * 86400.0 * (1 - (${n}) / ((${total}) + 1.0))))`;

/** SQL for an id that the service would create at this time. */
const rowIdSql = (at: string, salt: string) =>
  `overlay(overlay(overlay(md5('{organization}' || ${salt}) PLACING
     lpad(to_hex((extract(epoch FROM ${at}) * 1000)::bigint), 12, '0') FROM 1) PLACING '7' FROM 13) PLACING '8' FROM 17)::uuid`;

const createTempTableSql = (kind: string, count: string) => `
  DROP TABLE IF EXISTS house_${kind};
  CREATE TEMP TABLE house_${kind} AS
  SELECT n, ${rowIdSql(creationTimeSql('n', count), `'${kind}' || n`)} AS id, ${creationTimeSql('n', count)} AS at
  FROM generate_series(1, greatest(1, ${count})::bigint) n`;

const analyzed = ['agent', 'workflow', 'schedule', 'batch'].map((kind) => `ANALYZE house_${kind}`);
const joinTempTableSql = (kind: string, n: string) => `LEFT JOIN house_${kind} ON house_${kind}.n = ${n}`;

export const houseStatements = [
  `INSERT INTO organization (id, name) VALUES ('{organization}', 'House') ON CONFLICT DO NOTHING`,
  `INSERT INTO organization_settings (organization_id) VALUES ('{organization}') ON CONFLICT DO NOTHING`,
  createTempTableSql('agent', '{agents}'),
  createTempTableSql('workflow', '20'),
  createTempTableSql('schedule', 'greatest(20, {agents})'),
  createTempTableSql('batch', '{jobs} / 100 + 1'),
  ...analyzed,
  `DROP TABLE IF EXISTS house_job;
   CREATE TEMP TABLE house_job AS
   SELECT j.n, ${rowIdSql('j.at', `'job' || j.n`)} AS id, j.at, j.status, house_agent.id AS agent_id,
          house_workflow.id AS workflow_id, house_schedule.id AS schedule_id, house_batch.id AS batch_id
   FROM (SELECT n, ${creationTimeSql('n', '{jobs}')} AS at,
                CASE WHEN n > {jobs} - 20 THEN 'queued' WHEN n <= 10 THEN 'cancelled' WHEN n % 20 = 7 THEN 'failed'
                ELSE 'completed' END AS status
         FROM generate_series(1, {jobs}::bigint) n) j
   ${joinTempTableSql('agent', 'CASE WHEN j.n % 10 = 0 THEN 1 WHEN j.n IN (3, 13, 23) THEN {agents} ELSE 2 + j.n % greatest({agents} - 2, 1) END')}
   ${joinTempTableSql('workflow', 'CASE WHEN j.n IN (5, 15, 25) THEN 20 ELSE 1 + j.n % 19 END')}
   ${joinTempTableSql('schedule', 'CASE WHEN j.n IN (6, 16, 26) THEN 10 WHEN j.n % 3 = 0 THEN 1 + j.n % 9 END')}
   ${joinTempTableSql('batch', 'CASE WHEN j.n % 5 = 0 THEN 1 + j.n / 100 END')}
   ORDER BY j.n`,
  'ANALYZE house_job',
  `INSERT INTO workflow (id, organization_id, name) SELECT id, '{organization}', 'Workflow ' || n FROM house_workflow`,
  `INSERT INTO workflow_revision (workflow_id, revision, organization_id, variables, script, saved_by)
   SELECT id, 1, '{organization}', ARRAY['CLAIM_ID'], 'print(1)', 'house' FROM house_workflow`,
  `INSERT INTO agent (id, organization_id, name, status, provider, boot_id, last_seen, status_since, last_activity_at, labels)
   SELECT id, '{organization}', CASE WHEN n = {agents} THEN 'Needle' ELSE 'Agent ' || n END,
          CASE WHEN n = {agents} THEN 'offline' WHEN n <= 3 OR n % 5 = 0 THEN 'online' ELSE 'stopped' END, 'external',
          'boot', now(), now() - interval '1 day', now(),
          CASE WHEN n = {agents} THEN ARRAY['rare'] ELSE ARRAY['usual'] END
   FROM house_agent`,
  `INSERT INTO schedule (id, organization_id, name, workflow_id, agent_id, cron_expression, timezone, next_run_at)
   SELECT s.id, '{organization}', 'Schedule ' || s.n, w.id, a.id, '0 3 * * *', 'UTC', now() + interval '1 day'
   FROM house_schedule s JOIN house_workflow w ON w.n = CASE s.n WHEN 10 THEN 20 ELSE 1 END
   JOIN house_agent a ON a.n = CASE s.n WHEN 10 THEN {agents} ELSE 1 END`,
  `INSERT INTO batch (id, organization_id, workflow_id, workflow_revision, total, rejected, created_by, created_at)
   SELECT b.id, '{organization}', w.id, 1, 20, 0, 'house', b.at
   FROM house_batch b JOIN house_workflow w ON w.n = CASE WHEN b.n <= 3 THEN 20 ELSE 1 END`,
  `INSERT INTO job (id, organization_id, workflow_id, workflow_revision, agent_id, schedule_id, batch_id, status, queued_at,
                    not_before, started_at, finished_at, billed_at, last_heartbeat_at, last_progress_at, waiting_reason,
                    total_cost_micros, target_labels, error)
   SELECT id, '{organization}', workflow_id, 1, agent_id, schedule_id, batch_id, status, at, at,
          CASE WHEN status <> 'queued' THEN at END,
          CASE WHEN status <> 'queued' THEN at + make_interval(secs => 60 + n % 9000 / 1000.0) END,
          CASE WHEN status <> 'queued' THEN at + interval '1 minute' END, at, at,
          CASE WHEN status = 'queued' THEN 'agent_offline' END,
          CASE WHEN status <> 'queued' THEN n % 1000 + n % 500 END,
          CASE WHEN n <= 3 THEN ARRAY['needle'] WHEN n % 4 = 0 THEN ARRAY['usual'] END,
          CASE WHEN n <= 3 THEN 'a needle in the portal' WHEN status = 'failed' THEN 'the portal gave no answer' END
   FROM house_job ORDER BY n`,
  `INSERT INTO question (id, organization_id, job_id, agent_id, workflow_id, question_key, question, kind, status,
                         asked_at, ended_at, expires_at)
   SELECT ${rowIdSql('at', `'question' || n`)}, '{organization}', id, agent_id, workflow_id, 'one', 'Which?', 'text',
          CASE WHEN n % 1000 = 0 THEN 'open' WHEN n = 50 THEN 'expired' ELSE 'answered' END, at, at, at
   FROM house_job WHERE n % 5 = 0`,
  `INSERT INTO account (organization_id, name, id, pool, vault_keys, "limit", cooldown_seconds, enabled)
   SELECT '{organization}', 'account-' || n, ${rowIdSql('now()', `'account' || n`)},
          CASE WHEN n = 1 THEN 'needle' ELSE 'usual' END, jsonb_build_object('password', 'K'), 1, 60, true
   FROM generate_series(1, 300) n`,
  `INSERT INTO account_use (job_id, pool, organization_id, agent_id, priority, queued_at, account, since, until)
   SELECT id, 'needle', '{organization}', agent_id, 5, at, 'account-1', date_trunc('milliseconds', at),
          date_trunc('milliseconds', at + interval '1 minute')
   FROM house_job WHERE status <> 'queued'`,
  `INSERT INTO job_step (job_id, step_order, organization_id, status, state_key, name)
   SELECT id, s, '{organization}', 'passed', 1, 'Step ' || s FROM house_job, generate_series(1, 2) s`,
  `INSERT INTO run_cost (job_id, organization_id, compute_micros_per_hour, compute_micros, ai_micros, reported_micros,
                         total_micros, duration_ms)
   SELECT id, '{organization}', 100000, n % 1000, n % 500, 0, n % 1000 + n % 500, 60000 + n % 9000 FROM house_job WHERE status <> 'queued'`,
  `INSERT INTO run_cost_component (job_id, position, organization_id, workflow_id, agent_id, schedule_id, finished_at, kind,
                                   provider, model, quantity, unit, unit_price_usd, amount_micros)
   SELECT id, p, '{organization}', workflow_id, agent_id, schedule_id, at + interval '1 minute',
          CASE p WHEN 0 THEN 'compute' ELSE 'ai' END, CASE p WHEN 1 THEN 'openai' END,
          CASE p WHEN 1 THEN 'gpt-' || n % 5 END, 1, CASE p WHEN 0 THEN 'hour' ELSE 'token' END, 0.001,
          CASE p WHEN 0 THEN n % 1000 ELSE n % 500 END
   FROM house_job, generate_series(0, 1) p WHERE status <> 'queued'`,
  `INSERT INTO usage_event (job_id, kind, organization_id, month, outcome, at, run_ms)
   SELECT id, 'run', '{organization}', date_trunc('month', at AT TIME ZONE 'UTC')::date, status, at, 60000
   FROM house_job WHERE status <> 'queued'`,
  `INSERT INTO usage_counter (organization_id, month, runs, completed, failed, cancelled, run_ms)
   SELECT organization_id, month, count(*), count(*) FILTER (WHERE outcome = 'completed'),
          count(*) FILTER (WHERE outcome = 'failed'), count(*) FILTER (WHERE outcome = 'cancelled'), sum(run_ms)
   FROM usage_event WHERE organization_id = '{organization}' GROUP BY 1, 2`,
  `INSERT INTO agent_command (id, organization_id, agent_id, job_id, kind, payload, deadline, taken_at, finished_at, status,
                              next_push_at)
   SELECT id, '{organization}', agent_id, id, 'run', '{}', at + interval '1 hour', at, at, 'success', NULL
   FROM house_job WHERE status <> 'queued'`,
  `INSERT INTO schedule_run (schedule_id, nominal_at, kind, organization_id, fired_at, outcome, job_id)
   SELECT schedule_id, at, 'tick', '{organization}', at, 'launched', id FROM house_job WHERE schedule_id IS NOT NULL`,
  `INSERT INTO audit_entry (id, organization_id, at, actor_kind, actor_id, action, target_type, target_id)
   SELECT id, '{organization}', at, CASE WHEN n <= 3 THEN 'user' ELSE 'api_key' END,
          CASE WHEN n <= 3 THEN 'rare person' ELSE 'the key' END, CASE WHEN n <= 3 THEN 'user.update' ELSE 'job.launch' END,
          'job', CASE WHEN n <= 3 THEN 'rare target' ELSE id::text END
   FROM house_job`,
  `INSERT INTO access_entry (id, organization_id, minute, at, actor_kind, actor_id, address, route, subject_type, subject_id)
   SELECT id, '{organization}', at, at, 'api_key', CASE WHEN n <= 3 THEN 'rare person' ELSE 'the key' END, '127.0.0.1',
          'GET /api/jobs/{id}', 'run', CASE WHEN n <= 3 THEN 'rare target' ELSE id::text END
   FROM house_job`,
  `INSERT INTO artifact (id, organization_id, agent_id, job_id, kind, filename, content_type, size, storage_key, created_at)
   SELECT id, '{organization}', agent_id, id, CASE WHEN n <= 3 THEN 'video' ELSE 'file' END, 'f', 'text/plain', 1,
          '{organization}/' || n, at
   FROM house_job`,
  // A webhook endpoint got an event of every tenth run. Some deliveries failed permanently.
  `INSERT INTO webhook_endpoint (id, organization_id, url, events)
   VALUES (gen_random_uuid(), '{organization}', 'https://example.com/told', '{*}')`,
  `INSERT INTO webhook_event (id, organization_id, type, subject_id, sequence, body, fanned_out_at, created_at)
   SELECT id, '{organization}', CASE WHEN n <= 30 THEN 'job.stalled' ELSE 'job.completed' END, id, 1, '{}', at, at
   FROM house_job WHERE n % 10 = 0`,
  `INSERT INTO webhook_delivery (id, organization_id, endpoint_id, event_id, type, status, tries, due_at, created_at)
   SELECT e.id, '{organization}', w.id, e.id, e.type,
          CASE WHEN e.type = 'job.stalled' THEN 'dead' ELSE 'delivered' END, 1, e.created_at, e.created_at
   FROM webhook_event e JOIN webhook_endpoint w USING (organization_id) WHERE organization_id = '{organization}'`,
  `INSERT INTO webhook_attempt (delivery_id, number, organization_id, at, status_code, duration_ms)
   SELECT id, 1, '{organization}', created_at, 200, 10 FROM webhook_delivery WHERE organization_id = '{organization}'`,
  `INSERT INTO recording (id, organization_id, agent_id, name, kind, status, created_at)
   SELECT j.id, '{organization}', house_agent.id, 'r', 'browser', CASE WHEN j.n <= 30 THEN 'failed' ELSE 'kept' END, j.at
   FROM house_job j, house_agent WHERE house_agent.n = 1 AND j.n % 10 = 0`,
  `INSERT INTO autopilot_session (id, organization_id, agent_id, status, phase, asked_by, due_at, max_steps, max_attempts,
                                  max_active_ms, max_cost_micros, approve, created_at, finished_at)
   SELECT j.id, '{organization}', house_agent.id, 'failed', 'over', '{"kind": "user", "id": "the one"}', NULL, 50, 5,
          3600000, 5000000, 'never', j.at, j.at
   FROM house_job j, house_agent WHERE house_agent.n = 1 AND j.n % 10 = 0`,
  `INSERT INTO pilot_batch (id, organization_id, batch_id, job_id, named_job_id, workflow_id, worker_key, occurred_at,
                            claims_attempted, claims_eob_uploaded)
   SELECT id, '{organization}', 'batch ' || n, id, id, workflow_id, CASE WHEN n <= 6 THEN 'rare' ELSE 'usual' END, at, 1, 1
   FROM house_job WHERE n % 2 = 1`,
  `INSERT INTO pilot_roi_metric (pilot_batch_id, organization_id, processing_micros)
   SELECT id, organization_id, ARRAY[30000000]::bigint[] FROM pilot_batch WHERE organization_id = '{organization}'`,
  `INSERT INTO process_library_session_summary (pilot_batch_id, organization_id, occurred_at, worker_key, headline)
   SELECT id, organization_id, occurred_at, worker_key, 'x' FROM pilot_batch WHERE organization_id = '{organization}'`,
  `INSERT INTO billing_metric (id, organization_id, job_id, source, npi_count, total_claims, total_steps_before_dedup,
     duplicates_removed, claims_per_npi, charge_micros, pricing_type, price_micros, minimum_micros, computed_at)
   SELECT id, '{organization}', id, 'claim_result', 1, 1, 1, 0, '{}', 1, 'per_claim', 1, 0, at
   FROM house_job WHERE n % 2 = 1`,
  // A fifth of all entries belongs to the busy agent, and the last quarter of these to one run. The other agents have
  // the same number of entries each.
  `INSERT INTO timeline_entry (agent_id, seq, recorded_at, organization_id, kind, level, message, source, job_id, at)
   SELECT a.id, n, t.at, '{organization}', CASE WHEN n <= 3 THEN 'lifecycle' ELSE 'execution' END,
          CASE WHEN n <= 3 THEN 'error' ELSE 'info' END,
          CASE WHEN n <= 3 THEN 'needle' ELSE 'claim ' || n || ': opened the portal, downloaded one document' END, 'worker',
          CASE WHEN n > {entries} / 5 * 0.75 THEN long.id END, t.at
   FROM (SELECT id FROM house_agent WHERE n = 1) a,
        (SELECT id FROM house_job WHERE n % 10 = 0 AND status = 'completed' ORDER BY n DESC LIMIT 1) long,
        generate_series(1, {entries}::bigint / 5) n, LATERAL (SELECT ${creationTimeSql('n', '{entries} / 5')} AS at) t`,
  `INSERT INTO timeline_entry (agent_id, seq, recorded_at, organization_id, kind, level, message, source, at)
   SELECT a.id, 1 + e.n / greatest({agents} - 1, 1), ${creationTimeSql('e.n', '{entries} * 4 / 5')}, '{organization}', 'execution', 'info',
          'claim ' || e.n || ': opened the portal, downloaded one document', 'worker', ${creationTimeSql('e.n', '{entries} * 4 / 5')}
   FROM generate_series(1, {entries}::bigint * 4 / 5) e (n) JOIN house_agent a ON a.n = 2 + e.n % greatest({agents} - 1, 1)
   ORDER BY e.n`,
  `INSERT INTO timeline_head (agent_id, organization_id, last_seq, logs_since, others_since)
   SELECT agent_id, organization_id, max(seq), min(recorded_at), min(recorded_at) FROM timeline_entry
   WHERE organization_id = '{organization}' GROUP BY 1, 2`,
  ...feedbackAndPacksSql(rowIdSql),
  'VACUUM ANALYZE',
];
