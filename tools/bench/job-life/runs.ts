import { setTimeout as delay } from 'node:timers/promises';
import type { Round } from '../rounds';
import { HttpClient } from './http-client';
import type { Subject } from './subjects';

export interface RunsRound extends Round {
  executions: number;
  latenciesMs: number[];
  /** How many were not yet completed when they were read. */
  late: number;
}

/** Each run is read once, so long after its last report was acknowledged: how often and when depends on no program. */
const readAfterMs = 50;

/** Launches runs at one subject, follows each until its last report is acknowledged, and reads it. */
export class Runs {
  private readonly client = new HttpClient();
  /** The worker may be through before the launch's answer is here. */
  private reads: Promise<void>[] = [];
  private late = 0;
  private readonly over = new Map<string, { promise: Promise<void>; end: (error?: Error) => void }>();

  constructor(readonly subject: Subject) {
    subject.worker.listen(({ jobId, error }: { jobId?: string; error?: string }) => {
      if (jobId) this.overOf(jobId).end(error ? new Error(`${subject.name}: ${error}`) : undefined);
    });
  }

  /** So many side by side, each on a machine of its own, until the time is over. */
  async together(inFlight: number, seconds: number): Promise<RunsRound> {
    const latenciesMs: number[] = [];
    const began = performance.now();
    const one = async (slot: number) => {
      while (performance.now() - began < seconds * 1000) latenciesMs.push(await this.run(slot));
    };
    await Promise.all(Array.from({ length: inFlight }, (_, slot) => one(slot)));
    const late = await this.allRead();
    // What a program has left to do when the last report is acknowledged is part of its work.
    const perSecond = latenciesMs.length / ((performance.now() - began) / 1000);
    return { perSecond, executions: latenciesMs.length, latenciesMs, late };
  }

  async oneByOne(count: number): Promise<number[]> {
    const latenciesMs: number[] = [];
    for (let at = 0; at < count; at += 1) latenciesMs.push(await this.run(0));
    await this.allRead();
    return latenciesMs;
  }

  private async run(slot: number): Promise<number> {
    const { launchUrl, headers, bodyOf } = this.subject;
    const began = performance.now();
    const { jobId } = await this.client.post<{ jobId: string }>(launchUrl, bodyOf(slot), headers);
    const late = setTimeout(() => this.overOf(jobId).end(new Error(`${this.subject.name}: a run hangs`)), 30_000);
    await this.overOf(jobId).promise.finally(() => clearTimeout(late));
    this.over.delete(jobId);
    this.reads.push(this.read(jobId));
    return performance.now() - began;
  }

  private async read(jobId: string): Promise<void> {
    const { readUrl, headers } = this.subject;
    const isCompleted = async () => {
      await delay(readAfterMs);
      return (await this.client.get<{ status: string }>(`${readUrl}/${jobId}`, headers)).status === 'completed';
    };
    if (await isCompleted()) return;
    this.late += 1;
    while (!(await isCompleted()));
  }

  private async allRead(): Promise<number> {
    await Promise.all(this.reads);
    const { late } = this;
    [this.reads, this.late] = [[], 0];
    return late;
  }

  private overOf(jobId: string) {
    const known = this.over.get(jobId);
    if (known) return known;
    let end: (error?: Error) => void = () => undefined;
    const promise = new Promise<void>((resolve, reject) => {
      end = (error) => (error ? reject(error) : resolve());
    });
    // Whoever launched it hears of the fault; until then it is nobody's.
    promise.catch(() => undefined);
    this.over.set(jobId, { promise, end });
    return { promise, end };
  }
}
