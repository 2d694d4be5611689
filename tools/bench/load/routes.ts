import { setTimeout as delay } from 'node:timers/promises';
import { HttpClient } from '../job-life/http-client';
import { computePercentile } from '../rounds';

interface Route {
  latenciesMs: number[];
  faults: string[];
}

/** Sends requests at fixed times, even if earlier ones are not answered yet, and records their outcomes. */
export class Routes {
  private readonly client = new HttpClient();
  private readonly known = new Map<string, Route>();
  private readonly open = new Set<Promise<unknown>>();

  /** Sends `perSecond` requests a second, evenly spread, until the time is over. */
  async sendAtRate(perSecond: number, seconds: number, send: (at: number) => Promise<unknown>): Promise<void> {
    const began = performance.now();
    let sent = 0;
    for (const end = Math.round(perSecond * seconds); sent < end;) {
      const due = Math.min(end, Math.floor(((performance.now() - began) / 1000) * perSecond) + 1);
      for (; sent < due; sent += 1) this.trackWork(send(sent));
      await delay(5);
    }
  }

  post<A>(name: string, url: string, body: object, headers: Record<string, string>): Promise<A | null> {
    return this.measureCall(name, () => this.client.post<A>(url, body, headers));
  }

  get<A>(name: string, url: string, headers: Record<string, string>): Promise<A | null> {
    return this.measureCall(name, () => this.client.get<A>(url, headers));
  }

  /** Records a duration, also of something that is not one request, such as a run's time to its end. */
  recordLatency(name: string, ms: number): void {
    this.getRoute(name).latenciesMs.push(ms);
  }

  async waitUntilAnswered(): Promise<void> {
    while (this.open.size > 0) await Promise.all(this.open);
  }

  trackWork(work: Promise<unknown>): void {
    const followed = work.finally(() => this.open.delete(followed));
    this.open.add(followed);
  }

  summarizeRoutes(): {
    name: string;
    count: number;
    failed: number;
    p50: number;
    p99: number;
    worst: number;
    fault?: string;
  }[] {
    return [...this.known].map(([name, { latenciesMs, faults }]) => ({
      name,
      count: latenciesMs.length,
      failed: faults.length,
      p50: computePercentile(latenciesMs, 50),
      p99: computePercentile(latenciesMs, 99),
      worst: latenciesMs.reduce((most, ms) => Math.max(most, ms), 0),
      fault: faults[0],
    }));
  }

  private async measureCall<A>(name: string, work: () => Promise<A>): Promise<A | null> {
    const began = performance.now();
    try {
      return await work();
    } catch (error) {
      this.getRoute(name).faults.push((error as Error).message);
      return null;
    } finally {
      this.recordLatency(name, performance.now() - began);
    }
  }

  private getRoute(name: string): Route {
    const route = this.known.get(name) ?? { latenciesMs: [], faults: [] };
    this.known.set(name, route);
    return route;
  }
}
