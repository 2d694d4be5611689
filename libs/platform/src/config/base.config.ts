import { isAddressOrRange, checkOutboundList } from '../http/addresses/address-policy';
import { parseOtlpHeaders } from '../tracing/otlp-headers';
import { type SamplerName, samplers } from '../tracing/samplers';
import { EnvChoice, EnvInt, EnvList, EnvText, EnvUrl } from './env';
import { parseMasterKeys } from './parse-master-keys';

/** Configuration that every app reads. An app's own class extends it; no other code reads the environment. */
export class BaseConfig {
  @EnvUrl('DATABASE_URL', {
    description:
      'URL of the Postgres database (version 15 or newer). The database user in the URL can be the owner of the ' +
      'tables, because the service switches to roles that own nothing.',
    protocols: ['postgres:', 'postgresql:'],
    secret: true,
  })
  readonly databaseUrl!: string;

  @EnvUrl('DATABASE_READ_URL', {
    description:
      'URL of a standby of the database (streaming replication). Exports, reports, and the lists of the audit trail ' +
      'and the access log are read from it, while it is at most 1 s behind. A caller who wrote something in the last 3 s ' +
      'reads from the primary. If absent or not available, everything is read from DATABASE_URL.',
    protocols: ['postgres:', 'postgresql:'],
    optional: true,
    secret: true,
  })
  readonly databaseReadUrl?: string;

  @EnvInt('DATABASE_POOL_SIZE', {
    description: 'Maximum number of Postgres connections that one process opens.',
    default: 10,
    min: 2,
    max: 200,
  })
  readonly databasePoolSize!: number;

  @EnvInt('DATABASE_CONNECT_TIMEOUT_MS', {
    description:
      'Milliseconds for which a request waits for a database connection. After that the request fails with 503: ' +
      'all connections of the process are in use, or the server is unreachable.',
    default: 2000,
    min: 100,
  })
  readonly databaseConnectTimeoutMs!: number;

  @EnvInt('DATABASE_STATEMENT_TIMEOUT_MS', {
    description: 'Milliseconds after which Postgres cancels a statement.',
    default: 15_000,
    min: 100,
  })
  readonly databaseStatementTimeoutMs!: number;

  @EnvUrl('REDIS_URL', {
    description: 'URL of Redis (6.2 or newer) or Valkey. The server must use the maxmemory-policy noeviction.',
    protocols: ['redis:', 'rediss:'],
    secret: true,
  })
  readonly redisUrl!: string;

  @EnvText('REDIS_PREFIX', {
    description: 'Prefix of every Redis key, so that two deployments can share one Redis.',
    default: 'muster',
    pattern: /^[a-z0-9_-]{1,32}$/,
  })
  readonly redisPrefix!: string;

  @EnvUrl('PUBLIC_APP_URL', {
    description:
      'Address at which people and workers reach the service. If absent, links use the address of the request that ' +
      'asked for them.',
    protocols: ['http:', 'https:'],
    optional: true,
  })
  readonly publicAppUrl?: string;

  @EnvText('MASTER_KEYS', {
    description:
      'Master key ring: a comma-separated list of <id>:<base64 of 32 bytes>. The first key encrypts new secrets; ' +
      'every key can decrypt.',
    secret: true,
    check: (text) => parseMasterKeys(text).faults,
  })
  readonly masterKeys!: string;

  @EnvInt('PORT', { description: 'Port of the public API.', default: 3000, max: 65_535 })
  readonly port!: number;

  @EnvText('HOST', { description: 'Address that the public port listens on.', default: '127.0.0.1' })
  readonly host!: string;

  @EnvInt('INTERNAL_PORT', {
    description: 'Port of /livez, /readyz and /metrics; 0 picks a free port. Never make it reachable from outside.',
    default: 0,
    max: 65_535,
  })
  readonly internalPort!: number;

  @EnvText('INTERNAL_HOST', { description: 'Address that the internal port listens on.', default: '127.0.0.1' })
  readonly internalHost!: string;

  @EnvChoice('LOG_LEVEL', ['trace', 'debug', 'info', 'warn', 'error', 'silent'], {
    description: 'Minimum severity of the log lines that are written.',
    default: 'info',
  })
  readonly logLevel!: string;

  @EnvList('TRUST_PROXY', {
    description: 'Addresses and CIDRs of the proxies whose X-Forwarded-For header is trusted.',
    default: ['127.0.0.1', '::1'],
    check: (words) =>
      words
        .filter((word) => !isProxyAddress(word))
        .map((word) => `TRUST_PROXY: ${word} is not an address, a CIDR or one of loopback, linklocal and uniquelocal`),
  })
  readonly trustProxy!: string[];

  @EnvInt('STEP_UP_AFTER_MS', {
    description: 'Milliseconds after a proof of the second factor until a sensitive operation requires another one.',
    default: 900_000,
    min: 1000,
  })
  readonly stepUpAfterMs!: number;

