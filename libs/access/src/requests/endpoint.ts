import { applyDecorators, HttpCode } from '@nestjs/common';
import {
  ApiBody,
  ApiExtension,
  ApiExtraModels,
  ApiHeader,
  ApiOperation,
  ApiResponse,
  ApiSecurity,
  getSchemaPath,
} from '@nestjs/swagger';
import {
  type AppError,
  BundleProblem,
  type ErrorCode,
  errorTable,
  Problem,
  type ReadSubject,
  ignoresUnknownFields,
  wireCodeOf,
} from '@muster/contracts';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyRequest } from 'fastify';
import type { AccessRule } from './access-rule';

/** What a method that answers this may be: the class of its answer is the type that it returns. */
type Answering<Answer> = <Method extends (...given: never[]) => Answer | Promise<Answer>>(
  target: object,
  name: string | symbol,
  method: TypedPropertyDescriptor<Method>,
) => void;

export interface EndpointOptions<Answer = unknown, Other = unknown> {
  summary: string;
  description?: string;
  access: AccessRule;
  /** The class of the answer's body; none means an empty answer. */
  answer?: new () => Answer;
  /** The class of another body that it may answer with the same status. */
  or?: new () => Other;
  /** Answers a table in place of JSON. */
  csv?: true;
  /** Answers a zip in place of JSON. */
  zip?: true;
  /** 200 unless said. */
  status?: 200 | 201 | 202 | 204;
  /** What it answers with another status than its own. */
  otherwise?: { status: number; description: string; answer: new () => Other };
  /** What can go wrong beyond what every route of its kind shares. */
  errors?: ErrorCode[];
  /** The request's body, where it has one. */
  body?: new () => object;
  /** The request's body as multipart/form-data, where it takes one; beside a body in JSON, or alone. */
  form?: new () => object;
  /** Begins something that costs: a suspended organization is refused. `sometimes`: the handler says when. */
  unsuspended?: true | 'sometimes';
  /** What may be a patient's is read: who does so stands in the access log. */
  reads?: ReadSubject;
  /** Whoever has a second factor proves it again where that was more than 15 minutes ago. */
  sensitive?: true;
  /** Takes an Idempotency-Key: the effect and its answer are stored together for a day. */
  idempotent?: boolean;
  /** Answers an ETag; a change takes If-Match. */
  etag?: 'read' | 'change';
  /** No rate limit and no timeout: for probes. */
  exempt?: boolean;
  /** A signed route: keeps the bytes and reads nothing of them, which is the handler’s to do after their signature. */
  unparsed?: boolean;
  /** Where the interface names the route's own errors: what it answers instead of what was thrown. */
  failsAs?: (error: AppError | undefined, request: FastifyRequest) => AppError | undefined;
  /** How many bytes a body may have; 1 MiB unless said. */
  bodyLimit?: number;
  /** Waits for something to tell before it answers, and so has no timeout. */
  waits?: boolean;
  /** Answers server-sent events without an end, and so without a timeout: the classes of their data. */
  stream?: (new () => object)[];
}

/**
 * Says once what a route is: who may call it, what it answers, and how it can fail, for the guard, for the document and
 * for the compiler: a method that answers anything else does not compile.
 */
