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
  errorMeanings,
  errorTable,
  ignoresUnknownFields,
  Problem,
  type ReadSubject,
  toWireCode,
} from '@muster/contracts';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyRequest } from 'fastify';
import { type AccessRule, describeAccessRule, getNeededPermission } from './access-rule';

/** A decorator that accepts only methods that return the declared response. */
type Answering<Answer> = <Method extends (...args: never[]) => Answer | Promise<Answer>>(
  target: object,
  name: string | symbol,
  method: TypedPropertyDescriptor<Method>,
) => void;

export interface EndpointOptions<Answer = unknown, Other = unknown> {
  summary: string;
  description?: string;
  access: AccessRule;
  /** Class of the response body; an empty response if absent. */
  answer?: new () => Answer;
  /** Class of another response body with the same status. */
  or?: new () => Other;
  /** The response is CSV instead of JSON. */
  csv?: true;
  /** The response is a zip file instead of JSON. */
  zip?: true;
  /** Status of the response; 200 by default. */
  status?: 200 | 201 | 202 | 204 | 302;
  /** Another response of the route, with a different status. */
  otherwise?: { status: number; description: string; answer: new () => Other };
  /** Errors in addition to those that all routes of this kind have. */
  errors?: ErrorCode[];
  /** Class of the request body, if the route takes one. */
  body?: new () => object;
  /** Class of a multipart/form-data request body, in addition to a JSON body or alone. */
  form?: new () => object;
  /**
   * The route starts something that costs money, so a suspended organization is rejected. `sometimes`: the handler
   * decides whether it is.
   */
  unsuspended?: true | 'sometimes';
  /** The route reads data that may be about a patient, so the access log records the caller. */
  reads?: ReadSubject;
  /**
   * The response may be a second old, except for what the caller wrote. Its statements outside of transactions may run
   * on a replica, so they must not write.
   */
  mayLag?: true;
  /** A user with a second factor must have proved it recently (STEP_UP_AFTER_MS). */
  sensitive?: true;
  /**
   * Whether the route accepts an Idempotency-Key. The change and its response are stored in one transaction; the
   * response is kept for a day.
   */
  idempotent?: boolean;
  /** The response has an ETag; a change accepts If-Match. */
  etag?: 'read' | 'change';
  /** The route has no access check, no rate limit and no timeout; for probes. */
  exempt?: boolean;
  /** The route also accepts application/x-www-form-urlencoded, as OAuth requires; all fields are texts. */
  formEncoded?: true;
  /** For a signed route: passes the raw bytes to the handler, which parses them after it has verified the signature. */
  unparsed?: boolean;
  /** Replaces a thrown error, on routes whose interface defines their own errors. */
  failsAs?: (error: AppError | undefined, request: FastifyRequest) => AppError | undefined;
  /** Maximum size of the request body in bytes; 1 MiB by default. */
  bodyLimit?: number;
  /** The route waits for an event before it responds, and therefore has no timeout. */
  waits?: boolean;
  /** Classes of the data of server-sent events. The response is endless and has no timeout. */
  stream?: (new () => object)[];
}