  @EnvInt('REQUEST_TIMEOUT_MS', {
    description:
      'Milliseconds after which an unanswered request gets 503. Health checks, streams and long polls are exempt.',
    default: 30_000,
    min: 100,
  })
  readonly requestTimeoutMs!: number;

  @EnvInt('SHUTDOWN_TIMEOUT_MS', {
    description: 'Milliseconds after a SIGTERM until the process exits, even if work is still in progress.',
    default: 20_000,
    min: 100,
  })
  readonly shutdownTimeoutMs!: number;

  @EnvInt('OUTBOX_SWEEP_MS', {
    description:
      'Interval in milliseconds at which queue messages that are committed in the database (table outbox) but not ' +
      'yet in Redis are published. While there are none, the interval is five times as long.',
    default: 1000,
    min: 20,
  })
  readonly outboxSweepMs!: number;

  @EnvInt('OUTBOX_REPUBLISH_MS', {
    description:
      'Milliseconds after which a queue message (table outbox) that was published but not handled is published ' +
      'again.',
    default: 30_000,
    min: 100,
  })
  readonly outboxRepublishMs!: number;

  @EnvInt('RATE_LIMIT_PER_MINUTE', {
    description:
      'Maximum number of requests of one API key or session per minute, over all replicas. Further requests get 429.',
    default: 60_000,
    min: 1,
  })
  readonly rateLimitPerMinute!: number;

  @EnvInt('RATE_LIMIT_ANONYMOUS_PER_MINUTE', {
    description:
      'Maximum number of requests without valid credentials from one address per minute, over all replicas. Further ' +
      'requests get 429.',
    default: 6000,
    min: 1,
  })
  readonly rateLimitAnonymousPerMinute!: number;

  @EnvUrl('OTEL_EXPORTER_OTLP_ENDPOINT', {
    description:
      'Base URL of the collector for traces (OTLP over HTTP; the path /v1/traces is appended). If absent, no traces ' +
      'are recorded.',
    protocols: ['http:', 'https:'],
    optional: true,
  })
  readonly otlpEndpoint?: string;

  @EnvText('OTEL_EXPORTER_OTLP_HEADERS', {
    description:
      'Headers that the collector requires, as a comma-separated list of name=value with percent-encoded values.',
    optional: true,
    secret: true,
    check: (text) => parseOtlpHeaders(text).faults,
  })
  readonly otlpHeaders?: string;

  @EnvInt('OTEL_EXPORTER_OTLP_TIMEOUT', {
    description:
      'Milliseconds within which one batch of spans must be sent to the collector, including all retries. After ' +
      'that the batch is dropped.',
    default: 10_000,
    min: 100,
    max: 60_000,
  })
  readonly otlpTimeoutMs!: number;

  @EnvText('OTEL_SERVICE_NAME', {
    description: 'Service name in traces. If absent, it is muster-<app>.',
    optional: true,
    pattern: /^[\x21-\x7e]{1,100}$/,
  })
  readonly otelServiceName?: string;

  @EnvChoice('OTEL_TRACES_SAMPLER', samplers, {
    description:
      'Sampler that decides which traces are recorded. A parentbased sampler follows the caller’s decision if the ' +
      'request contains one.',
    default: 'parentbased_always_on',
  })
  readonly tracesSampler!: SamplerName;

  @EnvText('OTEL_TRACES_SAMPLER_ARG', {
    description: 'Share of all traces that a traceidratio sampler records, from 0 to 1.',
    default: '1',
    pattern: /^(0(\.\d{1,6})?|1(\.0+)?)$/,
  })
  readonly tracesSamplerArg!: string;

  @EnvInt('OTEL_BSP_MAX_QUEUE_SIZE', {
    description:
      'Maximum number of spans of one process that wait for the collector. Further spans are dropped and counted.',
    default: 2048,
    min: 1,
    max: 100_000,
  })
  readonly spanQueueSize!: number;

  @EnvInt('OTEL_BSP_SCHEDULE_DELAY', {
    description: 'Milliseconds for which spans are collected before they are sent as a batch.',
    default: 5000,
    min: 10,
    max: 60_000,
  })
  readonly spanDelayMs!: number;

  @EnvList('OUTBOUND_ALLOW', {
    description:
      'Hosts, addresses and CIDRs that are allowed in addition to public addresses as targets of tunnels, machine ' +
      'providers and webhooks, for example 10.20.0.0/16.',
    default: [],
    check: checkOutboundList,
  })
  readonly outboundAllow!: string[];
}

/** Accepts addresses, CIDRs and the names that Fastify defines for address ranges. */
function isProxyAddress(word: string): boolean {
  return isAddressOrRange(word) || ['loopback', 'linklocal', 'uniquelocal'].includes(word);
}
