export { BaseConfig } from './config/base.config';
export {
  type ChecksItself,
  ConfigError,
  EnvChoice,
  EnvFlag,
  EnvInt,
  type Environment,
  EnvList,
  EnvText,
  EnvUrl,
  loadConfig,
  loadConfigs,
  processEnvironment,
  type Variable,
  variablesOf,
} from './config/env';
export { type MasterKey, readMasterKeys } from './config/master-keys';
export { Clock, type ClockReading, ServiceClock } from './context/clock';
export { Coalescer } from './context/coalesce';
export { holdLease } from './context/hold-lease';
export { firstIdAt, isUuid, newId, nilId } from './context/ids';
export { inSentence } from './context/in-sentence';
export { Semaphore } from './context/semaphore';
export {
  clientSignal,
  currentContext,
  describeContext,
  type RequestContext,
  runInContext,
} from './context/request-context';
export { acceptRequestId, atSpan, continueTrace, isTraceparent, spanIdFor, spanIdOf, traceIdOf } from './context/trace';
export { within } from './context/within';
export { type App, type AppDefinition, createApp } from './create-app';
export { type Attempt, Attempts } from './http/attempts';
export { isAddressOrRange, isWithin } from './http/addresses/address-policy';
export { clientAddress, exactAddress } from './http/addresses/client-address';
export { CounterStore } from './http/counter-store';
export { etagOf, requireMatch, revisionOf } from './http/etag';
export { type Form, type FormFile } from './http/bodies/form';
export { digestOf } from './http/http-app';
export { parseJsonBody } from './http/bodies/json-body';
export {
  Outbound,
  type OutboundAnswer,
  OutboundFailed,
  OutboundRefused,
  type OutboundRequest,
  type OutboundStream,
} from './http/addresses/outbound';
export { csvLine } from './http/csv-line';
export { type Page, pageOf, paginate, type SortKind } from './http/pagination';
export { type ErrorReader, registerErrorReader, toAppError } from './http/problem-filter';
export { addressFor, ownAddress, publicAddress } from './http/addresses/public-address';
export { ClientAddress, Connection, FormOrJson, Given, Reply, ReplyHead, Unparsed } from './http/request-parts';
export { UnparsedBody } from './http/bodies/unparsed-body';
export { rateHeaders, RateLimiter, type RatePolicy, type RateState } from './http/rate-limiter';
export { pagePolicy } from './http/security-headers';
export { hasHalfPair, storable } from './http/bodies/text-faults';
export { retryAfterMs } from './http/retry-after';
export { eventFrame, OpenStreams } from './http/streams';
export { checkBody } from './http/bodies/validation';
export { AppLoops } from './loops/app-loops';
export { Loop, type LoopParts, type LoopSpec } from './loops/loop';
export { LoopLedger, type LoopRun, type StuckRow } from './loops/loop-ledger';
export { RecoveryHold } from './loops/recovery-hold';
export { purge } from './loops/purge';
export { Round, type RoundOptions, type RowFailure } from './loops/round';
export { refreshRollups } from './loops/refresh-rollups';
export { firstCursor, sweep, type Sweep, type SweepCounts, type TimedCursor } from './loops/sweep';
export { createLogger, hideCredentials, NestLogger } from './operations/logger';
export { Metrics } from './operations/metrics';
export { Periodic } from './operations/periodic';
export { type CheckResult, Readiness } from './operations/readiness';
export { Handoff } from './queues/handoff';
export { MessageLedger, MessagePublisher, type ReceivedMessage } from './queues/message-ledger';
export { PubSub, type Topic } from './queues/pub-sub';
export { HandlesJob, ProcessesQueue, QueueProcessor } from './queues/queue-processor';
export { QueueRates } from './queues/queue-rates';
export { catalogueFaults } from './queues/queue.module';
export { RedisConnections } from './queues/redis-connections';
export { watchFor } from './queues/watch-for';
export { runApp, type RunOptions } from './run-app';
export {
  type EndedSpan,
  inSpan,
  isTracing,
  OpenSpan,
  recordSpan,
  type SpanAttributes,
  spanWithin,
  withinTrace,
  wordOf,
} from './tracing/spans';