/**
 * Declares a route once for the guard, the OpenAPI document and the compiler: its callers, its responses and its
 * errors. A method that returns anything else does not compile.
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
    formEncoded,
  } = options;
  return applyDecorators(
    HttpCode(status),
    ApiOperation({ summary, description }),
    ApiExtension('x-access', describeAccessRule(access)),
    ApiExtension('x-permission', getNeededPermission(access)),
    ...(reads ? [ApiExtension('x-reads', reads)] : []),
    ...(formEncoded ? [ApiExtension('x-form-encoded', true)] : []),
    ...(bodyLimit ? [ApiExtension('x-body-limit', bodyLimit)] : []),
    ...(access === 'anyone' ? [] : declareRouteSecurity(access)),
    ...(body ? [ApiBody({ type: body, required: true })] : []),
    // The generator supports only one schema for all content types. A later pass over the document adds the schema of
    // the form.
    ...(form ? [ApiExtraModels(form), ApiExtension('x-form', form.name)] : []),
    ...(body && ignoresUnknownFields(body) ? [ApiExtension('x-unknown-fields', 'ignored')] : []),
    ...(stream ? [ApiExtraModels(...stream)] : []),
    ...(answer && or ? [ApiExtraModels(answer, or)] : []),
    ApiResponse({
      status,
      description: statusText[status],
      ...(answer && or ? { schema: describeUnionSchema([answer, or]) } : answer ? { type: answer } : {}),
      ...(csv ? { content: { 'text/csv': { schema: { type: 'string' } } } } : {}),
      ...(zip ? { content: { 'application/zip': { schema: { type: 'string', format: 'binary' } } } } : {}),
      ...(stream ? { content: { 'text/event-stream': { schema: describeStreamSchema(stream) } } } : {}),
      headers: {
        'X-Request-Id': {
          description: 'Identifier of the request: the one that the caller sent, or a new one.',
          schema: { type: 'string' },
        },
        ...(etag
          ? {
              ETag: {
                description: 'Identifier of this revision of the resource, to be sent as If-Match with a change.',
                schema: { type: 'string' },
              },
            }
          : {}),
        ...(status === 201 || status === 202
          ? { Location: { description: 'URL of the created or accepted resource.', schema: { type: 'string' } } }
          : {}),
        ...(status === 302
          ? { Location: { description: 'URL that the browser opens next.', schema: { type: 'string' } } }
          : {}),
      },
    }),
    ...(otherwise
      ? [ApiResponse({ status: otherwise.status, description: otherwise.description, type: otherwise.answer })]
      : []),
    ...declareProblemResponses(listErrorCodes(options)),
    ...(idempotent
      ? [
          ApiHeader({
            name: 'Idempotency-Key',
            required: false,
            description: 'For 24 hours, repeated requests with the same key return the response of the first one.',
            schema: { type: 'string', minLength: 1, maxLength: 255 },
          }),
        ]
      : []),
    ...(etag === 'change'
      ? [
          ApiHeader({
            name: 'If-Match',
            required: false,
            description:
              'ETag from the response that the change is based on. If the resource has changed since then, the ' +
              'request fails with 412.',
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
      formEncoded: formEncoded === true,
      bodyLimit,
      failsAs,
    }),
  );
}

/** Returns the schema of a stream: that of the data of one event, because OpenAPI 3.1 cannot describe a stream. */
function describeStreamSchema(types: (new () => object)[]) {
  const [only, ...others] = types.map((type) => ({ $ref: getSchemaPath(type) }));
  return others.length > 0 ? { description: 'The data of each event.', oneOf: [only!, ...others] } : only!;
}

function describeUnionSchema(types: (new () => unknown)[]) {
  return { oneOf: types.map((type) => ({ $ref: getSchemaPath(type as new () => object) })) };
}

const statusText = { 200: 'Done', 201: 'Created', 202: 'Accepted', 204: 'Done, without a body', 302: 'Redirected' };

function declareRouteSecurity(access: Exclude<AccessRule, 'anyone'>) {
  if (access === 'scim') return [ApiSecurity('scimToken')];
  if (access === 'cron') return [ApiSecurity('cronKey'), ApiSecurity('cronBearer')];
  const { sessions, keys, signed, ticket } = access;
  return [
    ...(ticket ? [ApiSecurity({})] : []),
    ...(signed ? [ApiSecurity('signature')] : []),
    ...(sessions ? [ApiSecurity('session')] : []),
    ...(keys.length ? [ApiSecurity('apiKey')] : []),
  ];
}

function listErrorCodes({
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
    ...(typeof access === 'string' ? [] : (['permission_denied'] as const)),
    ...(sensitive ? (['step_up_required'] as const) : []),
    // Any request can have an invalid URL.
    'invalid_payload' as const,
    ...(body || form ? (['payload_too_large', 'unsupported_media_type'] as const) : []),
    ...(idempotent ? (['idempotency_key_reused', 'idempotency_key_in_flight'] as const) : []),
    ...(etag === 'change' ? (['precondition_failed'] as const) : []),
    ...(unsuspended ? (['billing_gate_closed'] as const) : []),
    ...(exempt ? [] : (['rate_limited', 'service_unavailable'] as const)),
    ...errors,
  ];
}

/** Declares one response per status, whose description lists the error codes. */
function declareProblemResponses(codes: ErrorCode[]) {
  const statuses = new Map<number, ErrorCode[]>();
  for (const code of new Set(codes)) {
    const { status } = errorTable[code];
    statuses.set(status, [...(statuses.get(status) ?? []), code]);
  }
  return [...statuses].map(([status, list]) =>
    ApiResponse({
      status,
      description: list
        .map((code) => `${errorTable[code].title} (${toWireCode(code)}): ${errorMeanings[code]}`)
        .join(' '),
      content: { 'application/problem+json': { schema: buildOneOfSchema(list.map(getProblemClass)) } },
    }),
  );
}

/** Returns the problem class of a code: bundle errors list entries of the bundle instead of fields. */
function getProblemClass(code: ErrorCode): new () => Problem | BundleProblem {
  return code === 'bundle_rejected' ? BundleProblem : Problem;
}

function buildOneOfSchema(types: (new () => object)[]) {
  const schemas = [...new Set(types)].map((type) => ({ $ref: getSchemaPath(type) }));
  return schemas.length === 1 ? schemas[0] : { oneOf: schemas };
}
