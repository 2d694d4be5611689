import type { MigrationInterface, QueryRunner } from 'typeorm';
import { createDatabaseRoles, isolateTenantsOfTable } from '../transactions/tenant-isolation';

/** Organizations, their users and keys, and the infrastructure that every later table uses. */
export class AccessAndPlumbing1763690000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await createDatabaseRoles(runner);
    await runner.query(`
      CREATE TABLE organization (
        id uuid PRIMARY KEY,
        name text NOT NULL,
        suspended boolean NOT NULL DEFAULT false,
        created_at timestamptz NOT NULL DEFAULT now()
      );
      CREATE TABLE organization_settings (
        organization_id uuid PRIMARY KEY
          CONSTRAINT organization_settings_organization_fk REFERENCES organization ON DELETE CASCADE,
        revision integer NOT NULL DEFAULT 1,
        vm_auto_wake_on_job boolean NOT NULL DEFAULT true,
        auto_stop_enabled boolean NOT NULL DEFAULT true,
        idle_stop_minutes double precision NOT NULL DEFAULT 30
          CONSTRAINT organization_settings_idle_stop_check CHECK (idle_stop_minutes >= 0.05),
        max_concurrent_runs integer,
        monthly_run_limit integer,
        monthly_spend_limit_usd double precision,
        labor_rate_usd_per_hour double precision NOT NULL DEFAULT 28,
        minutes_saved_per_claim double precision NOT NULL DEFAULT 12,
        hourly_compute_usd double precision NOT NULL DEFAULT 0.12,
        timezone text NOT NULL DEFAULT 'UTC',
        updated_at timestamptz NOT NULL DEFAULT now()
      );
      CREATE TABLE agent (
        id uuid PRIMARY KEY,
        organization_id uuid NOT NULL CONSTRAINT agent_organization_fk REFERENCES organization ON DELETE CASCADE,
        name text NOT NULL,
        status text NOT NULL DEFAULT 'offline' CONSTRAINT agent_status_check CHECK (status IN
          ('online', 'offline', 'stopped', 'starting', 'stopping', 'rebooting', 'draining', 'terminated')),
        provider text NOT NULL DEFAULT 'external',
        created_at timestamptz NOT NULL DEFAULT now()
      );
      CREATE INDEX agent_organization_idx ON agent (organization_id, id);
      CREATE TABLE app_user (
        id uuid PRIMARY KEY,
        organization_id uuid NOT NULL CONSTRAINT app_user_organization_fk REFERENCES organization ON DELETE CASCADE,
        email text NOT NULL,
        password_hash text NOT NULL,
        role text NOT NULL CONSTRAINT app_user_role_check CHECK (role IN ('viewer', 'member', 'admin', 'super_admin')),
        disabled boolean NOT NULL DEFAULT false,
        created_at timestamptz NOT NULL DEFAULT now(),
        last_sign_in_at timestamptz
      );
      CREATE UNIQUE INDEX app_user_email_key ON app_user (email);
      CREATE INDEX app_user_organization_idx ON app_user (organization_id, id);
      CREATE TABLE user_session (
        id uuid PRIMARY KEY,
        user_id uuid NOT NULL CONSTRAINT user_session_user_fk REFERENCES app_user ON DELETE CASCADE,
        organization_id uuid NOT NULL CONSTRAINT user_session_organization_fk REFERENCES organization ON DELETE CASCADE,
        override_organization_id uuid CONSTRAINT user_session_override_fk REFERENCES organization ON DELETE SET NULL,
        secret_hash text NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        last_seen_at timestamptz NOT NULL DEFAULT now(),
        expires_at timestamptz NOT NULL
      );
      CREATE INDEX user_session_user_idx ON user_session (user_id);
      CREATE INDEX user_session_expires_idx ON user_session (expires_at);
      CREATE TABLE api_key (
        id text PRIMARY KEY,
        organization_id uuid NOT NULL CONSTRAINT api_key_organization_fk REFERENCES organization ON DELETE CASCADE,
        name text NOT NULL,
        scope text NOT NULL CONSTRAINT api_key_scope_check CHECK (scope IN ('api', 'worker')),
        agent_id uuid CONSTRAINT api_key_agent_fk REFERENCES agent ON DELETE CASCADE,
        secret_hash text NOT NULL,
        expires_at timestamptz,
        created_at timestamptz NOT NULL DEFAULT now(),
        last_used_at timestamptz
      );
      CREATE INDEX api_key_organization_idx ON api_key (organization_id, created_at);
      CREATE INDEX api_key_agent_idx ON api_key (agent_id) WHERE agent_id IS NOT NULL;
      CREATE TABLE vault_secret (
        organization_id uuid NOT NULL CONSTRAINT vault_secret_organization_fk REFERENCES organization ON DELETE CASCADE,
        key text NOT NULL,
        master_key_id text NOT NULL,
        wrapped_key bytea NOT NULL,
        sealed bytea NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (organization_id, key)
      );
      CREATE TABLE audit_entry (
        id uuid PRIMARY KEY,
        organization_id uuid NOT NULL CONSTRAINT audit_entry_organization_fk REFERENCES organization ON DELETE CASCADE,
        at timestamptz NOT NULL DEFAULT now(),
        actor_kind text NOT NULL CONSTRAINT audit_entry_actor_check CHECK (actor_kind IN ('user', 'api_key', 'system')),
        actor_id text NOT NULL,
        actor_email text,
        action text NOT NULL,
        target_type text NOT NULL,
        target_id text NOT NULL,
        changes jsonb NOT NULL DEFAULT '{}',
        request_id text
      );
      CREATE INDEX audit_entry_organization_idx ON audit_entry (organization_id, id);
      CREATE TABLE idempotency_key (
        organization_id uuid NOT NULL CONSTRAINT idempotency_key_organization_fk REFERENCES organization ON DELETE CASCADE,
        route text NOT NULL,
        key text NOT NULL,
        request_hash text NOT NULL,
        status integer NOT NULL,
        location text,
        body jsonb NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        expires_at timestamptz NOT NULL,
        PRIMARY KEY (organization_id, route, key)
      );
      CREATE INDEX idempotency_key_expires_idx ON idempotency_key (expires_at);
      CREATE TABLE outbox (
        id uuid PRIMARY KEY,
        organization_id uuid CONSTRAINT outbox_organization_fk REFERENCES organization ON DELETE CASCADE,
        queue text NOT NULL,
        name text NOT NULL,
        payload jsonb NOT NULL,
        request_id text,
        traceparent text,
        next_ring_at timestamptz,
        attempts integer NOT NULL DEFAULT 0,
        last_error text,
        created_at timestamptz NOT NULL DEFAULT now()
      );
      CREATE INDEX outbox_ring_idx ON outbox (next_ring_at) WHERE next_ring_at IS NOT NULL;
      CREATE INDEX outbox_dead_idx ON outbox (id) WHERE next_ring_at IS NULL;
      CREATE TABLE queue_probe (
        id uuid PRIMARY KEY,
        queue text NOT NULL,
        requested_at timestamptz NOT NULL DEFAULT now(),
        handled_at timestamptz,
        handled_by text,
        deliveries integer NOT NULL DEFAULT 0
      );
      CREATE INDEX queue_probe_queue_idx ON queue_probe (queue, id);
    `);

    const byOrganization = { tenantColumn: 'organization_id' };
    await isolateTenantsOfTable(runner, 'organization', { tenantColumn: 'id', app: 'SELECT, UPDATE' });
    await isolateTenantsOfTable(runner, 'organization_settings', byOrganization);
    await isolateTenantsOfTable(runner, 'agent', byOrganization);
    await isolateTenantsOfTable(runner, 'app_user', byOrganization);
    await isolateTenantsOfTable(runner, 'user_session', byOrganization);
    await isolateTenantsOfTable(runner, 'api_key', byOrganization);
    await isolateTenantsOfTable(runner, 'vault_secret', byOrganization);
    await isolateTenantsOfTable(runner, 'audit_entry', {
      ...byOrganization,
      app: 'SELECT, INSERT',
      system: 'SELECT, INSERT',
    });
    await isolateTenantsOfTable(runner, 'idempotency_key', byOrganization);
    await isolateTenantsOfTable(runner, 'outbox', { ...byOrganization, app: 'INSERT' });
    await isolateTenantsOfTable(runner, 'queue_probe', { tenantColumn: null });
    // Processes compare the applied migrations with their own before they report that they are ready.
    await runner.query('GRANT SELECT ON schema_migration TO muster_app, muster_system');
  }

  async down(runner: QueryRunner): Promise<void> {
    // The roles remain, because they belong to the cluster and another database may need them.
    await runner.query('REVOKE SELECT ON schema_migration FROM muster_app, muster_system');
    await runner.query(`
      DROP TABLE queue_probe, outbox, idempotency_key, audit_entry, vault_secret, api_key, user_session, app_user,
        agent, organization_settings, organization
    `);
  }
}
