import { Injectable } from '@nestjs/common';
import { collectProcessMetrics, Counter, Gauge, Histogram, Registry } from './prom-client';

/** What Prometheus reads at /metrics on the internal port. */
@Injectable()
export class Metrics {
  readonly registry = new Registry();

  readonly httpSeconds = new Histogram({
    name: 'muster_http_request_seconds',
    help: 'Time to answer, by method, route and status.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [this.registry],
  });

  readonly jobSeconds = new Histogram({
    name: 'muster_queue_handler_seconds',
    help: 'Time in a handler, by queue, job and outcome.',
    labelNames: ['queue', 'job', 'outcome'],
    buckets: [0.002, 0.01, 0.05, 0.1, 0.5, 1, 5, 30],
    registers: [this.registry],
  });

  /** What KEDA scales on: the raw Redis lists do not tell (delayed, prioritised and paused jobs live elsewhere). */
  readonly backlog = new Gauge({
    name: 'muster_queue_backlog',
    help: 'Committed outbox rows that are not handled yet, by queue.',
    labelNames: ['queue'],
    registers: [this.registry],
  });

  readonly backlogAge = new Gauge({
    name: 'muster_queue_backlog_age_seconds',
    help: 'How long the oldest outbox row that waits has waited, by queue; what waits for a retry is among them.',
    labelNames: ['queue'],
    registers: [this.registry],
  });

  readonly deadLettersKept = new Gauge({
    name: 'muster_dead_letters',
    help: 'Messages that were given up and that nobody has replayed or discarded, by queue.',
    labelNames: ['queue'],
    registers: [this.registry],
  });

  readonly outboxWritten = new Counter({
    name: 'muster_outbox_written_total',
    help: 'Outbox rows committed, by queue.',
    labelNames: ['queue'],
    registers: [this.registry],
  });

  readonly outboxPublished = new Counter({
    name: 'muster_outbox_published_total',
    help: 'Outbox rows that were begun at once by the process that wrote them (handoff), or handed to the queue, by who noticed them.',
    labelNames: ['by'],
    registers: [this.registry],
  });

  readonly deadLetters = new Counter({
    name: 'muster_dead_letters_total',
    help: 'Messages given up after their last attempt, by queue and job.',
    labelNames: ['queue', 'job'],
    registers: [this.registry],
  });

  readonly leaseRepairs = new Counter({
    name: 'muster_lease_repairs_total',
    help: 'Runs that were over and still held a concurrency key, found and repaired by the sweep: a fault of the service.',
    registers: [this.registry],
  });

