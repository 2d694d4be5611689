/** The `x-access` of a route, as its Endpoint decorator says it. */
export interface Access {
  sessions: string | null;
  keys: string[];
}

export interface Operation {
  method: string;
  path: string;
  access: Access | 'anyone' | 'cron' | undefined;
  statuses: string[];
  /** The schema's name of the body, where there is one. */
  body: string | null;
  /** Takes multipart/form-data. */
  form: boolean;
  required: string[];
  /** Fields of its body that may be of any type. */
  anyType: string[];
  /** Workers' reports: fields that are not known are passed over. */
  ignoresUnknown: boolean;
  bodyLimit: number;
  /** What must be in its query, with an example each. */
  query: Record<string, string>;
  /** All that may be in its query. */
  queryNames: string[];
  /** The header that carries the signature of the body, where a signature is what proves who is calling. */
  signatureHeader?: string;
}

/** A field of a body, and what it is in JSON: 'any' where it may be several. */
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
  /** Null, or something else. */
  anyOf?: Schema[];
  oneOf?: Schema[];
  minimum?: number;
}

interface Document {
  paths: Record<string, Record<string, RawOperation>>;
  components: { schemas: Record<string, Schema> };
}

interface RawOperation {
  'x-access'?: Access | 'anyone' | 'cron';
  responses: Record<string, unknown>;
  'x-unknown-fields'?: string;
  'x-body-limit'?: number;
  parameters?: {
    name: string;
    in: string;
    required?: boolean;
    schema: Schema & { example?: unknown };
    example?: unknown;
  }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
}

/** Every operation of the document. */
export function operations(document: object): Operation[] {
  const { paths, components } = document as Document;
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, raw]) => {
      const body = raw.requestBody?.content['application/json']?.schema.$ref?.split('/').at(-1) ?? null;
      return {
        method: method.toUpperCase(),
        path,
        access: raw['x-access'],
        statuses: Object.keys(raw.responses),
        body,
        form: raw.requestBody?.content['multipart/form-data'] !== undefined,
        ignoresUnknown: raw['x-unknown-fields'] === 'ignored',
        bodyLimit: raw['x-body-limit'] ?? 1024 * 1024,
        query: requiredQuery(raw),
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

function requiredQuery({ parameters = [] }: RawOperation): Record<string, string> {
  const needed = parameters.filter((each) => each.in === 'query' && each.required);
  return Object.fromEntries(needed.map(({ name, schema, example }) => [name, String(example ?? schema.example)]));
}

/** The fields of the operation's body. */
export function fieldsOf(document: object, { body }: Operation): Field[] {
  const { schemas } = (document as Document).components;
  const kindOf = ({ type, $ref, anyOf, ...rest }: Schema): string => {
    if ($ref) return 'object';
    if (anyOf) return kindOf(anyOf[0]!);
    return ([type].flat()[0] ?? ('allOf' in rest ? 'object' : 'any')) as string;
  };
  const properties = Object.entries(body ? (schemas[body]?.properties ?? {}) : {});
  return properties.map(([name, schema]) => ({ name, kind: kindOf(schema) }));
}

/** A body that the operation takes, made of the document's own examples; undefined where it takes none. */
export function exampleBody(document: object, { body }: Operation): unknown {
  if (!body) return undefined;
  return exampleOf(document as Document, { $ref: `#/components/schemas/${body}` });
}

function exampleOf(document: Document, schema: Schema): unknown {
  if (schema.$ref) return exampleOf(document, document.components.schemas[schema.$ref.split('/').at(-1)!]!);
  if (schema.example !== undefined) return schema.example;
  if (schema.enum) return schema.enum[0];
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (type === 'object') {
    const members = Object.entries(schema.properties ?? {}).filter(
      ([name, member]) =>
        schema.required?.includes(name) ||
        (member.example !== undefined && !Array.isArray(member.type) && !member.anyOf),
    );
    return Object.fromEntries(members.map(([name, member]) => [name, exampleOf(document, member)]));
  }
  if (type === 'array') return schema.items ? [exampleOf(document, schema.items)] : [];
  if (type === 'boolean') return true;
  if (type === 'integer' || type === 'number') return schema.minimum ?? 1;
  return 'text';
}
