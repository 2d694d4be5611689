import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

declare const EMBEDDED_VERSION: string | undefined;

/** Version of this Muster. The one-file build embeds it; otherwise it is read from the repository's package.json. */
export const version = typeof EMBEDDED_VERSION === 'string' ? EMBEDDED_VERSION : readPackageVersion();

function readPackageVersion(): string {
  const file = ['../..', '../../..'].map((up) => join(__dirname, up, 'package.json')).find((path) => existsSync(path))!;
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
