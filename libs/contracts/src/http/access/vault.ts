import { DateTimeField, EnumField, ListField, TextField } from '../fields';

/** Valid names of environment variables and vault keys of a script. */
export const variableNamePattern = /^[A-Za-z_][A-Za-z0-9_]*$/;

const refusedNames = new Set(['PATH', 'HOME']);
const refusedPrefixes = ['PYTHON', 'LD_', 'NODE_', 'SERVICE_', 'AGENT_', 'ORGANIZATION_', 'MUSTER_'];

/** Returns why the name is not allowed for a variable or a vault key, or null if it is allowed. */
export function checkVariableName(name: string): string | null {
  if (!variableNamePattern.test(name))
    return 'a name consists of letters, digits and underscores and does not start with a digit';
  if (name.length > 128) return 'a name has at most 128 characters';
  if (refusedNames.has(name) || refusedPrefixes.some((prefix) => name.startsWith(prefix))) {
    return `${name} is reserved for the worker's own environment`;
  }
  return null;
}

/** Scripts receive the value of a `secret`, but only the codes of a `totp`. */
const secretKinds = ['secret', 'totp'] as const;
export type SecretKind = (typeof secretKinds)[number];

export class PutSecretBody {
  @EnumField(secretKinds, {
    optional: true,
    description:
      'secret (when absent): scripts receive the value. totp: the value is a base32 secret or an otpauth:// URI (RFC ' +
      '6238), and scripts that name the key in vaultKeys receive its codes.',
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
