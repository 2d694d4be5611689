import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Command, Result } from '../protocol/command';
import { runWithOrigin } from '../host/local-log';
import { Delivery } from '../protocol/delivery';
import type { Journal } from './journal';
import type { Ending } from './ends/ending';
import { Run, type RunContext } from './run';
import { removeOldRunFolders } from './run-files';
import { removeOldBundles } from '../bundles/unpack-bundle-into-run';
import { createFirstState } from './run-state';
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
  redactText(text: string): string {
    return this.current?.redactText(text) ?? text;
  }

  /** Returns the jobs whose end the service has not received yet. */
  listJobIds(): string[] {
    const undelivered = [...this.deliveries.values()].map(({ delivery }) => delivery.jobId);
    return [...new Set([...(this.current ? [this.current.jobId] : []), ...undelivered])];
  }

  startRun(command: Command): void {
    const root = join(this.folders.runs, command.jobId!);
    const run = Run.startRun(command, root, join(this.folders.spool, command.commandId), this.context);
    this.followRun(run);
    const isNeededFolder = (name: string): boolean => this.listJobIds().includes(name);
    const old = removeOldRunFolders(this.folders.runs, isNeededFolder, Date.now());
    if (old.length) this.context.log('info', 'removed old run folders', { count: old.length });
    removeOldBundles(this.folders.runs, isNeededFolder).catch((error: unknown) =>
      this.context.log('warn', 'could not remove old bundles', { error: String(error) }),
    );
  }

  /** Takes over the runs of the previous worker, or reports them as lost. */
  recoverRuns(): void {
    for (const { id, jobId } of this.journal.listUnfinished().filter(({ kind }) => kind === 'run')) {
      const folder = join(this.folders.spool, id);
      const spool =
        Spool.openSpool(folder) ?? Spool.createSpool(folder, createFirstState(jobId!, join(this.folders.runs, jobId!)));
      if (spool.state.ended) {
        spool.close();
        this.journal.recordFinish(id);
        continue;
      }
      runWithOrigin(spool.state.origin ?? {}, () => {
        this.context.log('info', 'resuming a run', { jobId });
        this.followRun(Run.adoptRun(id, spool, this.context));
      });
    }
    for (const id of readdirSync(this.folders.spool)) {
      if (this.deliveries.has(id)) continue;
      const spool = Spool.openSpool(join(this.folders.spool, id));
      if (spool?.state.ended) this.addDelivery(id, spool);
      else rmSync(join(this.folders.spool, id), { recursive: true, force: true });
    }
  }

  startDelivering(): void {
    this.delivering = true;
    for (const [id, { spool }] of this.deliveries) this.addDelivery(id, spool);
  }

  /** Passes the answer to a question to the job's run. Fails if the run has ended. */
  answerQuestion({ jobId, payload }: Command): Result {
    if (this.current?.jobId !== jobId) return { status: 'failed', error: 'the run is no longer on this worker' };
    this.current.deliverAnswer(payload);
    return { status: 'success' };
  }

  /** Ends the job's run, if it is on this worker. Resolves to the number of processes that could not be killed. */
  async stopJob(jobId: string, ending: Ending): Promise<number> {
    return this.current?.jobId === jobId ? this.current.stopRun(ending) : 0;
  }

  async stopAllRuns(ending: Ending): Promise<void> {
    await this.current?.stopRun(ending);
  }

  /**
   * Kills the job's processes and deletes its reports that are not sent yet, because the service accepts no more
   * reports of the job.
   */
  async abandonRun(jobId: string): Promise<void> {
    if (this.current?.jobId === jobId) {
      this.context.log('warn', 'the service abandoned the run; ending it', { jobId });
      await this.current.stopRun({ status: 'silent', error: '', graceMs: 2_000 });
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
  async waitUntilDelivered(): Promise<void> {
    await Promise.all([...this.deliveries.values()].map(({ done }) => done));
  }

  /** Stops delivering and watching without ending anything, so that the next worker can continue. */
  async detachAll(): Promise<void> {
    this.current?.detachFromProcess();
    for (const { delivery } of this.deliveries.values()) delivery.stop();
    await Promise.all([this.current?.concluded, this.waitUntilDelivered()]);
    for (const { spool } of this.deliveries.values()) spool.close();
  }

  private followRun(run: Run): void {
    this.current = run;
    this.addDelivery(run.commandId, run.spool);
    this.onChange();
    void run.concluded
      .catch((error: unknown) =>
        this.context.log('error', 'the supervision of a run failed', { jobId: run.jobId, error: String(error) }),
      )
      .then(() => {
        if (run.isDetached) return;
        this.journal.recordFinish(run.commandId);
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
    const startDelivery = () => runWithOrigin(spool.state.origin ?? {}, () => this.deliverRun(id, delivery, spool));
    const done = this.delivering ? startDelivery() : Promise.resolve();
    this.deliveries.set(id, { delivery, spool, done });
  }

  private async deliverRun(id: string, delivery: Delivery, spool: Spool): Promise<void> {
    try {
      if (!(await delivery.deliverAll())) return;
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
