import { Injectable } from '@nestjs/common';
import { LevelCounts } from './level-counts';
import { collectProcessMetrics, Counter, Gauge, Histogram, Registry } from './prom-client';

/** The metrics that Prometheus reads at /metrics on the internal port. */
@Injectable()
export class Metrics {
  readonly registry = new Registry();

  readonly levels = new LevelCounts();

  readonly httpSeconds = new Histogram({
    name: 'muster_http_request_seconds',
    help: 'Response time, by method, route and status.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [this.registry],
  });

  readonly jobSeconds = new Histogram({
    name: 'muster_queue_handler_seconds',
    help: 'Duration of a message handler, by queue, job and outcome.',
    labelNames: ['queue', 'job', 'outcome'],
    buckets: [0.002, 0.01, 0.05, 0.1, 0.5, 1, 5, 30],
    registers: [this.registry],
  });

  /**
   * Number of messages per queue, by which KEDA scales the apps. The lengths of the lists in Redis are not used,
   * because delayed, prioritised and paused jobs are not in these lists.
   */
  readonly backlog = new Gauge({
    name: 'muster_queue_backlog',
    help: 'Committed outbox rows that are not handled yet, by queue.',
    labelNames: ['queue'],
    registers: [this.registry],
  });

  readonly backlogAge = new Gauge({
    name: 'muster_queue_backlog_age_seconds',
    help: 'Age of the oldest waiting outbox row, by queue. Rows that wait for a retry are included.',
    labelNames: ['queue'],
    registers: [this.registry],
  });

  readonly deadLettersKept = new Gauge({
    name: 'muster_dead_letters',
    help: 'Dead letters that were neither replayed nor discarded, by queue.',
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
    help: 'Outbox rows by how they were passed on: handled directly by the process that wrote them (handoff), or published by its relay or by the sweep.',
    labelNames: ['by'],
    registers: [this.registry],
  });

  readonly deadLetters = new Counter({
    name: 'muster_dead_letters_total',
    help: 'Messages that became dead letters after their last attempt, by queue and job.',
    labelNames: ['queue', 'job'],
    registers: [this.registry],
  });

  readonly leaseRepairs = new Counter({
    name: 'muster_lease_repairs_total',
    help: 'Ended runs that still held a concurrency key or an account and were repaired by the sweep. Each is a defect of the service.',
    registers: [this.registry],
  });

