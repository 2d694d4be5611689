import { isAddressOrRange, outboundFaults } from '../http/addresses/address-policy';
import { readHeaders } from '../tracing/otlp-headers';
import { type SamplerName, samplers } from '../tracing/samplers';
import { EnvChoice, EnvInt, EnvList, EnvText, EnvUrl } from './env';
import { readMasterKeys } from './master-keys';

/** What every app reads. An app's own class extends it; nothing else reads the environment. */
export class BaseConfig {
  @EnvUrl('DATABASE_URL', {
    description: 'Postgres (15 or newer); its user may be the owner, the service acts as roles without ownership.',
    protocols: ['postgres:', 'postgresql:'],
    secret: true,
  })
  readonly databaseUrl!: string;

  @EnvInt('DATABASE_POOL_SIZE', { description: 'Connections of one process.', default: 10, min: 2, max: 200 })
  readonly databasePoolSize!: number;

  @EnvInt('DATABASE_CONNECT_TIMEOUT_MS', {
    description: 'Who gets no connection for so long, because all are at work or the server is away, is told 503.',
    default: 2000,
    min: 100,
  })
  readonly databaseConnectTimeoutMs!: number;

  @EnvInt('DATABASE_STATEMENT_TIMEOUT_MS', {
    description: 'A statement that runs longer is ended by Postgres.',
    default: 15_000,
    min: 100,
  })
  readonly databaseStatementTimeoutMs!: number;

  @EnvUrl('REDIS_URL', {
    description: 'Redis (6.2 or newer) or Valkey, with maxmemory-policy noeviction.',
    protocols: ['redis:', 'rediss:'],
    secret: true,
  })
  readonly redisUrl!: string;

  @EnvText('REDIS_PREFIX', {
    description: 'Before every key, so that two deployments can share one Redis.',
    default: 'muster',
    pattern: /^[a-z0-9_-]{1,32}$/,
  })
  readonly redisPrefix!: string;

  @EnvUrl('PUBLIC_APP_URL', {
    description: 'Where people and workers reach the service; absent means at whatever address each of them came by.',
    protocols: ['http:', 'https:'],
    optional: true,
  })
  readonly publicAppUrl?: string;

  @EnvText('MASTER_KEYS', {
    description: 'The master key ring: <id>:<base64 of 32 bytes>, comma separated, the first one active.',
    secret: true,
    check: (text) => readMasterKeys(text).faults,
  })
  readonly masterKeys!: string;

  @EnvInt('PORT', { description: 'The public port.', default: 3000, max: 65_535 })
  readonly port!: number;

  @EnvText('HOST', { description: 'The address that the public port listens on.', default: '127.0.0.1' })
  readonly host!: string;

  @EnvInt('INTERNAL_PORT', {
    description: '/livez, /readyz and /metrics; 0 takes a free one. Never expose it.',
    default: 0,
    max: 65_535,
  })
  readonly internalPort!: number;

  @EnvText('INTERNAL_HOST', { description: 'The address that the internal port listens on.', default: '127.0.0.1' })
  readonly internalHost!: string;

  @EnvChoice('LOG_LEVEL', ['trace', 'debug', 'info', 'warn', 'error', 'silent'], {
    description: 'The least severe log line that is written.',
    default: 'info',
  })
  readonly logLevel!: string;

  @EnvList('TRUST_PROXY', {
    description: 'Addresses and CIDRs of the proxies whose X-Forwarded-For is believed.',
    default: ['127.0.0.1', '::1'],
    check: (words) =>
      words.filter((word) => !isTrustable(word)).map((word) => `TRUST_PROXY: ${word} is no address or CIDR`),
  })
  readonly trustProxy!: string[];

  @EnvInt('REQUEST_TIMEOUT_MS', {
    description: 'A request without an answer by then gets 503. Health, streams and long polls are exempt.',
    default: 30_000,
    min: 100,
  })
  readonly requestTimeoutMs!: number;

