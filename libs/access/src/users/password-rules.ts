import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { passwordLength } from '@muster/contracts';

let common: ReadonlySet<string> | undefined;

/** Returns what is wrong with a new password, or null. Existing passwords are not checked again. */
export function checkPasswordRules(password: string, email: string): string | null {
  const { min, max } = passwordLength;
  if (password.length < min || password.length > max) return `must have ${min} to ${max} characters`;
  const typed = password.toLowerCase();
  const address = email.toLowerCase();
  if (typed === address || typed === address.split('@')[0]) return 'must not be the email address';
  common ??= readCommonPasswords();
  return common.has(typed) ? 'is one of the most common passwords' : null;
}

/** Reads the 10,000 most common passwords that are long enough, in lower case (from SecLists, MIT license). */
function readCommonPasswords(): ReadonlySet<string> {
  const file = readFileSync(join(__dirname, 'common-passwords.txt.br'));
  return new Set(brotliDecompressSync(file).toString().trim().split('\n'));
}