  readonly dispatchSeconds = new Histogram({
    name: 'muster_dispatch_seconds',
    help: 'Time from the moment at which a run could start until its command was created, by what the run waited for.',
    labelNames: ['waited_for'],
    buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 15, 60, 300, 1800],
    registers: [this.registry],
  });

  readonly scheduleLateness = new Histogram({
    name: 'muster_schedule_lateness_seconds',
    help: 'Time from a scheduled time until its run was launched, skipped by a guard, or recorded as missed.',
    buckets: [1, 5, 15, 30, 60, 300, 1800, 7200],
    registers: [this.registry],
  });

  readonly runsEnded = new Counter({
    name: 'muster_runs_ended_total',
    help: 'Ended runs, by outcome.',
    labelNames: ['outcome'],
    registers: [this.registry],
  });

  readonly callbacks = new Counter({
    name: 'muster_callbacks_total',
    help: 'Reports of workers, by kind and outcome: applied, or the reason why not.',
    labelNames: ['callback', 'outcome'],
    registers: [this.registry],
  });

  readonly wakes = new Counter({
    name: 'muster_wakes_total',
    help: 'Ended wakes of machines, by outcome.',
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
    help: 'Duration of a maintenance loop’s round, by loop and outcome.',
    labelNames: ['loop', 'outcome'],
    buckets: [0.005, 0.05, 0.25, 1, 5, 20, 60],
    registers: [this.registry],
  });

  readonly loopRows = new Counter({
    name: 'muster_loop_rows_total',
    help: 'Rows that maintenance loops processed, by loop and outcome. Rows with the outcome unsettled could not be processed.',
    labelNames: ['loop', 'outcome'],
    registers: [this.registry],
  });

  readonly usageDifferences = new Gauge({
    name: 'muster_usage_differences',
    help: 'Monthly usage counters that differed from the sum of their usage events in the last reconciliation.',
    registers: [this.registry],
  });

  readonly loopStuckRows = new Gauge({
    name: 'muster_loop_stuck_rows',
    help: 'Rows that a maintenance loop failed to process in its last round, by loop.',
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
    help: 'Machines that have been on without work for more than twice their idle limit: pinned, with idle stop off, or overdue.',
    labelNames: ['why'],
    registers: [this.registry],
  });

  readonly runsWaiting = new Gauge({
    name: 'muster_runs_waiting',
    help: 'Queued runs, by waiting reason.',
    labelNames: ['reason'],
    registers: [this.registry],
  });

  readonly runsWaitingAge = new Gauge({
    name: 'muster_runs_waiting_age_seconds',
    help: 'Longest wait of a queued run, by waiting reason.',
    labelNames: ['reason'],
    registers: [this.registry],
  });

  readonly runsUnplaced = new Gauge({
    name: 'muster_runs_unplaced',
    help: 'Queued runs that have no agent yet because any agent with certain labels can take them. They are also counted by waiting reason.',
    registers: [this.registry],
  });

  readonly runsUnplacedAge = new Gauge({
    name: 'muster_runs_unplaced_age_seconds',
    help: 'Longest time that a run without an agent has waited since it was due, whatever it waits for.',
    registers: [this.registry],
  });

  readonly runsRunning = new Gauge({
    name: 'muster_runs_running',
    help: 'Number of running runs.',
    registers: [this.registry],
  });

  readonly gatesClosed = new Gauge({
    name: 'muster_billing_gates_closed',
    help: 'Organizations that cannot launch runs, by reason.',
    labelNames: ['why'],
    registers: [this.registry],
  });

  readonly monthRuns = new Gauge({
    name: 'muster_month_runs',
    help: 'Runs counted in this month over all organizations, by outcome.',
    labelNames: ['outcome'],
    registers: [this.registry],
  });

  readonly monthSpend = new Gauge({
    name: 'muster_month_spend_usd',
    help: 'Cost of the runs counted in this month over all organizations.',
    registers: [this.registry],
  });

  readonly monthRunSeconds = new Gauge({
    name: 'muster_month_run_seconds',
    help: 'Run time of the runs counted in this month over all organizations.',
    registers: [this.registry],
  });

  readonly reservedSpend = new Gauge({
    name: 'muster_reserved_spend_usd',
    help: 'Spend that is reserved for open runs and for ended runs whose cost is not booked yet.',
    registers: [this.registry],
  });

  readonly unequal = new Gauge({
    name: 'muster_unequal',
    help: 'Rows of two records that must match but still differ after the time that a change takes, by kind. Normally 0.',
    labelNames: ['what'],
    registers: [this.registry],
  });

  readonly machineFindings = new Gauge({
    name: 'muster_machine_findings',
    help: 'Machines that no agent owns (orphan), and agents whose machine does not exist (gone).',
    labelNames: ['kind'],
    registers: [this.registry],
  });

  readonly reaperActions = new Counter({
    name: 'muster_reaper_actions_total',
    help: 'Actions on machines that no agent owns and on agents whose machine does not exist, by action.',
    labelNames: ['action'],
    registers: [this.registry],
  });

  readonly replicaReads = new Counter({
    name: 'muster_replica_reads_total',
    help: 'Statements that may run on the read replica, by the server that ran them: replica or primary.',
    labelNames: ['server'],
    registers: [this.registry],
  });

  readonly spans = new Counter({
    name: 'muster_spans_total',
    help: 'Trace spans, by outcome: exported, dropped because the queue was full, or failed because the collector did not accept them.',
    labelNames: ['outcome'],
    registers: [this.registry],
  });

  readonly webhookSeconds = new Histogram({
    name: 'muster_webhook_attempt_seconds',
    help: 'Duration of an attempt to deliver a webhook, by outcome of the delivery: delivered, retried or dead.',
    labelNames: ['outcome'],
    buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [this.registry],
  });

  readonly webhooksWaiting = new Gauge({
    name: 'muster_webhook_deliveries_due',
    help: 'Webhook deliveries that were due but not sent yet at the last check.',
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
    help: 'Open event streams and long polls, by kind.',
    labelNames: ['kind'],
    registers: [this.registry],
  });

  constructor() {
    // Counters start at 0, so that rates and alerts include their first event.
    for (const outcome of ['ready', 'timeout', 'failed', 'cancelled']) this.wakes.inc({ outcome }, 0);
    for (const outcome of ['delivered', 'retried', 'dead']) this.webhookSeconds.zero({ outcome });
    for (const reason of ['gone', 'failing']) this.webhookEndpointsTurnedOff.inc({ reason }, 0);
    for (const outcome of ['completed', 'failed', 'cancelled']) this.runsEnded.inc({ outcome }, 0);
    for (const outcome of ['exported', 'dropped', 'failed']) this.spans.inc({ outcome }, 0);
    collectProcessMetrics(this.registry, 'muster_');
  }
}
