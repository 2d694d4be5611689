import { createHash } from 'node:crypto';
import { Logger } from '@nestjs/common';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { AppError, invalidFieldError } from '@muster/contracts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { BaseConfig } from '../config/base.config';
import { type RequestContext, runInContext } from '../context/request-context';
import { watchClient } from './watch-client';
import { chooseRequestId, continueTrace } from '../context/trace';
import type { Metrics } from '../operations/metrics';
import type { Readiness } from '../operations/readiness';
import { parseJsonBody } from './bodies/json-body';
import { recordRequest } from './record-request';
import { KnownPaths } from './known-paths';
import { answerUnreadableRequest, sendProblem } from './problem-filter';
import { getRequestOrigin } from './addresses/public-address';
import { buildSecurityHeaders } from './security-headers';
import { containsNul } from './bodies/text-faults';
import { UnparsedBody } from './bodies/unparsed-body';
import { destroyUnreadBody } from './bodies/unread-body';

declare module 'fastify' {
  interface FastifyRequest {
    requestId: string;
    context: RequestContext;
    startedAt: number;
    timeout?: NodeJS.Timeout;
  }
  interface FastifyContextConfig {
    /** Whether the request timeout does not apply, as for streams, long polls and the liveness probe. */
    noTimeout?: boolean;
    /** Whether the body is not parsed. The handler verifies the signature of its bytes before it parses them. */
    unparsed?: boolean;
    /** Whether the path contains a secret, such as the token of a link. The log then contains the route instead. */
    secretPath?: boolean;
    /** How half of a surrogate pair in a JSON body is handled. The default is `refuse`. */
    halfPairs?: 'refuse' | 'replace';
    /** Whether the route accepts multipart/form-data, which its handler reads. */
    form?: boolean;
    /** Whether the route also accepts application/x-www-form-urlencoded, whose fields are texts. */
    formEncoded?: boolean;
    /**
     * For a route whose interface defines its own errors. Returns the error for the response, if one is defined. The
     * argument is the thrown error; undefined for an unexpected error.
     */
    failsAs?: (error: AppError | undefined, request: FastifyRequest) => AppError | undefined;
    /** Maximum size of a body in bytes, if it differs from the default. */
    bodyLimit?: number;
  }
}

const unparsedBytes = new WeakMap<FastifyRequest, Buffer>();
const sentTypes = new WeakMap<FastifyRequest, string>();
const digests = new WeakMap<FastifyRequest, string>();

/** Returns the body of a route that declares `unparsed`. */
export function getUnparsedBody(request: FastifyRequest): UnparsedBody {
  return new UnparsedBody(unparsedBytes.get(request) ?? Buffer.alloc(0), sentTypes.get(request));
}

/** Returns the SHA-256 of a JSON body's bytes if the body is too large to be serialized again from its values. */
export function getBodyDigest(request: FastifyRequest): string | undefined {
  return digests.get(request);
}

const digestedBytes = 256 * 1024;
const defaultBodyLimit = 1024 * 1024;

/** Creates Fastify with the conventions of the service: ids and context, strict bodies, the timeout, metrics. */
export function createHttpAdapter(config: BaseConfig, metrics: Metrics, readiness: Readiness): FastifyAdapter {
  const logger = new Logger('http');
  const ownHeaders = buildSecurityHeaders(config.publicAppUrl);
  const adapter = new FastifyAdapter({
    // Requests that Fastify rejects before it has found a route, such as a URL that cannot be decoded.
    frameworkErrors: (error: Error, request: FastifyRequest, reply: FastifyReply) => {
      assignRequestId(request, reply);
      void reply.headers(ownHeaders);
      sendProblem(request, reply, error, logger);
    },
    clientErrorHandler: (error, socket) => answerUnreadableRequest(error, socket, ownHeaders),
    bodyLimit: defaultBodyLimit,
    trustProxy: config.trustProxy,
    routerOptions: { maxParamLength: 500, ignoreTrailingSlash: false },
    forceCloseConnections: 'idle',
    // The timeout of the server is long enough to upload a large object over a slow connection. Other slow requests are
    // answered earlier, by `startRequestTimeout`.
    requestTimeout: 15 * 60_000,
    keepAliveTimeout: 72_000,
    exposeHeadRoutes: true,
    logger: false,
    // A request that reaches a stopping app on an open connection is answered, like the requests in progress. Fastify
    // would refuse it with a 503, which a client cannot tell from a fault.
    return503OnClosing: false,
  });
  const fastify = adapter.getInstance() as unknown as FastifyInstance;
  addBodyParsers(fastify);
  addRequestHooks(fastify, config, metrics, logger);
  closeWhenDraining(fastify, readiness);
  return adapter;
}

