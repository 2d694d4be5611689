import type { AgentStatus } from '@muster/contracts';
import {
  type Answer,
  type ClonedDatabase,
  cloneDatabase,
  HttpClient,
  openPool,
  buildTestEnvironment,
  testPassword,
  waitFor,
} from '@muster/testing';
import type { Pool } from 'pg';
import { planNames } from './chaos/chaos-script';
import { SimulatedWorker } from './chaos/chaos-simulated';
import { type HeldOrder, type MachineOrder, MachinePark, type ParkedMachine } from './machine-park';
import { createSeededRandom } from './seed';
import { ServiceProcess } from './service-process';
import { StatementPausePoints } from './statement-pause-points';

/**
 * SQL triggers by pause point. At a pause point, the dispatcher has sent the statement and Postgres has not executed
 * it, so a test can kill the dispatcher at exactly this moment.
 */
const pausePointTriggers = {
  'wake insert': 'BEFORE INSERT ON agent_wake',
  'wake attempt': 'BEFORE UPDATE ON agent_wake FOR EACH ROW WHEN (NEW.attempt > OLD.attempt)',
  'start recorded':
    'BEFORE UPDATE ON agent_wake FOR EACH ROW WHEN (NEW.next_try_at = NEW.deadline AND OLD.next_try_at < OLD.deadline)',
  'run command insert': 'BEFORE INSERT ON agent_command',
  'stopping status update': `BEFORE UPDATE ON agent FOR EACH ROW WHEN (NEW.status = 'stopping' AND OLD.status <> 'stopping')`,
  'order insert': 'BEFORE INSERT ON agent_control',
  'order issued':
    'BEFORE UPDATE ON agent_control FOR EACH ROW WHEN (NEW.issued_at IS NOT NULL AND OLD.issued_at IS NULL)',
  'stopped status update': `BEFORE UPDATE ON agent FOR EACH ROW WHEN (NEW.status = 'stopped' AND OLD.status = 'stopping')`,
  'gone state update': `BEFORE UPDATE ON agent FOR EACH ROW WHEN (NEW.vm_state = 'gone' AND OLD.vm_state IS DISTINCT FROM 'gone')`,
};
type PausePoint = keyof typeof pausePointTriggers;

export type Act = 'wake' | 'idle stop' | 'idle stop, then a job' | 'manual stop' | 'reboot' | 'terminate';

/** The moment of an act, such as a wake, at which the dispatcher is killed, and the agent's status after that. */
export interface Boundary {
  act: Act;
  moment: string;
  /** The statement at which the dispatcher is held. */
  pausePoint?: PausePoint;
  /** Whether the provider executes the call that it never answers; absent if it answers every call. */
  hold?: HeldOrder;
  left: AgentStatus;
}

const orderOf: Record<Act, MachineOrder> = {
  wake: 'start',
  'idle stop': 'stop',
  'idle stop, then a job': 'stop',
  'manual stop': 'stop',
  reboot: 'reboot',
  terminate: 'terminate',
};

/** The agent with which one boundary is tested. */
export interface KillCase extends Boundary {
  agentId: string;
  machine: ParkedMachine;
  jobId?: string;
  /** Last sequence number of the agent's timeline before the act. */
  baseline: number;
}

const keyOfAgent = `CASE table_name WHEN 'agent' THEN item->>'id' ELSE item->>'agent_id' END`;
const email = 'kills@example.com';
const apps = ['gateway', 'ingest', 'scheduler', 'dispatcher'] as const;
const generousMs = 120_000;

/** Four services, of which the dispatcher is killed, and a control plane with machines. */
export class MachineKills {
  /** One case for each boundary, in the same order. */
  killCases: KillCase[] = [];
  /** Job ids, one for each time that a machine started a job. */
  readonly starts: string[] = [];
  readonly kills: Record<string, number> = {};
  private readonly services = new Map<string, ServiceProcess>();
  private readonly random = createSeededRandom(1);
  private api!: HttpClient;
  private workflowId = '';

  private constructor(
    private readonly database: ClonedDatabase,
    private readonly pool: Pool,
    private readonly pausePoints: StatementPausePoints<PausePoint>,
    readonly park: MachinePark,
    private readonly env: NodeJS.ProcessEnv,
  ) {}

