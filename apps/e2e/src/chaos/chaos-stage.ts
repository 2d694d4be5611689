import { type ServiceApp } from '@muster/contracts';
import { type Answer, type HttpClient, killAll, findProcesses, waitFor } from '@muster/testing';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Start } from './chaos-figures';
import { ChaosNetwork } from './chaos-network';
import { chaosScript, type JobPlan, planNames } from './chaos-script';
import { SimulatedWorker } from './chaos-simulated';
import { type AgentKey, ChaosWorker } from './chaos-worker';
import { type FaultFixture, openFaultFixture } from '../fault-fixture';
import type { createSeededRandom } from '../seed';
import { root, ServiceProcess } from '../service-process';

const chaosApps: ServiceApp[] = ['gateway', 'ingest', 'dispatcher', 'scheduler', 'metering'];

type AddressFinder = Parameters<typeof openFaultFixture>[1];
type EnvironmentOfApp = (app: ServiceApp) => Promise<NodeJS.ProcessEnv>;

/** The system under test: five services, Postgres and Redis, the network in front of the services, and the workers. */
export class ChaosStage {
  readonly services = new Map<ServiceApp, ServiceProcess>();
  readonly workers: ChaosWorker[] = [];
  readonly simulated: SimulatedWorker[] = [];
  /** Script starts of the simulated workers. */
  readonly starts: Start[] = [];
  client!: HttpClient;
  workflowId = '';

  private constructor(
    readonly fixture: FaultFixture,
    readonly network: ChaosNetwork,
    readonly folder: string,
    private readonly env: NodeJS.ProcessEnv,
    private readonly random: ReturnType<typeof createSeededRandom>,
    private readonly envOf: EnvironmentOfApp,
  ) {}

  /**
   * `release` is the folder of the release to start, whose schema the database gets. `findAddress` is that of
   * `openFaultFixture`; `envOf` returns further variables of an app.
   */
  static async open(
    random: ReturnType<typeof createSeededRandom>,
    release = root,
    { findAddress, envOf = async () => ({}) }: { findAddress?: AddressFinder; envOf?: EnvironmentOfApp } = {},
  ): Promise<ChaosStage> {
    const [fixture, network] = await Promise.all([openFaultFixture(release, findAddress), ChaosNetwork.start(random)]);
    const folder = await mkdtemp(join(tmpdir(), 'muster-chaos-'));
    const env = {
      ...fixture.env,
      PUBLIC_APP_URL: network.url,
      OUTBOUND_ALLOW: '127.0.0.0/8',
      HEARTBEAT_SECONDS: '2',
      AGENT_OFFLINE_AFTER_MS: '8000',
      DISPATCH_SWEEP_MS: '1000',
      LOG_LEVEL: 'warn',
    };
    const stage = new ChaosStage(fixture, network, folder, env, random, envOf);
    await Promise.all(chaosApps.map((app) => stage.startService(app, release)));
    stage.client = await fixture.signIn(network.url);
    await recordStatusChanges(fixture);
    // Launches reserve budget only if limits are set. The test never reaches these limits.
    const limits = { monthlyRunLimit: 1_000_000, monthlySpendLimitUsd: 1_000_000 };
    await stage.requestUntilAccepted('PATCH', '/api/organization/settings', limits);
    const workflow = { name: 'Chaos', script: chaosScript, variables: planNames };
    stage.workflowId = (await stage.requestUntilAccepted('POST', '/api/workflows', workflow)).body.id;
    return stage;
  }

  async startService(app: ServiceApp, release = root): Promise<void> {
    const service = await ServiceProcess.start(app, { ...this.env, ...(await this.envOf(app)) }, release);
    this.services.set(app, service);
    this.network.apps.set(app, [service.url]);
  }

  /** Starts another process of an app, which shares its work with the others. */
  async startReplica(app: ServiceApp): Promise<ServiceProcess> {
    const replica = await ServiceProcess.start(app, this.env);
    this.network.apps.set(app, [...this.network.apps.get(app)!, replica.url]);
    return replica;
  }

  async makeAgent(name: string): Promise<AgentKey> {
    const { body } = await this.requestUntilAccepted('POST', '/api/agents', { name, provider: 'external' });
    return { agentId: body.agent.id, key: body.workerKey };
  }

