import { Pool } from 'pg';
import { databaseUrl, poolSize, pushRun, type RunStatus, serveProgram } from './program';

// The minimal program: one row for each run, a durable statement for each status change, and a push right after the
// launch has committed. Requests are not authenticated, and a push that a crash interrupts is not repeated.

const pool = new Pool({ connectionString: databaseUrl, max: poolSize });
const update = `UPDATE run SET status = $2, moved_at = now() WHERE id = $1 AND status = $3`;

void (async () => {
  await pool.query(
    `CREATE TABLE run (id uuid PRIMARY KEY, status text NOT NULL, created_at timestamptz NOT NULL DEFAULT now(),
                       moved_at timestamptz NOT NULL DEFAULT now())`,
  );
  await serveProgram({
    launch: async (id) => {
      await pool.query({ name: 'launch', text: `INSERT INTO run (id, status) VALUES ($1, 'queued')`, values: [id] });
      void pushRun(id);
    },
    report: async (id, status) => {
      const from = status === 'running' ? 'queued' : 'running';
      await pool.query({ name: 'report', text: update, values: [id, status, from] });
    },
    read: async (id) => {
      const found = { name: 'read', text: 'SELECT status FROM run WHERE id = $1', values: [id] };
      return (await pool.query<{ status: RunStatus }>(found)).rows[0]!.status;
    },
  });
})();