export function Endpoint<Answer = void, Other = never>(
  options: EndpointOptions<Answer, Other>,
): Answering<Answer | Other> {
  const {
    summary,
    description,
    access,
    answer,
    or,
    status = 200,
    otherwise,
    body,
    form,
    idempotent,
    etag,
    exempt,
    unparsed,
    stream,
    bodyLimit,
    waits,
    failsAs,
    csv,
    zip,
    reads,
  } = options;
  return applyDecorators(
    HttpCode(status),
    ApiOperation({ summary, description }),
    ApiExtension('x-access', access),
    ...(reads ? [ApiExtension('x-reads', reads)] : []),
    ...(bodyLimit ? [ApiExtension('x-body-limit', bodyLimit)] : []),
    ...(access === 'anyone' ? [] : securityOf(access)),
    ...(body ? [ApiBody({ type: body, required: true })] : []),
    // The generator knows one schema for all types of content: the document's own pass adds this one.
    ...(form ? [ApiExtraModels(form), ApiExtension('x-form', form.name)] : []),
    ...(body && ignoresUnknownFields(body) ? [ApiExtension('x-unknown-fields', 'ignored')] : []),
    ...(stream ? [ApiExtraModels(...stream)] : []),
    ...(answer && or ? [ApiExtraModels(answer, or)] : []),
    ApiResponse({
      status,
      description: statusText[status],
      ...(answer && or ? { schema: eitherOf([answer, or]) } : answer ? { type: answer } : {}),
      ...(csv ? { content: { 'text/csv': { schema: { type: 'string' } } } } : {}),
      ...(zip ? { content: { 'application/zip': { schema: { type: 'string', format: 'binary' } } } } : {}),
      ...(stream ? { content: { 'text/event-stream': { schema: eachOf(stream) } } } : {}),
      headers: {
        'X-Request-Id': {
          description: 'Identifier of the request: the one that the caller sent, or a new one.',
          schema: { type: 'string' },
        },
        ...(etag ? { ETag: { description: "The resource's revision.", schema: { type: 'string' } } } : {}),
        ...(status === 201 || status === 202
          ? { Location: { description: 'Where to read it.', schema: { type: 'string' } } }
          : {}),
      },
    }),
    ...(otherwise
      ? [ApiResponse({ status: otherwise.status, description: otherwise.description, type: otherwise.answer })]
      : []),
    ...problemsOf(errorsOf(options)),
    ...(idempotent
      ? [
          ApiHeader({
            name: 'Idempotency-Key',
            required: false,
            description: 'Repeats of the request with the same key answer the first answer, for 24 hours.',
            schema: { type: 'string', minLength: 1, maxLength: 255 },
          }),
        ]
      : []),
    ...(etag === 'change'
      ? [
          ApiHeader({
            name: 'If-Match',
            required: false,
            description: 'Changes only the revision with this ETag.',
            schema: { type: 'string' },
          }),
        ]
      : []),
    RouteConfig({
      endpoint: options,
      halfPairs: body && ignoresUnknownFields(body) ? 'replace' : 'refuse',
      noTimeout: exempt === true || waits === true || stream !== undefined,
      unparsed: unparsed ?? false,
      form: form !== undefined,
      bodyLimit,
      failsAs,
    }),
  );
}

/** OpenAPI 3.1 has no words for a stream: its schema is that of the data of one event. */
function eachOf(types: (new () => object)[]) {
  const [only, ...others] = types.map((type) => ({ $ref: getSchemaPath(type) }));
  return others.length > 0 ? { description: 'The data of each event.', oneOf: [only!, ...others] } : only!;
}

function eitherOf(types: (new () => unknown)[]) {
  return { oneOf: types.map((type) => ({ $ref: getSchemaPath(type as new () => object) })) };
}

const statusText = { 200: 'Done', 201: 'Created', 202: 'Accepted', 204: 'Done, nothing to say' };

function securityOf(access: Exclude<AccessRule, 'anyone'>) {
  if (access === 'cron') return [ApiSecurity('cronKey'), ApiSecurity('cronBearer')];
  const { sessions, keys, signed } = access;
  return [
    ...(signed ? [ApiSecurity('signature')] : []),
    ...(sessions ? [ApiSecurity('session')] : []),
    ...(keys.length ? [ApiSecurity('apiKey')] : []),
  ];
}

function errorsOf({
  access,
  body,
  form,
  errors = [],
  idempotent,
  etag,
  exempt,
  unsuspended,
  sensitive,
}: EndpointOptions): ErrorCode[] {
  return [
    ...(access === 'anyone' ? [] : (['unauthenticated'] as const)),
    ...(access === 'anyone' || access === 'cron' ? [] : (['permission_denied'] as const)),
    ...(sensitive ? (['step_up_required'] as const) : []),
    // A URL can be wrong everywhere.
    'invalid_payload' as const,
    ...(body || form ? (['payload_too_large', 'unsupported_media_type'] as const) : []),
    ...(idempotent ? (['idempotency_key_reused', 'idempotency_key_in_flight'] as const) : []),
    ...(etag === 'change' ? (['precondition_failed'] as const) : []),
    ...(unsuspended ? (['billing_gate_closed'] as const) : []),
    ...(exempt ? [] : (['rate_limited', 'service_unavailable'] as const)),
    ...errors,
  ];
}

/** One answer for each status, naming its codes. */
function problemsOf(codes: ErrorCode[]) {
  const statuses = new Map<number, ErrorCode[]>();
  for (const code of new Set(codes)) {
    const { status } = errorTable[code];
    statuses.set(status, [...(statuses.get(status) ?? []), code]);
  }
  return [...statuses].map(([status, list]) =>
    ApiResponse({
      status,
      description: list.map((code) => `${errorTable[code].title} (${wireCodeOf(code)})`).join('; '),
      content: { 'application/problem+json': { schema: oneOf(list.map(problemOf)) } },
    }),
  );
}

/** What of our problems lists something else than fields. */
function problemOf(code: ErrorCode): new () => Problem | BundleProblem {
  return code === 'bundle_rejected' ? BundleProblem : Problem;
}

function oneOf(types: (new () => object)[]) {
  const schemas = [...new Set(types)].map((type) => ({ $ref: getSchemaPath(type) }));
  return schemas.length === 1 ? schemas[0] : { oneOf: schemas };
}
