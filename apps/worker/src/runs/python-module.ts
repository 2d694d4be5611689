import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Text of the Python module. Set by the one-file build, which has no other files. */
declare const EMBEDDED_PYTHON_MODULE: string | undefined;

/** Files that together are the module `muster`, in this order. */
const parts = ['muster.py', 'muster-asking.py'];

export function readPythonModule(): string {
  return typeof EMBEDDED_PYTHON_MODULE === 'string'
    ? EMBEDDED_PYTHON_MODULE
    : parts.map((name) => readFileSync(join(__dirname, name), 'utf8')).join('\n\n');
}