  static async open(): Promise<MachineKills> {
    const database = await cloneDatabase();
    const pool = openPool(database, 20);
    const park = await MachinePark.open();
    const env = buildTestEnvironment(database.url, {
      OUTBOUND_ALLOW: '127.0.0.0/8',
      LOG_LEVEL: 'warn',
      IDLE_MONITOR_TICK_MS: '200',
      OUTBOX_SWEEP_MS: '200',
      OUTBOX_REPUBLISH_MS: '2000',
      DISPATCH_SWEEP_MS: '500',
      MAINTENANCE_TICK_MS: '3600000',
      // The pool has additional connections, because each statement that waits at a pause point occupies one.
      DATABASE_POOL_SIZE: '20',
      BOOTSTRAP_ORGANIZATION: 'Kills',
      BOOTSTRAP_ADMIN_EMAIL: email,
      BOOTSTRAP_ADMIN_PASSWORD: testPassword,
    });
    const stage = new MachineKills(
      database,
      pool,
      await StatementPausePoints.createTriggers(pool, pausePointTriggers, keyOfAgent),
      park,
      env,
    );
    await Promise.all(apps.map((app) => stage.startApp(app)));
    stage.api = await new HttpClient(stage.services.get('gateway')!.url).signIn(email, testPassword);
    await stage.sendRequest('PATCH', '/api/organization/settings', { idleStopMinutes: 0.05 });
    park.signingSecret = (await stage.sendRequest('GET', '/api/organization/signing-secret')).body.signingSecret;
    const workflow = { name: 'Kills', script: 'pass', variables: planNames };
    stage.workflowId = (await stage.sendRequest('POST', '/api/workflows', workflow)).body.id;
    return stage;
  }

  async prepareAgents(boundaries: Boundary[]): Promise<void> {
    this.killCases = await Promise.all(boundaries.map((boundary) => this.makeAgentFor(boundary)));
    await Promise.all(this.killCases.map((killCase) => this.makeReady(killCase)));
  }

  /** Starts the act and waits until the dispatcher has reached the boundary. */
  async bringToBoundary(killCase: KillCase): Promise<void> {
    const { act, agentId, machine, pausePoint, hold } = killCase;
    if (pausePoint) await this.pausePoints.pauseAt(agentId, pausePoint);
    // The machine's boot or shutdown waits for the test, unless the process is killed only after that.
    machine.pauses =
      pausePoint !== 'run command insert' &&
      pausePoint !== 'stopped status update' &&
      pausePoint !== 'gone state update';
    const held = hold && machine.holdOrder(orderOf[act], hold);
    if (act === 'wake') await this.launchRun(killCase);
    else if (act === 'idle stop' || act === 'idle stop, then a job') await this.pinAgent(agentId, false);
    else
      await this.sendRequest('POST', `/api/agent/${agentId}/action`, { action: act === 'manual stop' ? 'stop' : act });
    if (held) return held;
    if (pausePoint) return this.pausePoints.waitUntilReached(agentId, pausePoint);
    const noted =
      act === 'wake'
        ? 'SELECT FROM agent_wake WHERE agent_id = $1 AND next_try_at = deadline'
        : 'SELECT FROM agent_control WHERE agent_id = $1 AND issued_at IS NOT NULL';
    await this.waitUntilRow(`${agentId}: the order to be recorded as issued`, noted, [agentId]);
  }

  async launchRun(killCase: KillCase): Promise<void> {
    const variables = { CHAOS_LINES: '2', CHAOS_HOLD: '0', CHAOS_FAIL: '', CHAOS_STARTS: '-' };
    const input = { workflowId: this.workflowId, agentId: killCase.agentId, variables };
    killCase.jobId = (await this.sendRequest('POST', '/api/jobs/launch', input)).body.jobId;
  }

  async performKill({ act }: KillCase): Promise<void> {
    await this.services.get('dispatcher')!.end('SIGKILL');
    this.kills[act] = (this.kills[act] ?? 0) + 1;
    await this.pausePoints.releaseAll();
  }

  async startApp(app: (typeof apps)[number]): Promise<void> {
    this.services.set(app, await ServiceProcess.start(app, this.env));
  }

  async pinAgent(agentId: string, exempt: boolean): Promise<void> {
    await this.sendRequest('PATCH', `/api/agent/${agentId}/idle-exempt`, { exempt });
  }

  async readStatus({ agentId }: KillCase): Promise<AgentStatus> {
    return (await this.queryRows<{ status: AgentStatus }>('SELECT status FROM agent WHERE id = $1', [agentId]))[0]!
      .status;
  }

