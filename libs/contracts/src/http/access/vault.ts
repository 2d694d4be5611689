import { DateTimeField, EnumField, ListField, TextField } from '../fields';

/** What a script may find as an environment variable: contract, "What a script finds". */
export const variableNamePattern = /^[A-Za-z_][A-Za-z0-9_]*$/;

const refusedNames = new Set(['PATH', 'HOME']);
const refusedPrefixes = ['PYTHON', 'LD_', 'NODE_', 'SERVICE_', 'AGENT_', 'ORGANIZATION_', 'MUSTER_'];

/** Why the name may not be a variable or a vault key, or null when it may. */
export function refusedVariableName(name: string): string | null {
  if (!variableNamePattern.test(name)) return 'a name has letters, digits and underscores, and starts with no digit';
  if (name.length > 128) return 'a name has at most 128 characters';
  if (refusedNames.has(name) || refusedPrefixes.some((prefix) => name.startsWith(prefix))) {
    return `${name} belongs to the worker's own environment`;
  }
  return null;
}

/** A secret is given to scripts; of a totp they get codes alone. */
const secretKinds = ['secret', 'totp'] as const;
export type SecretKind = (typeof secretKinds)[number];

export class PutSecretBody {
  @EnumField(secretKinds, {
    optional: true,
    description: 'secret when absent; totp: the value is a secret in base32 or an otpauth:// URI (RFC 6238).',
  })
  kind?: SecretKind;
  @TextField({ max: 65_536, example: 'hunter2' }) value!: string;
}

export class Secret {
  @TextField({ example: 'PORTAL_PASSWORD' }) key!: string;
  @EnumField(secretKinds) kind!: SecretKind;
  @DateTimeField() createdAt!: string;
  @DateTimeField() updatedAt!: string;
}

export class SecretList {
  @ListField(() => Secret) secrets!: Secret[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}