  readonly dispatchSeconds = new Histogram({
    name: 'muster_dispatch_seconds',
    help: 'From when a run could start to its command, by what it was said to wait for meanwhile.',
    labelNames: ['waited_for'],
    buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 15, 60, 300, 1800],
    registers: [this.registry],
  });

  readonly scheduleLateness = new Histogram({
    name: 'muster_schedule_lateness_seconds',
    help: 'From the time that a schedule names to when its run was launched, skipped by a guard, or recorded as missed.',
    buckets: [1, 5, 15, 30, 60, 300, 1800, 7200],
    registers: [this.registry],
  });

  readonly runsEnded = new Counter({
    name: 'muster_runs_ended_total',
    help: 'Runs that came to an end, by which.',
    labelNames: ['outcome'],
    registers: [this.registry],
  });

  readonly callbacks = new Counter({
    name: 'muster_callbacks_total',
    help: 'What workers reported and was answered, by kind and by what became of it: applied, or why not.',
    labelNames: ['callback', 'outcome'],
    registers: [this.registry],
  });

  readonly wakes = new Counter({
    name: 'muster_wakes_total',
    help: 'Wakes that came to an end, by which.',
    labelNames: ['outcome'],
    registers: [this.registry],
  });

  readonly rateLimited = new Counter({
    name: 'muster_rate_limited_total',
    help: 'Requests refused with 429, by policy.',
    labelNames: ['policy'],
    registers: [this.registry],
  });

  readonly loopSeconds = new Histogram({
    name: 'muster_loop_round_seconds',
    help: 'Time of a maintenance loop’s round, by loop and outcome.',
    labelNames: ['loop', 'outcome'],
    buckets: [0.005, 0.05, 0.25, 1, 5, 20, 60],
    registers: [this.registry],
  });

  readonly loopRows = new Counter({
    name: 'muster_loop_rows_total',
    help: 'Rows that maintenance loops came to, by loop and what became of them; unsettled ones failed.',
    labelNames: ['loop', 'outcome'],
    registers: [this.registry],
  });

  readonly usageDifferences = new Gauge({
    name: 'muster_usage_differences',
    help: 'Monthly usage counters that were not the sum of what they count, when that was looked at last.',
    registers: [this.registry],
  });

  readonly loopStuckRows = new Gauge({
    name: 'muster_loop_stuck_rows',
    help: 'Rows that a maintenance loop failed to settle in its last round, by loop.',
    labelNames: ['loop'],
    registers: [this.registry],
  });

  readonly machines = new Gauge({
    name: 'muster_machines',
    help: 'Machines by status.',
    labelNames: ['status'],
    registers: [this.registry],
  });

  readonly machinesWithoutWork = new Gauge({
    name: 'muster_machines_without_work',
    help: 'Machines that are on, have nothing to do and are past twice their idle limit: pinned, not to be stopped, or overdue.',
    labelNames: ['why'],
    registers: [this.registry],
  });

  readonly runsWaiting = new Gauge({
    name: 'muster_runs_waiting',
    help: 'Queued runs, by what they wait for.',
    labelNames: ['reason'],
    registers: [this.registry],
  });

  readonly runsWaitingAge = new Gauge({
    name: 'muster_runs_waiting_age_seconds',
    help: 'How long the run that has waited longest has waited, by what it waits for.',
    labelNames: ['reason'],
    registers: [this.registry],
  });

  readonly runsRunning = new Gauge({
    name: 'muster_runs_running',
    help: 'Runs that are running.',
    registers: [this.registry],
  });

  readonly gatesClosed = new Gauge({
    name: 'muster_billing_gates_closed',
    help: 'Organizations that may launch no more runs, by why.',
    labelNames: ['why'],
    registers: [this.registry],
  });

  readonly monthRuns = new Gauge({
    name: 'muster_month_runs',
    help: 'Runs counted in this month, over all organizations, by outcome.',
    labelNames: ['outcome'],
    registers: [this.registry],
  });

  readonly monthSpend = new Gauge({
    name: 'muster_month_spend_usd',
    help: 'What the runs counted in this month have cost, over all organizations.',
    registers: [this.registry],
  });

  readonly monthRunSeconds = new Gauge({
    name: 'muster_month_run_seconds',
    help: 'How long the runs counted in this month have run, over all organizations.',
    registers: [this.registry],
  });

  readonly reservedSpend = new Gauge({
    name: 'muster_reserved_spend_usd',
    help: 'What open runs and those not yet costed hold of spend limits.',
    registers: [this.registry],
  });

  readonly unequal = new Gauge({
    name: 'muster_unequal',
    help: 'Rows of which one side has what the other has not, after the time that it may take; all are 0 where nothing is lost.',
    labelNames: ['what'],
    registers: [this.registry],
  });

  readonly machineFindings = new Gauge({
    name: 'muster_machine_findings',
    help: 'Machines that no agent owns (orphan), and agents whose machine is gone (gone).',
    labelNames: ['kind'],
    registers: [this.registry],
  });

  readonly reaperActions = new Counter({
    name: 'muster_reaper_actions_total',
    help: 'What came of findings, by what was done.',
    labelNames: ['action'],
    registers: [this.registry],
  });

  readonly spans = new Counter({
    name: 'muster_spans_total',
    help: 'Spans of traces, by what became of them; dropped ones found no room, failed ones no collector.',
    labelNames: ['outcome'],
    registers: [this.registry],
  });

  readonly webhookSeconds = new Histogram({
    name: 'muster_webhook_attempt_seconds',
    help: 'Time of an attempt to tell a webhook endpoint, by what became of the delivery: delivered, retried or dead.',
    labelNames: ['outcome'],
    buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [this.registry],
  });

  readonly webhooksWaiting = new Gauge({
    name: 'muster_webhook_deliveries_due',
    help: 'Webhook deliveries whose time has come and that nobody has sent yet, when that was looked at last.',
    registers: [this.registry],
  });

  readonly webhookEndpointsTurnedOff = new Counter({
    name: 'muster_webhook_endpoints_turned_off_total',
    help: 'Webhook endpoints that the service turned off, by reason: gone or failing.',
    labelNames: ['reason'],
    registers: [this.registry],
  });

  readonly openStreams = new Gauge({
    name: 'muster_open_streams',
    help: 'Event streams and long polls that are open, by kind.',
    labelNames: ['kind'],
    registers: [this.registry],
  });

  constructor() {
    // From the first scrape on: a counter that begins with its first event hides that one from rates and alerts.
    for (const outcome of ['ready', 'timeout', 'failed', 'cancelled']) this.wakes.inc({ outcome }, 0);
    for (const outcome of ['delivered', 'retried', 'dead']) this.webhookSeconds.zero({ outcome });
    for (const reason of ['gone', 'failing']) this.webhookEndpointsTurnedOff.inc({ reason }, 0);
    for (const outcome of ['completed', 'failed', 'cancelled']) this.runsEnded.inc({ outcome }, 0);
    for (const outcome of ['exported', 'dropped', 'failed']) this.spans.inc({ outcome }, 0);
    collectProcessMetrics(this.registry, 'muster_');
  }
}
