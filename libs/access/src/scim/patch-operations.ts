import type { ScimOperation } from '@muster/contracts';
import { scimError } from './scim-error';

const verbs = ['add', 'replace', 'remove'] as const;

/** A checked operation. The path is in lower case and without the URN of the resource's own schema. */
export interface PatchStep {
  verb: (typeof verbs)[number];
  /** Null if `value` is an object with the attributes to change. */
  path: string | null;
  value: unknown;
}

const pathPattern = /^(urn:[\w.:-]+|[a-z$][\w$-]*(\[[^\]]*\])?(\.[a-z$][\w$-]*)?)$/;

/** Checks the operations of a PATCH request. An operation without a path becomes one step for each attribute. */
export function parsePatchSteps(operations: readonly ScimOperation[], schema: string): PatchStep[] {
  return operations.flatMap(({ op, path, value }): PatchStep[] => {
    const verb = verbs.find((each) => each === op.toLowerCase());
    if (!verb) throw scimError('invalidSyntax', 'The op of an operation must be add, replace or remove.');
    if (path !== undefined) return [{ verb, path: parseAttributePath(path, schema), value }];
    if (verb === 'remove') throw scimError('noTarget', 'The operation remove needs a path.');
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw scimError('invalidSyntax', 'An operation without a path needs an object with attributes as its value.');
    }
    return Object.entries(value).map(([name, own]) => ({
      verb,
      path: removeSchemaPrefix(name, schema),
      value: own as unknown,
    }));
  });
}

function parseAttributePath(text: string, schema: string): string {
  const path = removeSchemaPrefix(text.trim(), schema);
  if (pathPattern.test(path)) return path;
  throw scimError(
    'invalidPath',
    `The path ${text.slice(0, 100)} is not valid. Use the name of an attribute, such as active or name.givenName.`,
  );
}

function removeSchemaPrefix(text: string, schema: string): string {
  const path = text.toLowerCase();
  const prefix = `${schema.toLowerCase()}:`;
  return path.startsWith(prefix) ? path.slice(prefix.length) : path;
}
