import { setTimeout as delay } from 'node:timers/promises';
import type { Round } from '../rounds';
import { HttpClient } from './http-client';
import type { Subject } from './subjects';

export interface RunsRound extends Round {
  executions: number;
  latenciesMs: number[];
  /** Number of runs that were not completed when they were read for the first time. */
  late: number;
}

/** Delay between the acknowledgement of a run's last report and its read, the same for all programs. */
const readAfterMs = 50;

/** Launches runs at one subject, follows each until its last report is acknowledged, and reads it. */
export class Runs {
  private readonly client = new HttpClient();
  /** Reads that have not finished yet. */
  private reads: Promise<void>[] = [];
  private late = 0;
  private readonly ends = new Map<string, { promise: Promise<void>; end: (error?: Error) => void }>();

  constructor(readonly subject: Subject) {
    subject.worker.addListener(({ jobId, error }: { jobId?: string; error?: string }) => {
      if (jobId) this.waitForEndOf(jobId).end(error ? new Error(`${subject.name}: ${error}`) : undefined);
    });
  }

  /** Keeps `inFlight` runs in flight, each on another agent, until the time is over. */
  async runTogether(inFlight: number, seconds: number): Promise<RunsRound> {
    const latenciesMs: number[] = [];
    const began = performance.now();
    const runSlot = async (slot: number) => {
      while (performance.now() - began < seconds * 1000) latenciesMs.push(await this.runOnce(slot));
    };
    await Promise.all(Array.from({ length: inFlight }, (_, slot) => runSlot(slot)));
    const late = await this.waitUntilAllRead();
    // The time includes the work that a program still does after it has acknowledged the last report.
    const perSecond = latenciesMs.length / ((performance.now() - began) / 1000);
    return { perSecond, executions: latenciesMs.length, latenciesMs, late };
  }

  async runOneByOne(count: number): Promise<number[]> {
    const latenciesMs: number[] = [];
    for (let at = 0; at < count; at += 1) latenciesMs.push(await this.runOnce(0));
    await this.waitUntilAllRead();
    return latenciesMs;
  }

  private async runOnce(slot: number): Promise<number> {
    const { launchUrl, headers, bodyOf } = this.subject;
    const began = performance.now();
    const { jobId } = await this.client.post<{ jobId: string }>(launchUrl, bodyOf(slot), headers);
    const late = setTimeout(
      () => this.waitForEndOf(jobId).end(new Error(`${this.subject.name}: a run did not end within 30 s`)),
      30_000,
    );
    await this.waitForEndOf(jobId).promise.finally(() => clearTimeout(late));
    this.ends.delete(jobId);
    this.reads.push(this.readUntilCompleted(jobId));
    return performance.now() - began;
  }

  private async readUntilCompleted(jobId: string): Promise<void> {
    const { readUrl, headers } = this.subject;
    const isCompleted = async () => {
      await delay(readAfterMs);
      return (await this.client.get<{ status: string }>(`${readUrl}/${jobId}`, headers)).status === 'completed';
    };
    if (await isCompleted()) return;
    this.late += 1;
    while (!(await isCompleted()));
  }

  private async waitUntilAllRead(): Promise<number> {
    await Promise.all(this.reads);
    const { late } = this;
    [this.reads, this.late] = [[], 0];
    return late;
  }

  private waitForEndOf(jobId: string) {
    const known = this.ends.get(jobId);
    if (known) return known;
    let resolveEnd: (error?: Error) => void = () => undefined;
    const promise = new Promise<void>((resolve, reject) => {
      resolveEnd = (error) => (error ? reject(error) : resolve());
    });
    // The worker may report an error before the launch's response arrives and `runOnce` awaits the promise.
    promise.catch(() => undefined);
    this.ends.set(jobId, { promise, end: resolveEnd });
    return { promise, end: resolveEnd };
  }
}