  /** Returns the agent's lifecycle events and statuses in its timeline since the act. */
  async readRecorded({ agentId, baseline }: KillCase): Promise<{ events: string[]; states: string[] }> {
    const entries = await this.queryRows<{ kind: string; data: { eventType: string; status: string } }>(
      `SELECT kind, data FROM timeline_entry
       WHERE agent_id = $1 AND seq > $2 AND kind IN ('lifecycle', 'status') ORDER BY seq`,
      [agentId, baseline],
    );
    const readEntryData = (entryKind: string) =>
      entries.filter(({ kind }) => kind === entryKind).map(({ data }) => data);
    return {
      events: readEntryData('lifecycle').map(({ eventType }) => eventType),
      states: readEntryData('status').map(({ status }) => status),
    };
  }

  async waitUntilRow(description: string, sql: string, parameters: unknown[] = []): Promise<void> {
    await waitFor(description, async () => (await this.queryRows(sql, parameters)).length > 0, generousMs);
  }

  async queryRows<T extends object>(sql: string, parameters: unknown[] = []): Promise<T[]> {
    return (await this.pool.query<T>(sql, parameters)).rows;
  }

  /** Returns the state of the database, the machines and the dispatcher, to find out why a wait timed out. */
  async describeState(): Promise<string> {
    const tables = {
      agent: 'SELECT id, name, status, current_job_id, vm_state, last_seen FROM agent ORDER BY name',
      agent_wake: 'SELECT * FROM agent_wake ORDER BY agent_id',
      agent_control: 'SELECT * FROM agent_control',
      job: 'SELECT id, agent_id, status, waiting_reason, dispatched_at FROM job',
      outbox: 'SELECT * FROM outbox',
    };
    const lines: string[] = [];
    for (const [name, sql] of Object.entries(tables)) {
      lines.push(`== ${name}`, ...(await this.queryRows(sql)).map((row) => JSON.stringify(row)));
    }
    for (const { agentId, machine } of this.killCases)
      lines.push(`${agentId} ${machine.state}: ${machine.calls.join(' ')}`);
    return [...lines, this.services.get('dispatcher')!.output.slice(-3000)].join('\n');
  }

  async close(): Promise<void> {
    await this.park.close();
    await Promise.all([...this.services.values()].map((service) => service.end('SIGKILL')));
    await this.pool.end();
    await this.database.drop();
  }

  /** Creates an agent with a machine, which is off for a wake and on for other acts. */
  private async makeAgentFor(boundary: Boundary): Promise<KillCase> {
    const isOn = boundary.act !== 'wake';
    const ref = `vm-${this.park.machines.size}`;
    const machine = this.park.addMachine(ref);
    if (isOn) machine.state = 'running';
    const input = { name: `${boundary.act}: ${boundary.moment}`, provider: 'http' };
    const { body } = await this.sendRequest('POST', '/api/agents', {
      ...input,
      providerConfig: { baseUrl: this.park.url, ref },
    });
    const agentId: string = body.agent.id;
    await this.pinAgent(agentId, true);
    machine.program = new SimulatedWorker(
      { url: this.services.get('ingest')!.url },
      { agentId, key: body.workerKey },
      { random: this.random, onStart: (jobId) => this.starts.push(jobId), failed: new Set() },
    );
    if (isOn) machine.program.start();
    return { ...boundary, agentId, machine, baseline: 0 };
  }

  /** Waits until the service knows the machine's state and, if the machine is on, its worker has reported. */
  private async makeReady(killCase: KillCase): Promise<void> {
    const { agentId, act } = killCase;
    const status = act === 'wake' ? 'stopped' : 'online';
    await this.waitUntilRow(
      `${agentId} to be ${status}`,
      `SELECT FROM agent WHERE id = $1 AND status = $2 AND vm_state IS NOT NULL
         AND NOT EXISTS (SELECT FROM outbox WHERE payload->>'agentId' = $3)`,
      [agentId, status, agentId],
    );
    killCase.baseline = (
      await this.queryRows<{ seq: number }>(
        'SELECT COALESCE(max(seq), 0)::int AS seq FROM timeline_entry WHERE agent_id = $1',
        [agentId],
      )
    )[0]!.seq;
  }

  private async sendRequest(method: string, path: string, body?: unknown): Promise<Answer> {
    const answer = await this.api.send(method, path, body);
    if (answer.status >= 300) throw new Error(`${method} ${path} answered ${answer.status}: ${answer.text}`);
    return answer;
  }
}
