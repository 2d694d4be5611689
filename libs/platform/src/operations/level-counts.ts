/**
 * The service level objectives that are measured by events. The alerts in k8s/monitoring measure the same ones; a spec
 * compares them.
 */
export const objectives = [
  {
    name: 'starts',
    sentence: 'A run that has nothing to wait for reaches its machine within 2 s',
    target: 0.99,
    maxSeconds: 2,
  },
  {
    name: 'callbacks',
    sentence: 'A worker’s report is acknowledged within 250 ms',
    target: 0.999,
    maxSeconds: 0.25,
  },
  {
    name: 'schedules',
    sentence: 'A schedule’s run is launched within 30 s of its time',
    target: 0.999,
    maxSeconds: 30,
  },
] as const;

export type Objective = (typeof objectives)[number]['name'];

/** Pattern of the routes of worker reports. */
export const reportRoutes =
  '/api/(job-webhook|job-logs|agent/heartbeat|pilot/run-summary|agents/[^/]+/(step-status|commands/.+)|jobs/[^/]+/(claim-results|questions))';

const reportRoute = new RegExp(`^${reportRoutes}$`);
const maxSeconds = Object.fromEntries(objectives.map((objective) => [objective.name, objective.maxSeconds])) as Record<
  Objective,
  number
>;

/** Counts of the events of each objective in this process, since they were last transferred to Redis. */
export class LevelCounts {
  private counts = new Map<string, number>();
  private readonly isReport = new Map<string, boolean>();

  /** Counts an event that took this long. An event that failed is late. */
  countEvent(objective: Objective, seconds: number, failed = false): void {
    this.addToField(`${objective}:all`, 1);
    if (failed || seconds > maxSeconds[objective]) this.addToField(`${objective}:late`, 1);
  }

  /** Counts a request if it is the report of a worker. */
  countRequest(request: { method: string; route: string; status: number }, seconds: number): void {
    if (request.method !== 'POST') return;
    let isReport = this.isReport.get(request.route);
    if (isReport === undefined) this.isReport.set(request.route, (isReport = reportRoute.test(request.route)));
    if (isReport) this.countEvent('callbacks', seconds, request.status >= 500);
  }

  takeCounts(): ReadonlyMap<string, number> {
    const { counts } = this;
    this.counts = new Map();
    return counts;
  }

  restoreCounts(counts: ReadonlyMap<string, number>): void {
    for (const [field, count] of counts) this.addToField(field, count);
  }

  private addToField(field: string, count: number): void {
    this.counts.set(field, (this.counts.get(field) ?? 0) + count);
  }
}
