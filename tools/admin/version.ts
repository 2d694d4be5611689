import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

declare const EMBEDDED_VERSION: string | undefined;

/** Of this Muster: as one file it carries it; else the repository's package.json has it, above sources or dist. */
export const version = typeof EMBEDDED_VERSION === 'string' ? EMBEDDED_VERSION : packageVersion();

function packageVersion(): string {
  const file = ['../..', '../../..'].map((up) => join(__dirname, up, 'package.json')).find((path) => existsSync(path))!;
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
