import { Injectable } from '@nestjs/common';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

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

  readonly outboxPublished = new Counter({
    name: 'muster_outbox_published_total',
    help: 'Outbox rows handed to the queue, by who noticed them.',
    labelNames: ['by'],
    registers: [this.registry],
  });

  readonly deadLetters = new Counter({
    name: 'muster_dead_letters_total',
    help: 'Messages given up after their last attempt, by queue and job.',
    labelNames: ['queue', 'job'],
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

  readonly openStreams = new Gauge({
    name: 'muster_open_streams',
    help: 'Event streams and long polls that are open, by kind.',
    labelNames: ['kind'],
    registers: [this.registry],
  });

  constructor() {
    collectDefaultMetrics({ register: this.registry, prefix: 'muster_' });
  }
}
