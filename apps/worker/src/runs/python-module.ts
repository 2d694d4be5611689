import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Set by the one-file build, which has no file beside it. */
declare const EMBEDDED_PYTHON_MODULE: string | undefined;

export function pythonModule(): string {
  return typeof EMBEDDED_PYTHON_MODULE === 'string'
    ? EMBEDDED_PYTHON_MODULE
    : readFileSync(join(__dirname, 'muster.py'), 'utf8');
}
