import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { BundleProblem, type ErrorCode, errorMeanings, errorTable, Problem } from '@muster/contracts';

/** Returns the OpenAPI 3.1 document of all routes that this process serves. */
export function buildOpenApiDocument(app: INestApplication): Record<string, unknown> {
  const builder = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Muster')
    .setDescription(
      'Starts worker machines, runs automation workflows on them, and records the result and cost of every run. ' +
        'Errors are problem+json (RFC 9457) with a code. Lists are returned in pages with limit and cursor. Times are ' +
        'ISO 8601 in UTC. ' +
        'A request to a listed path with an unlisted method returns 405 with an Allow header.',
    )
    .setVersion('1')
    .setLicense('Proprietary', 'https://muster.dev/license')
    .addServer('/')
    .addSecurity('session', { type: 'apiKey', in: 'cookie', name: 'muster_session' })
    .addSecurity('apiKey', { type: 'apiKey', in: 'header', name: 'x-api-key' })
    .addSecurity('signature', { type: 'apiKey', in: 'header', name: 'x-service-signature' })
    .addSecurity('cronKey', { type: 'apiKey', in: 'header', name: 'x-cron-key' })
    .addSecurity('scimToken', { type: 'http', scheme: 'bearer' })
    .addSecurity('cronBearer', { type: 'http', scheme: 'bearer' })
    .build();
  const document = SwaggerModule.createDocument(app, builder, {
    extraModels: [Problem, BundleProblem],
    operationIdFactory: (controller, method) => `${controller.replace(/Controller$/, '')}_${method}`,
  });
  // A route without authentication gets an empty `security` list, so that the document states that none is required.
  for (const path of Object.values(document.paths)) {
    for (const [method, operation] of Object.entries(path) as [string, Operation][]) {
      operation.security ??= [];
      if (method !== 'get') addBodyErrors(operation);
      addForm(operation);
      markBodyOptional(operation, document.components?.schemas ?? {});
    }
  }
  return sortKeys(replaceNullable(JSON.parse(JSON.stringify(document)))) as Record<string, unknown>;
}

interface Operation {
  security?: unknown[];
  responses: Record<string, unknown>;
  'x-form'?: string;
  requestBody?: { required: boolean; content: Record<string, unknown> };
}

/** Adds the errors of invalid bodies, also to operations without a body, because any body that is sent is checked. */
function addBodyErrors({ responses }: Operation): void {
  for (const code of ['payload_too_large', 'unsupported_media_type'] satisfies ErrorCode[]) {
    const { status, title } = errorTable[code];
    responses[status] ??= {
      description: `${title} (${code}): ${errorMeanings[code]}`,
      content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
    };
  }
}

/** Adds the form as a content type with its own schema, which differs from the JSON of the same route. */
function addForm(operation: Operation): void {
  const { 'x-form': form } = operation;
  if (!form) return;
  delete operation['x-form'];
  const content = { 'multipart/form-data': { schema: { $ref: `#/components/schemas/${form}` } } };
  operation.requestBody = { required: true, content: { ...operation.requestBody?.content, ...content } };
}

/** Marks a body without required fields as optional. */
function markBodyOptional({ requestBody }: Operation, schemas: Record<string, unknown>): void {
  const { $ref } =
    (requestBody?.content['application/json'] as { schema?: { $ref?: string } } | undefined)?.schema ?? {};
  const schema = $ref && (schemas[$ref.split('/').at(-1)!] as { required?: string[] } | undefined);
  if (schema && !schema.required?.length) requestBody!.required = false;
}

/** Replaces `nullable` of OpenAPI 3.0, which the generator writes, with the type null of 3.1. */
function replaceNullable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(replaceNullable);
  if (typeof value !== 'object' || value === null) return value;
  const { nullable, ...rest } = value as Record<string, unknown>;
  const members = Object.fromEntries(Object.entries(rest).map(([key, member]) => [key, replaceNullable(member)]));
  if (nullable !== true) return nullable === undefined ? members : { ...members, nullable };
  if (typeof members['type'] === 'string' && !members['allOf']) {
    const { enum: values, ...others } = members;
    return {
      ...others,
      type: [members['type'], 'null'],
      ...(values ? { enum: [...(values as unknown[]), null] } : {}),
    };
  }
  const { allOf, type: _type, description, ...others } = members;
  const schemas = (allOf as unknown[] | undefined) ?? [others];
  return { ...(description ? { description } : {}), anyOf: [...schemas, { type: 'null' }] };
}

/** Sorts paths and schemas, so that the generated document changes only if the code does. */
function sortKeys(document: unknown): unknown {
  const { paths, components, ...rest } = document as {
    paths: Record<string, unknown>;
    components: { schemas: Record<string, unknown> };
  };
  return {
    ...rest,
    paths: sortByKey(paths),
    components: { ...components, schemas: sortByKey(components.schemas) },
  };
}

function sortByKey(record: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)));
}
