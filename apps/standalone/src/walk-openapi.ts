import type { Permission } from '@muster/contracts';
import { newId } from '@muster/platform';

/** `x-access` of a route: the role and the kinds of API key that may call it. Its Endpoint decorator writes it. */
export interface Access {
  sessions: string | null;
  keys: string[];
}

export interface Operation {
  method: string;
  path: string;
  access: Access | 'anyone' | 'cron' | 'scim' | undefined;
  /** Permission that the route needs; null if it needs none, undefined if the document does not say. */
  permission: Permission | null | undefined;
  statuses: string[];
  /** Name of the body's schema; null without a body. */
  body: string | null;
  /** Whether the operation accepts multipart/form-data. */
  form: boolean;
  required: string[];
  /** Fields of the body that can have any type. */
  anyType: string[];
  /** Whether unknown fields are ignored, as in workers' reports. */
  ignoresUnknown: boolean;
  bodyLimit: number;
  /** Whether the route also accepts application/x-www-form-urlencoded. */
  formEncoded: boolean;
  /** Required query parameters, each with an example. */
  query: Record<string, string>;
  /** Names of all query parameters. */
  queryNames: string[];
  /** Header with the signature of the body, if the caller authenticates with a signature. */
  signatureHeader?: string;
}

/** A field of a body and its JSON type; 'any' if it can have several types. */
export interface Field {
  name: string;
  kind: string;
}

interface Schema {
  $ref?: string;
  type?: string | string[];
  example?: unknown;
  enum?: unknown[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  /** Alternatives of a field, for example a type or null. */
  anyOf?: Schema[];
  oneOf?: Schema[];
  minimum?: number;
}

interface Document {
  paths: Record<string, Record<string, RawOperation>>;
  components: { schemas: Record<string, Schema> };
}

interface RawOperation {
  'x-access'?: Access | 'anyone' | 'cron' | 'scim';
  'x-permission'?: Permission | null;
  responses: Record<string, unknown>;
  'x-unknown-fields'?: string;
  'x-body-limit'?: number;
  'x-form-encoded'?: true;
  parameters?: {
    name: string;
    in: string;
    required?: boolean;
    schema: Schema & { example?: unknown };
    example?: unknown;
  }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
}

/** Returns every operation of the document. */
export function listOperations(document: object): Operation[] {
  const { paths, components } = document as Document;
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, raw]) => {
      const body = raw.requestBody?.content['application/json']?.schema.$ref?.split('/').at(-1) ?? null;
      return {
        method: method.toUpperCase(),
        path,
        access: raw['x-access'],
        permission: raw['x-permission'],
        statuses: Object.keys(raw.responses),
        body,
        form: raw.requestBody?.content['multipart/form-data'] !== undefined,
        ignoresUnknown: raw['x-unknown-fields'] === 'ignored',
        bodyLimit: raw['x-body-limit'] ?? 1024 * 1024,
        formEncoded: raw['x-form-encoded'] === true,
        query: buildRequiredQuery(raw),
        queryNames: (raw.parameters ?? []).flatMap((each) => (each.in === 'query' ? [each.name] : [])),
        signatureHeader: raw.parameters?.find((each) => each.in === 'header' && /signature/i.test(each.name))?.name,
        anyType: Object.entries((body && components.schemas[body]?.properties) || {}).flatMap(([name, { oneOf }]) =>
          oneOf ? [name] : [],
        ),
        required: body ? (components.schemas[body]?.required ?? []) : [],
      };
    }),
  );
}

function buildRequiredQuery({ parameters = [] }: RawOperation): Record<string, string> {
  const needed = parameters.filter((each) => each.in === 'query' && each.required);
  return Object.fromEntries(needed.map(({ name, schema, example }) => [name, String(example ?? schema.example)]));
}

/** Returns the fields of the operation's body. */
export function listFields(document: object, { body }: Operation): Field[] {
  const { schemas } = (document as Document).components;
  const describeSchemaKind = ({ type, $ref, anyOf, ...rest }: Schema): string => {
    if ($ref) return 'object';
    if (anyOf) return describeSchemaKind(anyOf[0]!);
    return ([type].flat()[0] ?? ('allOf' in rest ? 'object' : 'any')) as string;
  };
  const properties = Object.entries(body ? (schemas[body]?.properties ?? {}) : {});
  return properties.map(([name, schema]) => ({ name, kind: describeSchemaKind(schema) }));
}

/** Returns a valid body of the operation from the document's examples; undefined if it accepts no body. */
export function buildExampleBody(document: object, { body }: Operation): unknown {
  if (!body) return undefined;
  return buildExample(document as Document, { $ref: `#/components/schemas/${body}` });
}

function buildExample(document: Document, schema: Schema): unknown {
  if (schema.$ref) return buildExample(document, document.components.schemas[schema.$ref.split('/').at(-1)!]!);
  if (schema.example !== undefined) return schema.example;
  if (schema.enum) return schema.enum[0];
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (type === 'object') {
    const members = Object.entries(schema.properties ?? {}).filter(
      ([name, member]) =>
        schema.required?.includes(name) ||
        (member.example !== undefined && !Array.isArray(member.type) && !member.anyOf),
    );
    return Object.fromEntries(members.map(([name, member]) => [name, buildExample(document, member)]));
  }
  if (type === 'array') return schema.items ? [buildExample(document, schema.items)] : [];
  if (type === 'boolean') return true;
  if (type === 'integer' || type === 'number') return schema.minimum ?? 1;
  return 'text';
}

/** Returns the path with the id in place of its parameters. */
export function fillPath(path: string, id: string = newId()): string {
  return path
    .replace(
      '{key}',
      id
        .replaceAll('-', '_')
        .toUpperCase()
        .replace(/^/, /^\d/.test(id) ? 'K' : ''),
    )
    .replace('{id}', id)
    .replace('{name}', id)
    .replace('{user}', id)
    .replace('{group}', id)
    .replace('{pool}', 'delta-dental')
    .replace('{batchId}', id)
    .replace('{organizationId}', id)
    .replace('{commandId}', '0192f0c4-7b8e-7d3a-9c55-2f4a6b8c0d1e')
    .replace('{versionId}', '0192f0c4-7b8e-7d3a-9c55-2f4a6b8c0d1e')
    .replace('{questionId}', '0192f0c4-7b8e-7d3a-9c55-2f4a6b8c0d1e')
    .replace('{deliveryId}', '0192f0c4-7b8e-7d3a-9c55-2f4a6b8c0d1e')
    .replace('{revision}', '1');
}

/** Returns the path with the required query parameters of the operation. */
export function addQuery(path: string, { query }: Operation): string {
  return Object.keys(query).length ? `${path}?${new URLSearchParams(query).toString()}` : path;
}