  @EnvInt('SHUTDOWN_TIMEOUT_MS', {
    description: 'After a SIGTERM the process is gone by then, whatever still runs.',
    default: 20_000,
    min: 100,
  })
  readonly shutdownTimeoutMs!: number;

  @EnvInt('OUTBOX_SWEEP_MS', {
    description: 'How often unpublished outbox rows are looked for; every fifth time where all is quiet.',
    default: 1000,
    min: 20,
  })
  readonly outboxSweepMs!: number;

  @EnvInt('OUTBOX_REPUBLISH_MS', {
    description: 'A published row that nobody handled is published again after this.',
    default: 30_000,
    min: 100,
  })
  readonly outboxRepublishMs!: number;

  @EnvInt('RATE_LIMIT_PER_MINUTE', {
    description: 'Requests of one API key or session in a minute, over all replicas.',
    default: 60_000,
    min: 1,
  })
  readonly rateLimitPerMinute!: number;

  @EnvInt('RATE_LIMIT_ANONYMOUS_PER_MINUTE', {
    description: 'Requests without valid credentials of one address in a minute, over all replicas.',
    default: 6000,
    min: 1,
  })
  readonly rateLimitAnonymousPerMinute!: number;

  @EnvUrl('OTEL_EXPORTER_OTLP_ENDPOINT', {
    description: 'Where traces are sent to, as OTLP over HTTP (below it /v1/traces); absent means that none are made.',
    protocols: ['http:', 'https:'],
    optional: true,
  })
  readonly otlpEndpoint?: string;

  @EnvText('OTEL_EXPORTER_OTLP_HEADERS', {
    description: 'What the collector asks for, as name=value between commas, values percent-encoded.',
    optional: true,
    secret: true,
    check: (text) => readHeaders(text).faults,
  })
  readonly otlpHeaders?: string;

  @EnvInt('OTEL_EXPORTER_OTLP_TIMEOUT', {
    description: 'Milliseconds that the collector has for a batch, with all its tries.',
    default: 10_000,
    min: 100,
    max: 60_000,
  })
  readonly otlpTimeoutMs!: number;

  @EnvText('OTEL_SERVICE_NAME', {
    description: 'What traces say of where they are from; absent means muster-<app>.',
    optional: true,
    pattern: /^[\x21-\x7e]{1,100}$/,
  })
  readonly otelServiceName?: string;

  @EnvChoice('OTEL_TRACES_SAMPLER', samplers, {
    description: 'Which traces are kept; those named parentbased do what their caller says, where it says anything.',
    default: 'parentbased_always_on',
  })
  readonly tracesSampler!: SamplerName;

  @EnvText('OTEL_TRACES_SAMPLER_ARG', {
    description: 'Of a traceidratio sampler: the part of all traces, from 0 to 1.',
    default: '1',
    pattern: /^(0(\.\d{1,6})?|1(\.0+)?)$/,
  })
  readonly tracesSamplerArg!: string;

  @EnvInt('OTEL_BSP_MAX_QUEUE_SIZE', {
    description: 'So many spans wait for the collector at most, of one process; what is more is dropped and counted.',
    default: 2048,
    min: 1,
    max: 100_000,
  })
  readonly spanQueueSize!: number;

  @EnvInt('OTEL_BSP_SCHEDULE_DELAY', {
    description: 'Milliseconds that spans wait for others to go with them.',
    default: 5000,
    min: 10,
    max: 60_000,
  })
  readonly spanDelayMs!: number;

  @EnvList('OUTBOUND_ALLOW', {
    description:
      'Hosts, addresses and CIDRs that tunnels, providers and webhooks may be at beside public addresses, for example 10.20.0.0/16.',
    default: [],
    check: outboundFaults,
  })
  readonly outboundAllow!: string[];
}

/** Beside addresses, the names that Fastify knows ranges by. */
function isTrustable(word: string): boolean {
  return isAddressOrRange(word) || ['loopback', 'linklocal', 'uniquelocal'].includes(word);
}
