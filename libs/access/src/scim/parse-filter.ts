import { scimError } from './scim-error';

/** A filter `attribute eq "value"`; the attribute is in lower case. */
export interface ScimFilter {
  attribute: string;
  value: string;
}

const pattern = /^\s*([a-z][\w.:-]*(?:\[\s*type\s+eq\s+"work"\s*\](?:\.value)?)?)\s+eq\s+("(?:[^"\\]|\\.)*")\s*$/i;

/** Parses a filter of a list. Only equality with one attribute is supported, which is all that providers send. */
export function parseScimFilter(filter: string | undefined, attributes: readonly string[]): ScimFilter | null {
  if (filter === undefined) return null;
  const [, name, literal] = pattern.exec(filter) ?? [];
  const attribute = name
    ?.toLowerCase()
    .replace(/^urn:.*:/, '')
    .replace(/^emails(\[.*)?$/, 'emails.value')
    .replace(/^members$/, 'members.value');
  const value = literal === undefined ? null : parseTextLiteral(literal);
  if (attribute === undefined || value === null || !attributes.some((each) => each.toLowerCase() === attribute)) {
    throw scimError('invalidFilter', `The filter must be: attribute eq "value", with ${attributes.join(', ')}.`);
  }
  return { attribute, value };
}

/** Returns the text of a JSON literal; null if the literal has a wrong escape. */
function parseTextLiteral(literal: string): string | null {
  try {
    return JSON.parse(literal) as string;
  } catch {
    return null;
  }
}
