import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isolateTenantsOfTable } from '../transactions/tenant-isolation';

/** Agents, their jobs, what the workers report about the jobs, and what the jobs cost. */
export class AgentsAndJobs1763700000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const columns = agentColumns.map(([name, definition]) => `ADD COLUMN ${name} ${definition}`);
    await runner.query(`ALTER TABLE agent ${columns.join(', ')}`);
    for (const statement of [agents, workflows, jobs, reports, accounts]) await runner.query(statement);
    for (const table of tables) await isolateTenantsOfTable(runner, table, { tenantColumn: 'organization_id' });
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TABLE ${[...tables].reverse().join(', ')};
      DROP INDEX agent_watch_idx, agent_name_key;
      ALTER TABLE agent ${agentColumns.map(([name]) => `DROP COLUMN ${name}`).join(', ')};
    `);
  }
}

const tables = [
  'workflow',
  'workflow_revision',
  'job',
  'agent_command',
  'agent_wake',
  'agent_function',
  'job_step',
  'ai_usage',
  'claim_outcome',
  'job_log_seen',
  'artifact',
  'run_cost',
  'usage_event',
  'usage_counter',
];

const agentColumns = [
  ['provider_config', "jsonb NOT NULL DEFAULT '{}'"],
  ['provider_ref', 'text'],
  ['labels', "text[] NOT NULL DEFAULT '{}'"],
  ['last_seen', 'timestamptz'],
  ['last_activity_at', 'timestamptz'],
  ['public_tunnel_url', 'text'],
  ['tunnel_url', 'text'],
  ['tunnel_hostname', 'text'],
  ['vm_state', 'text'],
  ['vm_ip', 'text'],
  ['idle_auto_stop_exempt', 'boolean NOT NULL DEFAULT false'],
  ['worker_version', 'text'],
  ['boot_id', 'text'],
  ['unhealthy_checks', 'integer NOT NULL DEFAULT 0'],
  ['status_since', 'timestamptz NOT NULL DEFAULT now()'],
  ['status_source', "text NOT NULL DEFAULT 'api'"],
  ['status_reason', "text NOT NULL DEFAULT ''"],
  ['drain', 'text'],
  // The job that occupies the agent, from its dispatch to its end.
  ['current_job_id', 'uuid'],
  ['dispatched_at', 'timestamptz'],
] as const;

const agents = `
  CREATE UNIQUE INDEX agent_name_key ON agent (organization_id, name) WHERE status <> 'terminated';
  CREATE INDEX agent_watch_idx ON agent (last_seen) WHERE status = 'online';
  CREATE TABLE agent_wake (
    id uuid PRIMARY KEY,
    organization_id uuid NOT NULL CONSTRAINT agent_wake_organization_fk REFERENCES organization ON DELETE CASCADE,
    agent_id uuid NOT NULL CONSTRAINT agent_wake_agent_fk REFERENCES agent ON DELETE CASCADE,
    state text NOT NULL DEFAULT 'open'
      CONSTRAINT agent_wake_state_check CHECK (state IN ('open', 'ready', 'timeout', 'failed', 'cancelled')),
    source text NOT NULL,
    reason text NOT NULL,
    -- The boot that was there before: only a handshake of another one is an answer.
    boot_id text,
    attempt integer NOT NULL DEFAULT 1,
    next_try_at timestamptz NOT NULL DEFAULT now(),
    error text,
    requested_at timestamptz NOT NULL DEFAULT now(),
    deadline timestamptz NOT NULL,
    finished_at timestamptz
  );
  CREATE UNIQUE INDEX agent_wake_open_key ON agent_wake (agent_id) WHERE state = 'open';
  CREATE INDEX agent_wake_agent_idx ON agent_wake (agent_id, requested_at);
  CREATE INDEX agent_wake_due_idx ON agent_wake (next_try_at) WHERE state = 'open';
  CREATE TABLE agent_function (
    id uuid PRIMARY KEY,
    organization_id uuid NOT NULL CONSTRAINT agent_function_organization_fk REFERENCES organization ON DELETE CASCADE,
    name text NOT NULL,
    description text NOT NULL DEFAULT '',
    parameters jsonb NOT NULL DEFAULT '{}',
    code text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE UNIQUE INDEX agent_function_name_key ON agent_function (organization_id, name);`;

const workflows = `
  CREATE TABLE workflow (
    id uuid PRIMARY KEY,
    organization_id uuid NOT NULL CONSTRAINT workflow_organization_fk REFERENCES organization ON DELETE CASCADE,
    name text NOT NULL,
    description text NOT NULL DEFAULT '',
    revision integer NOT NULL DEFAULT 1,
    version integer NOT NULL DEFAULT 1,
    archived_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE INDEX workflow_organization_idx ON workflow (organization_id, id);
  CREATE TABLE workflow_revision (
    workflow_id uuid NOT NULL CONSTRAINT workflow_revision_workflow_fk REFERENCES workflow ON DELETE CASCADE,
    revision integer NOT NULL,
    organization_id uuid NOT NULL
      CONSTRAINT workflow_revision_organization_fk REFERENCES organization ON DELETE CASCADE,
    variables text[] NOT NULL DEFAULT '{}',
    script text NOT NULL DEFAULT '',
    steps jsonb NOT NULL DEFAULT '[]',
    restored_from integer,
    saved_by text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workflow_id, revision)
  );`;

const jobs = `
  CREATE TABLE job (
    id uuid PRIMARY KEY,
    organization_id uuid NOT NULL CONSTRAINT job_organization_fk REFERENCES organization ON DELETE CASCADE,
    workflow_id uuid NOT NULL CONSTRAINT job_workflow_fk REFERENCES workflow ON DELETE CASCADE,
    workflow_revision integer NOT NULL,
    agent_id uuid NOT NULL CONSTRAINT job_agent_fk REFERENCES agent ON DELETE CASCADE,
    schedule_id uuid,
    batch_id uuid,
    batch_row integer,
    retry_of uuid CONSTRAINT job_retry_fk REFERENCES job ON DELETE SET NULL,
    attempt integer NOT NULL DEFAULT 1,
    status text NOT NULL DEFAULT 'queued'
      CONSTRAINT job_status_check CHECK (status IN ('queued', 'running', 'completed', 'failed', 'cancelled')),
    priority integer NOT NULL DEFAULT 5 CONSTRAINT job_priority_check CHECK (priority BETWEEN 0 AND 10),
    variables jsonb NOT NULL DEFAULT '{}',
    vault_keys text[] NOT NULL DEFAULT '{}',
    max_retries integer NOT NULL DEFAULT 0,
    retry_delay_ms bigint NOT NULL DEFAULT 0,
    retry_backoff text NOT NULL DEFAULT 'fixed'
      CONSTRAINT job_retry_backoff_check CHECK (retry_backoff IN ('fixed', 'exponential')),
    max_runtime_ms bigint NOT NULL DEFAULT 43200000,
    lineage jsonb NOT NULL DEFAULT '{}',
    queued_at timestamptz NOT NULL DEFAULT now(),
    not_before timestamptz NOT NULL DEFAULT now(),
    dispatched_at timestamptz,
    started_at timestamptz,
    finished_at timestamptz,
    last_heartbeat_at timestamptz,
    last_progress_at timestamptz,
    waiting_reason text,
    waiting_since timestamptz,
    cancel_requested_at timestamptz,
    cancel_reason text,
    cancel_step integer NOT NULL DEFAULT 0,
    command_id uuid,
    webhook_seq bigint NOT NULL DEFAULT -1,
    percent double precision,
    current_step text,
    claims_attempted integer NOT NULL DEFAULT 0,
    claims_eob_uploaded integer NOT NULL DEFAULT 0,
    claims_no_eob_found integer NOT NULL DEFAULT 0,
    claims_failed integer NOT NULL DEFAULT 0,
    total_cost_usd double precision,
    error text,
    error_code text,
    result jsonb,
    screenshot_key text,
    billed_at timestamptz,
    request_id text,
    traceparent text
  );
  CREATE INDEX job_organization_idx ON job (organization_id, id);
  CREATE INDEX job_agent_idx ON job (agent_id, id);
  CREATE INDEX job_workflow_idx ON job (workflow_id, id);
  CREATE INDEX job_batch_idx ON job (batch_id, id) WHERE batch_id IS NOT NULL;
  CREATE INDEX job_schedule_idx ON job (schedule_id, id) WHERE schedule_id IS NOT NULL;
  CREATE INDEX job_retry_idx ON job (retry_of) WHERE retry_of IS NOT NULL;
  CREATE INDEX job_queue_idx ON job (agent_id, priority DESC, queued_at, id) WHERE status = 'queued';
  CREATE UNIQUE INDEX job_running_key ON job (agent_id) WHERE status = 'running';
  CREATE INDEX job_started_idx ON job (started_at) WHERE status = 'running';
  CREATE INDEX job_cancel_idx ON job (cancel_requested_at)
    WHERE cancel_requested_at IS NOT NULL AND status IN ('queued', 'running');
  CREATE TABLE agent_command (
    id uuid PRIMARY KEY,
    organization_id uuid NOT NULL CONSTRAINT agent_command_organization_fk REFERENCES organization ON DELETE CASCADE,
    agent_id uuid NOT NULL CONSTRAINT agent_command_agent_fk REFERENCES agent ON DELETE CASCADE,
    job_id uuid CONSTRAINT agent_command_job_fk REFERENCES job ON DELETE CASCADE,
    kind text NOT NULL,
    payload jsonb NOT NULL,
    env jsonb NOT NULL DEFAULT '{}',
    vault_keys text[] NOT NULL DEFAULT '{}',
    deadline timestamptz NOT NULL,
    -- When it is to be pushed again; null once the worker has it, or it is over.
    next_push_at timestamptz DEFAULT now(),
    pushes integer NOT NULL DEFAULT 0,
    push_error text,
    taken_at timestamptz,
    finished_at timestamptz,
    status text NOT NULL DEFAULT 'pending'
      CONSTRAINT agent_command_status_check CHECK (status IN ('pending', 'success', 'failed')),
    output text,
    error text,
    error_code text,
    exit_code integer,
    request_id text,
    created_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE INDEX agent_command_agent_idx ON agent_command (agent_id, id);
  CREATE INDEX agent_command_job_idx ON agent_command (job_id) WHERE job_id IS NOT NULL;
  CREATE INDEX agent_command_open_idx ON agent_command (agent_id, id) WHERE status = 'pending';
  CREATE INDEX agent_command_push_idx ON agent_command (next_push_at) WHERE next_push_at IS NOT NULL;
  CREATE INDEX agent_command_deadline_idx ON agent_command (deadline) WHERE status = 'pending';`;

const reports = `
  CREATE TABLE job_step (
    job_id uuid NOT NULL CONSTRAINT job_step_job_fk REFERENCES job ON DELETE CASCADE,
    step_order integer NOT NULL,
    organization_id uuid NOT NULL CONSTRAINT job_step_organization_fk REFERENCES organization ON DELETE CASCADE,
    step_id text,
    name text,
    status text NOT NULL
      CONSTRAINT job_step_status_check CHECK (status IN ('pending', 'running', 'passed', 'failed', 'skipped')),
    -- Which report won: the greatest of (over?, seq, rank), so that any order of arrival ends in the same state.
    state_key bigint NOT NULL,
    started_at timestamptz,
    finished_at timestamptz,
    error text,
    metadata jsonb,
    metadata_key bigint NOT NULL DEFAULT -1,
    PRIMARY KEY (job_id, step_order)
  );
  CREATE TABLE ai_usage (
    job_id uuid NOT NULL CONSTRAINT ai_usage_job_fk REFERENCES job ON DELETE CASCADE,
    step_order integer NOT NULL,
    seq bigint NOT NULL,
    organization_id uuid NOT NULL CONSTRAINT ai_usage_organization_fk REFERENCES organization ON DELETE CASCADE,
    provider text NOT NULL,
    model text NOT NULL,
    input_tokens bigint NOT NULL DEFAULT 0,
    output_tokens bigint NOT NULL DEFAULT 0,
    cost_usd double precision NOT NULL DEFAULT 0,
    PRIMARY KEY (job_id, step_order, seq)
  );
  CREATE TABLE claim_outcome (
    job_id uuid NOT NULL CONSTRAINT claim_outcome_job_fk REFERENCES job ON DELETE CASCADE,
    claim_id text NOT NULL,
    organization_id uuid NOT NULL CONSTRAINT claim_outcome_organization_fk REFERENCES organization ON DELETE CASCADE,
    npi text,
    outcome text NOT NULL
      CONSTRAINT claim_outcome_outcome_check CHECK (outcome IN ('eob_uploaded', 'no_eob_found', 'failed')),
    message text,
    metadata jsonb,
    first_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (job_id, claim_id)
  );
  CREATE TABLE job_log_seen (
    job_id uuid PRIMARY KEY CONSTRAINT job_log_seen_job_fk REFERENCES job ON DELETE CASCADE,
    organization_id uuid NOT NULL CONSTRAINT job_log_seen_organization_fk REFERENCES organization ON DELETE CASCADE,
    seqs int8multirange NOT NULL DEFAULT '{}'
  );
  CREATE TABLE artifact (
    id uuid PRIMARY KEY,
    organization_id uuid NOT NULL CONSTRAINT artifact_organization_fk REFERENCES organization ON DELETE CASCADE,
    agent_id uuid NOT NULL CONSTRAINT artifact_agent_fk REFERENCES agent ON DELETE CASCADE,
    job_id uuid CONSTRAINT artifact_job_fk REFERENCES job ON DELETE CASCADE,
    kind text NOT NULL,
    filename text NOT NULL,
    content_type text NOT NULL,
    size bigint NOT NULL,
    storage_key text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE UNIQUE INDEX artifact_storage_key ON artifact (storage_key);
  CREATE INDEX artifact_job_idx ON artifact (job_id, id) WHERE job_id IS NOT NULL;
  CREATE INDEX artifact_agent_idx ON artifact (agent_id, id);`;

const accounts = `
  CREATE TABLE run_cost (
    job_id uuid PRIMARY KEY CONSTRAINT run_cost_job_fk REFERENCES job ON DELETE CASCADE,
    organization_id uuid NOT NULL CONSTRAINT run_cost_organization_fk REFERENCES organization ON DELETE CASCADE,
    run_seconds double precision NOT NULL,
    hourly_compute_usd double precision NOT NULL,
    compute_usd double precision NOT NULL,
    ai_usd double precision NOT NULL,
    reported_usd double precision,
    total_usd double precision NOT NULL,
    computed_at timestamptz NOT NULL DEFAULT now()
  );
  -- What was used, once each; the counters are its sum. It outlives the job, because it has been billed.
  CREATE TABLE usage_event (
    job_id uuid NOT NULL,
    kind text NOT NULL CONSTRAINT usage_event_kind_check CHECK (kind IN ('run', 'spend')),
    revision integer NOT NULL DEFAULT 1,
    organization_id uuid NOT NULL CONSTRAINT usage_event_organization_fk REFERENCES organization ON DELETE CASCADE,
    month date NOT NULL,
    outcome text,
    run_seconds double precision NOT NULL DEFAULT 0,
    spend_usd double precision NOT NULL DEFAULT 0,
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (job_id, kind, revision)
  );
  CREATE INDEX usage_event_month_idx ON usage_event (organization_id, month);
  CREATE TABLE usage_counter (
    organization_id uuid NOT NULL CONSTRAINT usage_counter_organization_fk REFERENCES organization ON DELETE CASCADE,
    month date NOT NULL,
    runs bigint NOT NULL DEFAULT 0,
    completed bigint NOT NULL DEFAULT 0,
    failed bigint NOT NULL DEFAULT 0,
    cancelled bigint NOT NULL DEFAULT 0,
    run_seconds double precision NOT NULL DEFAULT 0,
    spend_usd double precision NOT NULL DEFAULT 0,
    PRIMARY KEY (organization_id, month)
  );`;
