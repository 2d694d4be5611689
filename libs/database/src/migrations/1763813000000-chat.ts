import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isolateTenantsOfTable } from '../transactions/tenant-isolation';

/** Conversations about an agent: sessions, their turns, and the tool calls in them. */
export class Chat1763813000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE chat_session (
        id uuid PRIMARY KEY,
        organization_id uuid NOT NULL CONSTRAINT chat_session_organization_fk REFERENCES organization ON DELETE CASCADE,
        agent_id uuid NOT NULL CONSTRAINT chat_session_agent_fk REFERENCES agent ON DELETE CASCADE,
        owner_kind text NOT NULL CONSTRAINT chat_session_owner_check CHECK (owner_kind IN ('user', 'api_key')),
        owner_id text NOT NULL,
        title text NOT NULL,
        auto_confirm boolean NOT NULL DEFAULT false,
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now()
      );
      CREATE INDEX chat_session_owner_idx ON chat_session (agent_id, owner_id, updated_at, id);
      CREATE INDEX chat_session_organization_idx ON chat_session (organization_id);

      CREATE TABLE chat_turn (
        id uuid PRIMARY KEY,
        organization_id uuid NOT NULL CONSTRAINT chat_turn_organization_fk REFERENCES organization ON DELETE CASCADE,
        session_id uuid NOT NULL CONSTRAINT chat_turn_session_fk REFERENCES chat_session ON DELETE CASCADE,
        message text NOT NULL,
        said text[] NOT NULL DEFAULT '{}',
        status text NOT NULL DEFAULT 'running' CONSTRAINT chat_turn_status_check
          CHECK (status IN ('running', 'done', 'failed', 'left', 'interrupted')),
        error text,
        error_code text,
        input_tokens integer NOT NULL DEFAULT 0,
        output_tokens integer NOT NULL DEFAULT 0,
        cost_micros bigint NOT NULL DEFAULT 0,
        beat_at timestamptz NOT NULL DEFAULT now(),
        created_at timestamptz NOT NULL DEFAULT now(),
        finished_at timestamptz
      );
      CREATE UNIQUE INDEX chat_turn_running_key ON chat_turn (session_id) WHERE status = 'running';
      CREATE INDEX chat_turn_session_idx ON chat_turn (session_id, id);
      CREATE INDEX chat_turn_organization_idx ON chat_turn (organization_id);

      CREATE TABLE chat_call (
        id uuid PRIMARY KEY,
        organization_id uuid NOT NULL CONSTRAINT chat_call_organization_fk REFERENCES organization ON DELETE CASCADE,
        session_id uuid NOT NULL CONSTRAINT chat_call_session_fk REFERENCES chat_session ON DELETE CASCADE,
        turn_id uuid NOT NULL CONSTRAINT chat_call_turn_fk REFERENCES chat_turn ON DELETE CASCADE,
        round integer NOT NULL,
        place integer NOT NULL,
        model_key text NOT NULL,
        tool text NOT NULL,
        arguments jsonb NOT NULL,
        status text NOT NULL CONSTRAINT chat_call_status_check
          CHECK (status IN ('running', 'done', 'failed', 'needs_confirmation')),
        result jsonb,
        error text,
        error_code text,
        expires_at timestamptz,
        decided_at timestamptz,
        created_at timestamptz NOT NULL DEFAULT now()
      );
      CREATE UNIQUE INDEX chat_call_place_key ON chat_call (turn_id, round, place);
      CREATE INDEX chat_call_session_idx ON chat_call (session_id);
      CREATE INDEX chat_call_organization_idx ON chat_call (organization_id);
    `);
    for (const table of ['chat_session', 'chat_turn', 'chat_call']) {
      await isolateTenantsOfTable(runner, table, { tenantColumn: 'organization_id' });
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE chat_call; DROP TABLE chat_turn; DROP TABLE chat_session');
  }
}
