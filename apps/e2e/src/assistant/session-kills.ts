import { randomUUID } from 'node:crypto';
import type { AutopilotSession, AutopilotTask } from '@muster/contracts';
import {
  type ClonedDatabase,
  cloneDatabase,
  FakeModel,
  findFreePort,
  HttpClient,
  openPool,
  buildTestEnvironment,
  testPassword,
  waitFor,
} from '@muster/testing';
import type { Pool } from 'pg';
import { ServiceProcess } from '../service-process';
import { StatementPausePoints } from '../statement-pause-points';
import {
  apps,
  type KilledApp,
  pausePointKeySql,
  getKeyKind,
  type PausePoint,
  pausePointTriggers,
} from './kill-pause-points';
import { SimulatedBrowsers } from './simulated-browsers';

const email = 'sessions@example.com';
const generousMs = 150_000;

export interface Sessions {
  agentId: string;
  title: string;
  idempotencyKey: string;
  sessionId?: string;
}

/** The service as separate processes that a test can kill, with simulated workers and a fake model. */
export class SessionKills {
  private readonly services = new Map<KilledApp, ServiceProcess>();
  private readonly ports = new Map<KilledApp, number>();
  browsers!: SimulatedBrowsers;
  /** Client of the gateway, signed in as an admin. */
  api!: HttpClient;

  private constructor(
    private readonly database: ClonedDatabase,
    readonly pool: Pool,
    readonly pausePoints: StatementPausePoints<PausePoint>,
    readonly model: FakeModel,
    private readonly env: NodeJS.ProcessEnv,
  ) {}

  static async openFixture(more: Record<string, string> = {}): Promise<SessionKills> {
    const database = await cloneDatabase();
    const pool = openPool(database, 40);
    const model = await FakeModel.start();
    const env = buildTestEnvironment(database.url, {
      ...model.environment,
      OUTBOUND_ALLOW: '127.0.0.0/8',
      LOG_LEVEL: 'warn',
      COMMAND_SWEEP_MS: '200',
      OUTBOX_SWEEP_MS: '200',
      OUTBOX_REPUBLISH_MS: '2000',
      AGENT_OFFLINE_AFTER_MS: '3600000',
      MAINTENANCE_TICK_MS: '3600000',
      MODEL_MAX_CONCURRENT: '50',
      RATE_LIMIT_PER_MINUTE: '1000000',
      // The pool has additional connections, because each statement that waits at a pause point occupies one.
      DATABASE_POOL_SIZE: '30',
      BOOTSTRAP_ORGANIZATION: 'Sessions',
      BOOTSTRAP_ADMIN_EMAIL: email,
      BOOTSTRAP_ADMIN_PASSWORD: testPassword,
      ...more,
    });
    const pausePoints = await StatementPausePoints.createTriggers(pool, pausePointTriggers, pausePointKeySql);
    const stage = new SessionKills(database, pool, pausePoints, model, env);
    for (const app of apps) {
      stage.ports.set(app, await findFreePort());
      await stage.startApp(app);
    }
    stage.api = await new HttpClient(stage.getUrl('gateway')).signIn(email, testPassword);
    const organizationId = (await stage.api.get('/api/auth/me')).body.organization.id as string;
    const { body } = await stage.api.post('/api/api-keys', { name: 'workers', scope: 'worker' });
    stage.browsers = await SimulatedBrowsers.start(
      organizationId,
      new HttpClient(stage.getUrl('ingest')).withKey(body.secret),
    );
    return stage;
  }

  async startApp(app: KilledApp): Promise<void> {
    this.services.set(app, await ServiceProcess.start(app, { ...this.env, PORT: String(this.ports.get(app)) }));
  }

  /** Ends the apps with SIGKILL. */
  async killApps(...killed: readonly KilledApp[]): Promise<void> {
    await Promise.all(killed.map((app) => this.services.get(app)!.end('SIGKILL')));
  }

  async makeAgent(name: string): Promise<Sessions> {
    const { status, body, text } = await this.api.post('/api/agents', { name, provider: 'external' });
    if (status !== 201) throw new Error(text);
    const agentId = body.agent.id as string;
    await this.pool.query(
      `UPDATE agent SET status = 'online', last_seen = now(), tunnel_url = $2, seen_from = '127.0.0.1' WHERE id = $1`,
      [agentId, this.browsers.url],
    );
    return { agentId, title: `Task of ${name}`, idempotencyKey: randomUUID() };
  }