function addBodyParsers(fastify: FastifyInstance): void {
  fastify.removeAllContentTypeParsers();
  for (const type of ['application/json', /^application\/[a-z0-9.-]+\+json(;|$)/]) {
    fastify.addContentTypeParser(type as string, { parseAs: 'buffer' }, (request, body, done) => {
      parseRequestJson(request, body as unknown as Buffer).then(
        (value) => done(null, value),
        (error: Error) => done(error, undefined),
      );
    });
  }
  fastify.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (request, body, done) => {
    try {
      done(null, parseFormBody(request, body as string));
    } catch (error) {
      done(error as Error, undefined);
    }
  });
  fastify.addContentTypeParser('multipart/form-data', (request, _payload, done) => {
    const taken = request.routeOptions.config.form === true;
    done(
      taken
        ? null
        : new AppError('unsupported_media_type', { detail: 'This operation does not accept a form. Send JSON.' }),
      undefined,
    );
  });
}

/** Returns the fields of a form. Throws if the route accepts none, or if a field occurs twice. */
function parseFormBody(request: FastifyRequest, text: string): Record<string, string> {
  if (!request.routeOptions.config.formEncoded) {
    throw new AppError('unsupported_media_type', {
      detail: 'The Content-Type of the request is not accepted. Send application/json.',
    });
  }
  const fields = new Map<string, string>();
  for (const [sentName, value] of new URLSearchParams(text)) {
    const name = sentName.slice(0, 200);
    if (fields.has(name)) throw invalidFieldError(name, `${name} occurs twice`, `Send the field ${name} once.`);
    fields.set(name, value);
  }
  // Neither name can be a field of a body, and both could change an object that the fields are copied to.
  for (const name of ['__proto__', 'constructor']) {
    if (fields.has(name)) throw invalidFieldError(name, `property ${name} should not exist`, 'Remove this field.');
  }
  return Object.fromEntries(fields);
}

async function parseRequestJson(request: FastifyRequest, raw: Buffer): Promise<unknown> {
  const { halfPairs, unparsed } = request.routeOptions.config;
  if (unparsed) {
    unparsedBytes.set(request, raw);
    return undefined;
  }
  if (raw.length > digestedBytes) digests.set(request, createHash('sha256').update(raw).digest('hex'));
  // A JSON content type with an empty body means a request without a body.
  return raw.length === 0 ? undefined : parseJsonBody(raw, { halfPairs });
}

function addRequestHooks(fastify: FastifyInstance, config: BaseConfig, metrics: Metrics, logger: Logger): void {
  fastify.decorateRequest('requestId', '');
  fastify.decorateRequest('context', null as never);
  fastify.decorateRequest('startedAt', 0);
  fastify.decorateRequest('timeout', undefined);
  const ownHeaders = buildSecurityHeaders(config.publicAppUrl);
  // The level is checked first, so that a log line that is not written costs no time in every request.
  const tellsAnswers = ['trace', 'debug'].includes(config.logLevel);

  const paths = new KnownPaths();
  fastify.addHook('onRoute', (route) => {
    paths.addRoute(route.url, route.method);
    const limit = route.config?.bodyLimit;
    if (limit !== undefined) route.bodyLimit = limit;
  });
  fastify.addHook('onRequest', (request, reply, done) => {
    request.startedAt = performance.now();
    assignRequestId(request, reply);
    request.context = {
      requestId: request.requestId,
      traceparent: continueTrace(request.headers['traceparent']),
      origin: getRequestOrigin(request),
    };
    if (request.url.startsWith('/api/')) void reply.header('cache-control', 'no-store');
    void reply.headers(ownHeaders);
    if (request.routeOptions.config?.unparsed) acceptAnyContentType(request);
    if (!request.routeOptions.config?.noTimeout) startRequestTimeout(request, reply, config.requestTimeoutMs, logger);
    done(
      rejectRepeatedHostHeader(request) ??
        rejectInvalidUrl(request) ??
        (request.is404 ? noRouteError(request, paths) : undefined),
    );
  });
  // Body parsing loses the asynchronous context, so the context is entered just before the handler.
  fastify.addHook('preHandler', (request, reply, done) => runInContext(request.context, done, watchClient(reply.raw)));
  fastify.addHook('onResponse', (request, reply, done) => {
    clearTimeout(request.timeout);
    destroyUnreadBody(request);
    const seconds = (performance.now() - request.startedAt) / 1000;
    const route = request.routeOptions.url ?? 'none';
    const measured = { method: request.method, route, status: reply.statusCode };
    metrics.httpSeconds.observe(measured, seconds);
    metrics.levels.countRequest(measured, seconds);
    recordRequest(request, { route, status: reply.statusCode });
    if (tellsAnswers) {
      logger.debug('answered', {
        ...request.context,
        method: request.method,
        route,
        status: reply.statusCode,
        ms: Math.round(seconds * 1000),
      });
    }
    done();
  });
}

