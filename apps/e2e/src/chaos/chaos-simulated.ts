import { signText, signatureHeader } from '@muster/access';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AgentKey } from './chaos-worker';
import type { JobPlan } from './chaos-script';
import type { createSeededRandom } from '../seed';

interface Command {
  commandId: string;
  kind: string;
  jobId: string;
  payload: { variables: JobPlan; jobId?: string };
}
interface Callback {
  path: string;
  body: object;
  signed?: boolean;
}
/** A run as stored on its machine's disk: its unsent callbacks survive a kill. */
interface Run {
  jobId: string;
  waiting: Callback[];
  end: Callback;
  holds: boolean;
}

/**
 * Simulates a worker in this process, to run thousands of jobs a minute. Unlike the real worker it sends its callbacks
 * in any order and several at once. Its journal and its run survive its kills, as files would.
 */
export class SimulatedWorker {
  private readonly journal = new Set<string>();
  private readonly stopped = new Set<string>();
  private run: Run | null = null;
  private readonly results = new Map<string, object>();
  private bootId = '';
  private signingSecret = '';
  private life = new AbortController();
  private living: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly network: { readonly url: string },
    readonly agent: AgentKey,
    private readonly options: {
      random: ReturnType<typeof createSeededRandom>;
      onStart: (jobId: string) => void;
      /** The `CHAOS_FAIL` paths whose attempt has failed already. */
      failed: Set<string>;
    },
  ) {}

  start(): void {
    this.life = new AbortController();
    const { signal } = this.life;
    this.living = this.runUntilKilled(signal).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  }

  /** Aborts everything that the worker is doing. */
  async kill(): Promise<void> {
    this.life.abort();
    await this.living;
  }

  private async runUntilKilled(signal: AbortSignal): Promise<void> {
    this.bootId = randomUUID();
    const { agentId } = this.agent;
    const introduction = { agentId, bootId: this.bootId, workerVersion: 'simulated' };
    const { signingSecret } = await this.repeatUntilAccepted(signal, {
      path: '/api/agents/handshake',
      body: introduction,
    });
    this.signingSecret = String(signingSecret);
    await Promise.all([
      this.sendHeartbeats(signal),
      this.pollCommands(signal),
      this.runQueuedJobs(signal),
      this.answerCommands(signal),
    ]);
  }

  private async sendHeartbeats(signal: AbortSignal): Promise<void> {
    for (;;) {
      const runningJobIds = this.run ? [this.run.jobId] : [];
      const body = { agentId: this.agent.agentId, bootId: this.bootId, healthy: true, runningJobIds };
      const answer = await this.callIngest(signal, { path: '/api/agent/heartbeat', body }).catch(() => null);
      const abandon = (answer?.body['abandon'] ?? []) as string[];
      if (this.run && abandon.includes(this.run.jobId)) this.run = null;
      await sleep(2000, undefined, { signal });
    }
  }

  private async pollCommands(signal: AbortSignal): Promise<void> {
    const path = `/api/agents/${this.agent.agentId}/commands`;
    for (;;) {
      const answer = await this.callIngest(signal, { path: `${path}?wait=10` }).catch(() => null);
      signal.throwIfAborted();
      const commands = answer?.status === 200 ? (answer.body['commands'] as Command[]) : [];
      let busy = false;
      for (const command of commands) {
        if (command.kind === 'run' && this.run && !this.journal.has(command.commandId)) busy = true;
        else {
          this.receiveCommand(command);
          await this.repeatUntilAccepted(signal, { path: `${path}/${command.commandId}/ack`, body: {} });
        }
      }
      if (!answer || answer.status !== 200 || busy) await sleep(100, undefined, { signal });
    }
  }

  private receiveCommand({ commandId, kind, jobId, payload }: Command): void {
    if (this.journal.has(commandId)) return;
    this.journal.add(commandId);
    if (kind === 'run' && !this.stopped.has(jobId)) {
      this.options.onStart(jobId);
      this.run = this.planRun(jobId, payload.variables);
    } else if (kind === 'stop_job') {
      this.stopped.add(jobId);
      if (this.run?.jobId === jobId) {
        const body = { jobId, status: 'cancelled', error: 'stopped by a command', seq: 1_000_000 };
        this.run = { ...this.run, end: { path: '/api/job-webhook', body }, holds: false };
      }
      this.results.set(commandId, { status: 'success', output: { remaining: 0 } });
    }
  }

  /** Builds all callbacks of a run with this plan. */
  private planRun(jobId: string, { CHAOS_LINES, CHAOS_FAIL, CHAOS_HOLD }: JobPlan): Run {
    const { random, failed } = this.options;
    const lines = Number(CHAOS_LINES);
    const waiting: Callback[] = [{ path: '/api/job-webhook', body: { jobId, status: 'running', seq: 1 } }];
    for (let first = 1; first <= lines;) {
      const last = Math.min(lines, first + random.between(0, 20));
      const logs = [];
      for (let seq = first; seq <= last; seq += 1) {
        logs.push({
          jobId,
          level: 'info',
          message: `line ${seq} of ${jobId}`,
          timestamp: Math.floor(Date.now() / 1000),
          seq,
        });
      }
      waiting.push({ path: '/api/job-logs', body: { logs } });
      first = last + 1;
    }
    const usage = { provider: 'openai', model: 'gpt-test', inputTokens: 10, outputTokens: 5, costUsd: 0.001 };
    for (const stepOrder of [1, 2]) {
      for (const [seq, status] of ['running', 'passed'].entries()) {
        const report = { jobId, stepOrder, name: `step ${stepOrder}`, status, seq: stepOrder * 10 + seq };
        const body = stepOrder === 1 && status === 'passed' ? { ...report, usage } : report;
        waiting.push({ path: `/api/agents/${this.agent.agentId}/step-status`, body });
      }
    }
    const claimResults = [{ claimId: `C-${jobId}`, outcome: 'eob_uploaded' }];
    waiting.push({ path: `/api/jobs/${jobId}/claim-results`, body: { claimResults }, signed: true });
    const timedResults = [{ ...claimResults[0]!, processingSeconds: 1.5 }];
    const summary = { batchSummary: { batchId: jobId, jobId }, claimResults: timedResults };
    waiting.push({ path: '/api/pilot/run-summary', body: summary });
    const fails = CHAOS_FAIL === 'always' || (CHAOS_FAIL !== '' && !failed.has(CHAOS_FAIL));
    if (fails) failed.add(CHAOS_FAIL);
    const body = {
      jobId,
      seq: 1000,
      ...(fails ? { status: 'failed', error: 'exit code 7' } : { status: 'completed' }),
    };
    return { jobId, waiting, end: { path: '/api/job-webhook', body }, holds: Number(CHAOS_HOLD) > 60 };
  }

  /** Sends some callbacks at a time, in any order, and repeats those without an answer. The job's end is sent last. */
  private async runQueuedJobs(signal: AbortSignal): Promise<void> {
    for (;;) {
      const { run } = this;
      if (!run) await sleep(20, undefined, { signal });
      else if (run.waiting.length > 0) {
        const some = Array.from({ length: this.options.random.between(1, 4) }, () =>
          this.options.random.between(0, 1000),
        );
        const chosen = [...new Set(some.map((number) => run.waiting[number % run.waiting.length]!))];
        await Promise.all(
          chosen.map(async (callback) => {
            await this.repeatUntilAccepted(signal, callback);
            run.waiting.splice(run.waiting.indexOf(callback), 1);
          }),
        );
      } else if (run.holds) await sleep(50, undefined, { signal });
      else {
        await this.repeatUntilAccepted(signal, run.end);
        if (this.run === run) this.run = null;
      }
    }
  }

  private async answerCommands(signal: AbortSignal): Promise<void> {
    for (;;) {
      for (const [commandId, body] of this.results) {
        await this.repeatUntilAccepted(signal, {
          path: `/api/agents/${this.agent.agentId}/commands/${commandId}/result`,
          body,
        });
        this.results.delete(commandId);
      }
      await sleep(50, undefined, { signal });
    }
  }

  /** Repeats the call until it succeeds. Throws if the service refuses it for good. */
  private async repeatUntilAccepted(signal: AbortSignal, callback: Callback): Promise<Record<string, unknown>> {
    for (let attempt = 1; ; attempt += 1) {
      const answer = await this.callIngest(signal, callback).catch(() => null);
      signal.throwIfAborted();
      if (answer && answer.status < 300) return answer.body;
      if (answer && answer.status < 500 && ![401, 403, 409, 429].includes(answer.status)) {
        throw new Error(`${callback.path} was refused with ${answer.status}: ${JSON.stringify(answer.body)}`);
      }
      await sleep(Math.min(2000, 50 * 2 ** attempt), undefined, { signal });
    }
  }

  private async callIngest(signal: AbortSignal, { path, body, signed }: Partial<Callback> & { path: string }) {
    const text = body && JSON.stringify(body);
    const jobId = path.split('/')[3];
    const response = await fetch(this.network.url + path, {
      method: text ? 'POST' : 'GET',
      headers: {
        'x-api-key': this.agent.key,
        ...(text ? { 'content-type': 'application/json' } : {}),
        ...(signed ? { [signatureHeader]: signText([this.signingSecret], `${jobId}.${text}`, new Date()) } : {}),
      },
      body: text,
      signal,
    });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  }
}