  /** Half of the real workers receive pushes; the other half poll for commands. */
  async startWorkers(real: number, simulated: number, release = root): Promise<void> {
    for (let number = 0; number < real; number += 1) {
      const agent = await this.makeAgent(`worker ${number}`);
      this.workers.push(await ChaosWorker.start(this.network, agent, this.folder, number % 2 === 0, release));
    }
    const failed = new Set<string>();
    for (let number = 0; number < simulated; number += 1) {
      const agent = await this.makeAgent(`simulated ${number}`);
      const worker = new SimulatedWorker(this.network, agent, {
        random: this.random,
        onStart: (jobId) => this.starts.push({ jobId, at: Date.now() / 1000 }),
        failed,
      });
      this.simulated.push(worker);
      worker.start();
    }
  }

  /** Launches one job; a repeated request does not launch another. */
  async launchRun(agentId: string, variables: JobPlan, maxRetries: number): Promise<string> {
    const body = { workflowId: this.workflowId, agentId, variables, maxRetries, retryDelayMs: 0, maxCostUsd: 20 };
    return (await this.requestUntilAccepted('POST', '/api/jobs/launch', body)).body.jobId;
  }

  /** Repeats the request with one idempotency key until it gets a final response. */
  async requestUntilAccepted(method: string, path: string, body: unknown): Promise<Answer> {
    const client = this.client.with({ 'idempotency-key': randomUUID() });
    return waitFor(
      `${method} ${path}`,
      async () => {
        const answer = await client.send(method, path, body).catch(() => null);
        // The status 409 means that the first request with this idempotency key is still in progress.
        if (!answer || answer.status >= 500 || answer.status === 409) return null;
        if (answer.status >= 300) throw new Error(`${method} ${path} answered ${answer.status}: ${answer.text}`);
        return answer;
      },
      120_000,
    );
  }

  /** Runs a query. Returns null if Postgres is unreachable. */
  async queryOrNull<T>(sql: string): Promise<T[] | null> {
    return this.fixture.query<T>(sql).catch(() => null);
  }

  /** Returns the state of agents, jobs, commands, messages and processes, to find out why a wait timed out. */
  async describeState(): Promise<string> {
    const queryRows = async (sql: string) =>
      (await this.queryOrNull<object>(sql))?.map((row) => JSON.stringify(row)) ?? ['Postgres is unreachable'];
    const parts = {
      agents: await queryRows(
        `SELECT id, name, status, last_seen, tunnel_url, current_job_id FROM agent ORDER BY name`,
      ),
      jobs: await queryRows(`SELECT id, agent_id, status, attempt, waiting_reason, dispatched_at, cancel_requested_at, cancel_step,
        variables FROM job WHERE status IN ('queued', 'running') ORDER BY agent_id, queued_at LIMIT 30`),
      commands: await queryRows(`SELECT id, job_id, agent_id, kind, taken_at, next_push_at, push_error, pushes, deadline
        FROM agent_command WHERE status = 'pending' ORDER BY id LIMIT 30`),
      messages: await queryRows(
        'SELECT queue, name, payload, attempts, next_publish_at, last_error FROM outbox LIMIT 20',
      ),
      services: [...this.services].map(
        ([app, { alive, pid, output }]) => `${app} ${pid} ${alive}\n${output.slice(-1500)}`,
      ),
      workers: this.workers.map(({ agent, alive, output }) => `${agent.agentId} ${alive}\n${output.slice(-1500)}`),
    };
    return Object.entries(parts)
      .map(([name, lines]) => `== ${name}\n${lines.join('\n')}`)
      .join('\n');
  }

  async close(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.end('SIGKILL')));
    await Promise.all(this.simulated.map((worker) => worker.kill()));
    await this.network.close();
    await Promise.all([...this.services.values()].map((service) => service.end('SIGKILL')));
    killAll(findProcesses(this.folder));
    await this.fixture.close();
    await rm(this.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }
}

/** Records every status change of a job, and every change to a finished job. */
async function recordStatusChanges(fixture: FaultFixture): Promise<void> {
  await fixture.query(`
    CREATE TABLE chaos_move (job_id uuid NOT NULL, was text NOT NULL, is_now text NOT NULL, at timestamptz DEFAULT now());
    CREATE FUNCTION chaos_watch() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
      BEGIN
        INSERT INTO chaos_move (job_id, was, is_now) VALUES (NEW.id, OLD.status, NEW.status);
        RETURN NULL;
      END $$;
    CREATE TRIGGER chaos_watch AFTER UPDATE ON job FOR EACH ROW
      WHEN (OLD.status <> NEW.status OR OLD.status IN ('completed', 'failed', 'cancelled')
        AND (OLD.error, OLD.finished_at, OLD.result, OLD.started_at)
          IS DISTINCT FROM (NEW.error, NEW.finished_at, NEW.result, NEW.started_at))
      EXECUTE FUNCTION chaos_watch()`);
}