/**
 * Closes each connection with its next response once the app is stopping. A connection that stays open delays the end
 * of the process until it has been idle for `keepAliveTimeout`, and Kubernetes kills the process before that.
 */
function closeWhenDraining(fastify: FastifyInstance, readiness: Readiness): void {
  fastify.addHook('onSend', (_request, reply, _payload, done) => {
    if (readiness.isDraining) void reply.header('connection', 'close');
    done();
  });
}

/** Accepts a body of any content type, because its signature is checked before its type. */
function acceptAnyContentType(request: FastifyRequest): void {
  const { headers } = request;
  if (headers['content-type'] !== undefined) sentTypes.set(request, headers['content-type']);
  headers['content-type'] = 'application/json';
}

function assignRequestId(request: FastifyRequest, reply: FastifyReply): void {
  request.requestId = chooseRequestId(request.headers['x-request-id']);
  void reply.header('x-request-id', request.requestId);
}

function startRequestTimeout(request: FastifyRequest, reply: FastifyReply, timeoutMs: number, logger: Logger): void {
  request.timeout = setTimeout(() => {
    void reply.header('connection', 'close');
    const detail = `The request was not finished within ${timeoutMs} ms. It may still take effect.`;
    sendProblem(request, reply, new AppError('request_timeout', { detail }), logger);
  }, timeoutMs);
  // `onResponse` does not run for a client that goes away while it sends its body.
  reply.raw.once('close', () => clearTimeout(request.timeout));
}

const keyInQuery = /[?&](x-?api-?key|api_?key|access_?token|token)=|msk_[a-z0-9]{8,32}_/i;

/**
 * Returns the error for a request with two Host headers: Node uses the first one, and a proxy in front may have used
 * the other one.
 */
function rejectRepeatedHostHeader({ raw: { rawHeaders } }: FastifyRequest): AppError | undefined {
  const hosts = rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host');
  if (hosts.length < 2) return undefined;
  return new AppError('invalid_payload', { detail: 'Send exactly one Host header.' });
}

/**
 * Rejects a URL that contains a credential or is not valid. A credential in a URL ends up in logs, histories and
 * proxies. The rest of the request is not checked for credentials.
 */
function rejectInvalidUrl(request: FastifyRequest): AppError | undefined {
  const question = request.url.indexOf('?');
  if (question !== -1 && keyInQuery.test(request.url.slice(question))) {
    return new AppError('invalid_payload', {
      detail:
        'Send the API key in the x-api-key header; a key in a URL is never accepted. Revoke this key, because URLs ' +
        'are logged.',
    });
  }
  if (containsNul(request.query) || containsNul(request.params) || request.url.includes('%00')) {
    return new AppError('invalid_payload', { detail: 'The URL contains the character U+0000. Remove this character.' });
  }
  return isDecodableUrl(request.url)
    ? undefined
    : new AppError('invalid_payload', { detail: 'The URL is not valid. Check its encoding.' });
}

/** Whether the URL is valid percent-encoded UTF-8, which has no form for half of a surrogate pair. */
function isDecodableUrl(url: string): boolean {
  if (!url.includes('%')) return true;
  try {
    decodeURIComponent(url);
    return true;
  } catch {
    return false;
  }
}

/**
 * Returns the error for a request that matches no route. It is sent before the body arrives, because no handler would
 * read the body.
 */
function noRouteError(request: FastifyRequest, paths: KnownPaths): AppError {
  const allow = paths.listMethodsOfPath(request.url.split('?')[0]!);
  if (allow === '') return new AppError('not_found', { detail: 'This path does not exist. Check the address.' });
  return new AppError('method_not_allowed', {
    detail: `This path does not support the method of the request. Use ${allow}.`,
    headers: { allow },
  });
}