  /** Starts the session. Repeats the request with the same idempotency key after a lost connection, a 409 or a 5xx. */
  async beginSession(session: Sessions, more: object = {}): Promise<string> {
    const caller = this.api.with({ 'idempotency-key': session.idempotencyKey });
    const { agentId, title } = session;
    const answer = await waitFor(
      `${title} to start`,
      async () => {
        const body = { action: 'start', task: buildTask(title), ...more };
        const response = await caller.post(this.getSessionsPath(agentId), body).catch(() => null);
        return response !== null && response.status !== 409 && response.status < 500 && response;
      },
      generousMs,
    );
    if (answer.status !== 202) throw new Error(answer.text);
    session.sessionId = answer.body.sessionId as string;
    return session.sessionId;
  }

  resumeOrCancel({ agentId, sessionId }: Sessions, action: 'resume' | 'cancel') {
    return this.api.post(this.getSessionsPath(agentId), { action, sessionId }).catch(() => null);
  }

  async pauseAt(session: Sessions, pausePoint: PausePoint): Promise<void> {
    await this.pausePoints.pauseAt(this.getPauseKey(session, pausePoint), pausePoint);
  }

  waitUntilReached(session: Sessions, pausePoint: PausePoint): Promise<void> {
    return this.pausePoints.waitUntilReached(this.getPauseKey(session, pausePoint), pausePoint);
  }

  async readSession({ agentId, sessionId }: Sessions): Promise<AutopilotSession> {
    return (await this.api.get(`${this.getSessionsPath(agentId)}?sessionId=${sessionId}`)).body as AutopilotSession;
  }

  async waitForStatus(session: Sessions, statuses: readonly string[]): Promise<AutopilotSession> {
    return waitFor(
      `${session.title} to be ${statuses.join(' or ')}`,
      async () => {
        const read = await this.readSession(session).catch(() => null);
        return read !== null && statuses.includes(read.status) && read;
      },
      generousMs,
    ) as Promise<AutopilotSession>;
  }

  async countWorkflows({ title }: Sessions): Promise<number> {
    return (await this.pool.query('SELECT FROM workflow WHERE name = $1', [title])).rowCount!;
  }

  /** Returns the unfinished sessions and the services' last output, to find out why a wait timed out. */
  async describeState(): Promise<string> {
    const { rows } = await this.pool.query(
      `SELECT s.task->>'title' AS title, s.status, s.phase, s.command_id, s.asking, s.due_at, s.ring_at, s.faults, s.error,
         c.kind, c.status AS command, c.taken_at, c.pushes FROM autopilot_session s LEFT JOIN agent_command c ON c.id = s.command_id
       WHERE s.finished_at IS NULL`,
    );
    const outputs = [...this.services].map(([app, service]) => `== ${app}\n${service.output.slice(-1500)}`);
    return [...rows.map((row) => JSON.stringify(row)), ...outputs].join('\n');
  }

  async closeFixture(): Promise<void> {
    await this.pausePoints.releaseAll();
    await this.browsers?.stop();
    await this.killApps(...apps);
    await Promise.all([this.model.close(), this.pool.end()]);
    await this.database.drop();
  }

  getUrl(app: KilledApp): string {
    return `http://127.0.0.1:${this.ports.get(app)}`;
  }

  private getSessionsPath(agentId: string): string {
    return `/api/agents/${agentId}/autopilot`;
  }

  private getPauseKey({ agentId, sessionId, title }: Sessions, pausePoint: PausePoint): string {
    return { agent: agentId, session: sessionId!, name: title }[getKeyKind(pausePoint)];
  }
}

function buildTask(title: string): AutopilotTask {
  const steps = ['find', 'fill', 'send'].map((id) => ({
    ...{ id, title: id, instruction: `Do ${id}.`, kind: 'browse' as const },
    expect: { text: 'Done' },
  }));
  return {
    title,
    goal: 'Have it done.',
    startUrl: 'http://portal.test/',
    inputs: [],
    steps,
    success: { description: 'done' },
  };
}
