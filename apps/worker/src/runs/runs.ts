import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Command, Result } from '../protocol/command';
import { withOrigin } from '../host/local-log';
import { Delivery } from '../protocol/delivery';
import type { Journal } from './journal';
import type { Ending } from './ends/ending';
import { Run, type RunContext } from './run';
import { removeOldRoots } from './run-files';
import { removeOldBundles } from '../bundles/place-bundle';
import { firstState } from './run-state';
import { Spool } from '../spool/spool';

const jobOver: Ending = { status: 'cancelled', error: 'the service reported that the job has ended', graceMs: 2_000 };

/** The current run, and all runs with reports that are not delivered yet. */
export class Runs {
  private current: Run | null = null;
  private readonly deliveries = new Map<string, { delivery: Delivery; spool: Spool; done: Promise<void> }>();
  private delivering = false;
  private readonly folders: { runs: string; spool: string };

  constructor(
    folder: string,
    private readonly journal: Journal,
    private readonly context: RunContext,
    private readonly onChange: () => void,
  ) {
    this.folders = { runs: join(folder, 'runs'), spool: join(folder, 'spool') };
    for (const path of Object.values(this.folders)) mkdirSync(path, { recursive: true, mode: 0o700 });
  }

  get isBusy(): boolean {
    return this.current !== null;
  }

  /** Redacts the secrets of the current run, because its files may contain them while it runs. */
  redact(text: string): string {
    return this.current?.redact(text) ?? text;
  }

  /** Returns the jobs whose end the service has not received yet. */
  jobIds(): string[] {
    const undelivered = [...this.deliveries.values()].map(({ delivery }) => delivery.jobId);
    return [...new Set([...(this.current ? [this.current.jobId] : []), ...undelivered])];
  }

  start(command: Command): void {
    const root = join(this.folders.runs, command.jobId!);
    const run = Run.start(command, root, join(this.folders.spool, command.commandId), this.context);
    this.follow(run);
    const isNeeded = (name: string): boolean => this.jobIds().includes(name);
    const old = removeOldRoots(this.folders.runs, isNeeded, Date.now());
    if (old.length) this.context.log('info', 'removed old run folders', { count: old.length });
    removeOldBundles(this.folders.runs, isNeeded).catch((error: unknown) =>
      this.context.log('warn', 'could not remove old bundles', { error: String(error) }),
    );
  }

  /** Takes over the runs of the previous worker, or reports them as lost. */
  recover(): void {
    for (const { id, jobId } of this.journal.unfinished().filter(({ kind }) => kind === 'run')) {
      const folder = join(this.folders.spool, id);
      const spool = Spool.open(folder) ?? Spool.create(folder, firstState(jobId!, join(this.folders.runs, jobId!)));
      if (spool.state.ended) {
        spool.close();
        this.journal.finish(id);
        continue;
      }
      withOrigin(spool.state.origin ?? {}, () => {
        this.context.log('info', 'resuming a run', { jobId });
        this.follow(Run.adopt(id, spool, this.context));
      });
    }
    for (const id of readdirSync(this.folders.spool)) {
      if (this.deliveries.has(id)) continue;
      const spool = Spool.open(join(this.folders.spool, id));
      if (spool?.state.ended) this.addDelivery(id, spool);
      else rmSync(join(this.folders.spool, id), { recursive: true, force: true });
    }
  }

  startDelivering(): void {
    this.delivering = true;
    for (const [id, { spool }] of this.deliveries) this.addDelivery(id, spool);
  }

  /** Passes the answer to a question to the job's run. Fails if the run has ended. */
  answer({ jobId, payload }: Command): Result {
    if (this.current?.jobId !== jobId) return { status: 'failed', error: 'the run is no longer on this worker' };
    this.current.answer(payload);
    return { status: 'success' };
  }

  /** Ends the job's run, if it is on this worker. Resolves to the number of processes that could not be killed. */
  async stopJob(jobId: string, ending: Ending): Promise<number> {
    return this.current?.jobId === jobId ? this.current.stop(ending) : 0;
  }

  async stopAll(ending: Ending): Promise<void> {
    await this.current?.stop(ending);
  }

  /** Kills the job's processes and drops its undelivered reports, because the service wants no more of them. */
  async abandon(jobId: string): Promise<void> {
    if (this.current?.jobId === jobId) {
      this.context.log('warn', 'the service abandoned the run; ending it', { jobId });
      await this.current.stop({ status: 'silent', error: '', graceMs: 2_000 });
    }
    for (const [id, { delivery, spool, done }] of this.deliveries) {
      if (delivery.jobId !== jobId) continue;
      delivery.stop();
      await done;
      spool.remove();
      this.deliveries.delete(id);
      this.onChange();
    }
  }

  /** Resolves when everything is delivered. */
  async delivered(): Promise<void> {
    await Promise.all([...this.deliveries.values()].map(({ done }) => done));
  }

  /** Stops delivering and watching without ending anything, so that the next worker can continue. */
  async detach(): Promise<void> {
    this.current?.detach();
    for (const { delivery } of this.deliveries.values()) delivery.stop();
    await Promise.all([this.current?.concluded, this.delivered()]);
    for (const { spool } of this.deliveries.values()) spool.close();
  }

  private follow(run: Run): void {
    this.current = run;
    this.addDelivery(run.commandId, run.spool);
    this.onChange();
    void run.concluded
      .catch((error: unknown) =>
        this.context.log('error', 'the supervision of a run failed', { jobId: run.jobId, error: String(error) }),
      )
      .then(() => {
        if (run.isDetached) return;
        this.journal.finish(run.commandId);
        this.current = null;
        this.onChange();
      });
  }

  private addDelivery(id: string, spool: Spool): void {
    const { service, facts, log } = this.context;
    const delivery = new Delivery(spool, {
      service,
      agentId: facts.agentId,
      signingSecret: () => facts.signingSecret,
      log,
      onJobOver: (jobId) => void this.stopJob(jobId, jobOver),
    });
    const deliver = () => withOrigin(spool.state.origin ?? {}, () => this.deliver(id, delivery, spool));
    const done = this.delivering ? deliver() : Promise.resolve();
    this.deliveries.set(id, { delivery, spool, done });
  }

  private async deliver(id: string, delivery: Delivery, spool: Spool): Promise<void> {
    try {
      if (!(await delivery.run())) return;
    } catch (error) {
      this.context.log('error', 'could not read the unsent reports of a run', {
        jobId: delivery.jobId,
        error: String(error),
      });
      return;
    }
    spool.remove();
    this.deliveries.delete(id);
    this.onChange();
  }
}
