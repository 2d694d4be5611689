// This test is long because it kills the feedback worker at each of its calls.
// A short test of the same code: apps/feedback-sync/src/one-creation.spec.ts
import { newId } from '@muster/platform';
import {
  cloneDatabase,
  type ClonedDatabase,
  FakeModel,
  FakeTrackers,
  chooseSize,
  openPool,
  buildTestEnvironment,
  waitFor,
} from '@muster/testing';
import type { Pool } from 'pg';
import { createSeededRandom } from './seed';
import { ServiceProcess } from './service-process';

const kills = chooseSize('FEEDBACK_KILLS', { short: 2, long: 60 });
const seed = Number(process.env['MUSTER_SEED'] ?? 5);

describe('feedback synchronization whose worker is killed', () => {
  let database: ClonedDatabase;
  let pool: Pool;
  let trackers: FakeTrackers;
  let service: ServiceProcess;
  const startFeedbackSync = async (more: Record<string, string> = {}) => {
    const env = {
      ...{
        ...trackers.environment,
        FEEDBACK_AUTOMATION_WORKER_INTERVAL_MS: '100',
        FEEDBACK_AUTOMATION_BRANCHES: 'true',
      },
      ...{ FEEDBACK_TRACKER_TIMEOUT_MS: '200', LOG_LEVEL: 'warn', ...more },
    };
    service = await ServiceProcess.start('feedback-sync', buildTestEnvironment(database.url, env));
  };

  const organizationId = newId();

  beforeAll(async () => {
    database = await cloneDatabase();
    pool = openPool(database);
    trackers = await FakeTrackers.start();
    await pool.query(`INSERT INTO organization (id, name) VALUES ($1, 'Kills')`, [organizationId]);
    await pool.query('INSERT INTO organization_settings (organization_id) VALUES ($1)', [organizationId]);
  });
  const waitUntilSynchronized = () =>
    waitFor(
      'all work items to be synchronized',
      async () => (await pool.query('SELECT FROM feedback_work_item WHERE due_at IS NOT NULL')).rowCount === 0,
      60_000,
    );
  afterAll(async () => {
    await service.end('SIGKILL');
    await trackers.close();
    await pool.end();
    await database.drop();
    expect(trackers.faults).toEqual([]);
  });

  async function insertSubmission(): Promise<string> {
    const id = newId();
    await pool.query(
      `INSERT INTO feedback_submission (id, organization_id, type, title, description, reporter_id)
       VALUES ($1, $2, 'bug_report', 'Empty list', 'Nothing is shown.', 'key')`,
      [id, organizationId],
    );
    for (const tracker of ['codehost', 'tasktracker']) {
      await pool.query(
        `WITH item AS (
           INSERT INTO feedback_work_item (submission_id, organization_id, due_at) VALUES ($1, $2, NULL)
           ON CONFLICT DO NOTHING)
         INSERT INTO feedback_link (id, submission_id, organization_id, tracker) VALUES ($3, $1, $2, $4)`,
        [id, organizationId, newId(), tracker],
      );
    }
    await pool.query(
      'UPDATE feedback_work_item SET due_at = now() - make_interval(secs => 1) WHERE submission_id = $1',
      [id],
    );
    return id;
  }

  it('a feedback report gets one issue and one task with the same status, whichever call is interrupted', async () => {
    const random = createSeededRandom(seed);
    await startFeedbackSync();
    let killed = 0;
    for (let round = 0; round < kills; round += 1) {
      const fatal = random.between(1, 8);
      let calls = 0;
      let died: Promise<unknown> | undefined;
      trackers.mishap = () => {
        calls += 1;
        if (calls !== fatal || died) return died ? 'lost before' : undefined;
        died = service.end('SIGKILL');
        killed += 1;
        return random.between(0, 1) === 0 ? 'lost before' : 'lost after';
      };
      const id = await insertSubmission();
      if (round % 2 === 1) {
        await pool.query(`UPDATE feedback_submission SET status = 'rejected', status_at = now() WHERE id = $1`, [id]);
      }
      await waitFor('its death', () => died !== undefined);
      await died;
      trackers.mishap = () => undefined;
      await startFeedbackSync();
      await waitUntilSynchronized();
      expect([trackers.listIssuesOf(id).length, trackers.listTasksOf(id).length]).toEqual([1, 1]);
      const [[issue], [task]] = [trackers.listIssuesOf(id), trackers.listTasksOf(id)];
      const { rows } = await pool.query('SELECT status FROM feedback_submission WHERE id = $1', [id]);
      const expected = round % 2 === 1 ? ['rejected', 'not_planned', 'closed'] : ['triaged', null, 'open'];
      expect([rows[0].status, issue!.state_reason, task!.status.type]).toEqual(expected);
    }
    process.stdout.write(`seed ${seed}: killed ${killed} times, ${kills} issues and tasks, none twice\n`);
    expect(killed).toBe(kills);
  }, 600_000);

  it('a feedback report causes at most one model call; if the worker dies during it, rules classify the report', async () => {
    const model = await FakeModel.start();
    const env = { ...model.environment, MODEL_TIMEOUT_MS: '500' };
    await service.end();
    await startFeedbackSync(env);
    const owner = await pool.connect();
    try {
      for (const when of ['the model thinks', 'the answer is there'] as const) {
        model.reset();
        let died: Promise<unknown> | undefined;
        model.addRule(async () => {
          if (when === 'the model thinks') {
            died = service.end('SIGKILL');
            return { hang: true };
          }
          // The lock keeps the worker from storing the answer before it is killed.
          await owner.query('BEGIN');
          await owner.query('SELECT FROM feedback_work_item WHERE due_at IS NOT NULL FOR UPDATE');
          died = findPidOfBlockedWrite()
            .then(() => service.end('SIGKILL'))
            .then(findPidOfBlockedWrite)
            .then((pid) => owner.query('SELECT pg_terminate_backend($1)', [pid]))
            .finally(() => owner.query('ROLLBACK'));
          return { json: { severity: 'critical', component: 'claims', summary: 'All empty.', duplicates: [] } };
        });
        const id = await insertSubmission();
        await waitFor('its death', () => died !== undefined);
        await died;
        await startFeedbackSync(env);
        await waitUntilSynchronized();
        expect([trackers.listIssuesOf(id).length, trackers.listTasksOf(id).length, model.calls.length]).toEqual([
          1, 1, 1,
        ]);
        const { rows } = await pool.query(
          'SELECT enriched_by, severity FROM feedback_work_item WHERE submission_id = $1',
          [id],
        );
        expect(rows).toEqual([{ enriched_by: 'rule', severity: 'medium' }]);
        expect(trackers.listIssuesOf(id)[0]!.labels).toEqual(['feedback', 'bug_report', 'medium']);
      }
      expect(model.faults).toEqual([]);
    } finally {
      owner.release();
      await model.close();
    }
  }, 120_000);

  /** Returns the pid of the connection that waits to store the model's answer. */
  function findPidOfBlockedWrite(): Promise<number> {
    return waitFor('the worker to store the answer', async () => {
      const { rows } = await pool.query<{ pid: number }>(
        `SELECT pid FROM pg_stat_activity
         WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%enriched_by = $7%'`,
      );
      return rows[0]?.pid ?? false;
    });
  }
});
