import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { passwordLength } from '@muster/contracts';

let common: ReadonlySet<string> | undefined;

/** What is wrong with a new password; null where nothing is. Old ones go on signing in. */
export function passwordFault(password: string, email: string): string | null {
  const { min, max } = passwordLength;
  if (password.length < min || password.length > max) return `must have ${min} to ${max} characters`;
  const typed = password.toLowerCase();
  const address = email.toLowerCase();
  if (typed === address || typed === address.split('@')[0]) return 'must not be the email address';
  common ??= readCommon();
  return common.has(typed) ? 'is one of the passwords that are guessed first' : null;
}

/** The 10,000 most common passwords that are long enough, in small letters: those of SecLists, of the MIT license. */
function readCommon(): ReadonlySet<string> {
  const file = readFileSync(join(__dirname, 'common-passwords.txt.br'));
  return new Set(brotliDecompressSync(file).toString().trim().split('\n'));
}
