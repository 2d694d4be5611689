import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { byHandImports, readPythonRuntime } from '../recordings/write-script';

const readOwnModule = (name: string): string => readFileSync(join(__dirname, 'program', `${name}.py`), 'utf8');
const modules = [...byHandImports, 'ast', 'traceback', 'urllib.parse'].sort();

const program = [
  '# A browser that is kept open for a session, on the runtime of recordings.',
  ...modules.map((each) => `import ${each}`),
  '',
  readPythonRuntime(['words']),
  readOwnModule('names'),
  readPythonRuntime(['browser', 'page', 'in-page', 'web-socket', 'by-hand', 'expect']),
  // `serve` runs the program, so it is last.
  ...['guard', 'look', 'find-again', 'attempt', 'serve'].map(readOwnModule),
].join('\n');

/** Returns the Python program that keeps a session's browser open on a worker; sent as `OpenSession.program`. */
export function buildSessionProgram(): string {
  return program;
}
