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
  listVariables,
} from './config/env';
export { type MasterKey, parseMasterKeys } from './config/parse-master-keys';
export { Clock, type ClockReading, ServiceClock } from './context/clock';
export { Coalescer } from './context/coalesce';
export { runWhileRenewingLease } from './context/run-while-renewing-lease';
export { smallestIdAt, isUuid, newId, nilId } from './context/ids';
export { cleanNameForSentence } from './context/clean-name-for-sentence';
export { Semaphore } from './context/semaphore';
export {
  getClientSignal,
  getRequestContext,
  addToContext,
  type RequestContext,
  runInContext,
} from './context/request-context';
export {
  chooseRequestId,
  replaceSpanId,
  continueTrace,
  isTraceparent,
  deriveSpanId,
  getSpanId,
  getTraceId,
} from './context/trace';
export { finishWithin } from './context/finish-within';
export { type App, type AppDefinition, createApp } from './create-app';
export { type Attempt, Attempts } from './http/attempts';
export { isAddressOrRange, isWithinRanges } from './http/addresses/address-policy';
export { getClientAddress, getExactAddress } from './http/addresses/client-address';
export { CounterStore } from './http/counter-store';
export { toEtag, requireEtagMatch, computeContentRevision } from './http/etag';
export { type Form, type FormFile } from './http/bodies/form';
export { getBodyDigest, getUnparsedBody } from './http/http-app';
export { parseJsonBody } from './http/bodies/json-body';
export {
  Outbound,
  type OutboundAnswer,
  OutboundFailed,
  OutboundRefused,
  type OutboundRequest,
  type OutboundStream,
} from './http/addresses/outbound';
export { formatCsvLine } from './http/format-csv-line';
export { type Page, parsePage, buildPage, type SortKind } from './http/pagination';
export { type ErrorReader, registerErrorReader, toAppError } from './http/problem-filter';
export { isLoopback } from './http/addresses/loopback';
export { getAddressForRequest, getOwnAddress, getPublicAddress } from './http/addresses/public-address';
export { ClientAddress, Connection, FormOrJson, Given, Reply, ReplyHead, Unparsed } from './http/request-parts';
export { UnparsedBody } from './http/bodies/unparsed-body';
export { buildRateHeaders, RateLimiter, type RatePolicy, type RateState } from './http/rate-limiter';
export { buildPagePolicy } from './http/security-headers';
export { hasHalfSurrogatePair, toStorableText } from './http/bodies/text-faults';
export { parseRetryAfterMs } from './http/retry-after';
export { formatEventFrame, OpenStreams } from './http/streams';
export { checkBody } from './http/bodies/validation';
export { AppLoops } from './loops/app-loops';
export { Loop, type LoopParts, type LoopSpec } from './loops/loop';
export { LoopLedger, type LoopRun, type StuckRow } from './loops/loop-ledger';
export { RecoveryHold } from './loops/recovery-hold';
export { purgeTables } from './loops/purge-tables';
export { Round, type RoundOptions, type RowFailure } from './loops/round';
export { refreshRollups } from './loops/refresh-rollups';
export { firstCursor, sweepRows, type Sweep, type SweepCounts, type TimedCursor } from './loops/sweep-rows';
export { AppIdentity, readServiceVersion } from './operations/app-identity';
export { type Objective, objectives, reportRoutes } from './operations/level-counts';
export { createLogger, hideCredentials, NestLogger } from './operations/logger';
export { Metrics } from './operations/metrics';
export { type Level, type Levels, ServiceLevels } from './operations/service-levels';
export { Periodic } from './operations/periodic';
export { type CheckResult, Readiness } from './operations/readiness';
export { Handoff } from './queues/handoff';
export { MessageLedger, MessagePublisher, type ReceivedMessage } from './queues/message-ledger';
export { PubSub, type Topic } from './queues/pub-sub';
export { Relay } from './queues/relay';
export { HandlesJob, listHandlers, ProcessesQueue, QueueProcessor } from './queues/queue-processor';
export { QueueRates } from './queues/queue-rates';
export { compareProcessorsWithCatalogue } from './queues/queue.module';
export { RedisConnections } from './queues/redis-connections';
export { watchUntilFinal } from './queues/watch-until-final';
export { runApp, type RunOptions } from './run-app';
export {
  type EndedSpan,
  runInSpan,
  isTracing,
  OpenSpan,
  recordSpan,
  type SpanAttributes,
  getCurrentSpanIfSameTrace,
  runInTrace,
  getErrorCodeOrName,
} from './tracing/spans';
